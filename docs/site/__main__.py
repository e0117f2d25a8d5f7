"""``python -m docs.site [TARGET]``."""

from __future__ import annotations

import sys

from docs.site.build import main

sys.exit(main(*sys.argv[1:2]))
