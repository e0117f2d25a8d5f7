"""What the examples of requests are answered, as the document shows it.

The file beside this one has them: some answers take a second, for which nobody who asks for the document
should wait.  ``python -m tests.example_answers`` writes it, and a test holds it to what is answered.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_suffix(".json")


@cache
def example_answers() -> dict[str, dict[str, dict[str, Any]]]:
    """Return an example of OpenAPI for each command and each of its bodies, by their words."""
    answers: dict[str, dict[str, dict[str, Any]]] = json.loads(FILE.read_text("utf-8"))
    return answers
