"""Workers that share the suite out must collect the same tests: names hang on no clock, order or hash.

Whether they did pytest-xdist says itself: its workers have each a seed of hashes of their own, and where two
collect other tests, or in another order, the run fails.
"""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.any_version
ACCIDENTAL = re.compile(r"0x[0-9a-f]{6,}|/tmp/|/pytest-of-")
"""Addresses of objects, temporary folders."""


def test_names_hold_nothing_accidental(request):
    assert not [item.nodeid for item in request.session.items if ACCIDENTAL.search(item.nodeid)]
