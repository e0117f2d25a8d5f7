"""No formula without a caller: what a user can ask for reaches every one."""

from __future__ import annotations

import pytest

from tests import doors
from tests.doors import formulas, without_door

pytestmark = pytest.mark.any_version


def test_every_formula_has_a_caller():
    assert not without_door(), "give it a door that a user has a use for, or delete it"


def test_what_is_looked_for_is_there():
    every = {".".join(name) for name in formulas()}
    assert len(every) > 250
    assert "shuffles.ring_all_gather_time" in every  # reached by the table of collectives
    assert "model_parallel.contention_of_point" in every  # by the method of a class
    assert "downpour.push_load" in every


def test_without_a_product_nothing_is_reached(monkeypatch):
    monkeypatch.setattr(doors, "_product", lambda: iter(()))
    assert len(doors.without_door()) == len(formulas())
