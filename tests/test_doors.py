"""No formula without a caller: what a user can ask for reaches every one, but for those listed here."""

from __future__ import annotations

import pytest

from tests.doors import formulas, without_door

pytestmark = pytest.mark.any_version

WITHOUT_DOOR = {
    "adaptive_synchrony.adacomm_local_steps",
    "adaptive_synchrony.adasync_batch_gradients",
    "adaptive_synchrony.adasync_gradients",
    "adaptive_synchrony.adasync_k_sync_gradients",
    "adaptive_synchrony.best_local_steps",
    "adaptive_synchrony.local_sgd_gradient_bound",
    "convergence.nonconvex_gradient_bound",
    "parameter_server.colocated_parameter_server_time",
    "parameter_server.extra_server_time",
    "server_load.colocated_total_bytes",
    "server_load.parameter_server_total_bytes",
    "server_load.server_port_bytes",
}
"""Formulas that no command, option or page reaches.  The list only shrinks: a new formula has a caller."""


def test_every_formula_has_a_caller_but_those_that_are_listed():
    found = without_door()
    assert not found - WITHOUT_DOOR, "give it a caller"
    assert not WITHOUT_DOOR - found, "it has a caller now: take it off the list"


def test_what_is_looked_for_is_there():
    every = {".".join(name) for name in formulas()}
    assert every >= WITHOUT_DOOR
    assert len(every) > 250
    reached = every - without_door()
    assert "shuffles.ring_all_gather_time" in reached  # by the table of collectives
    assert "model_parallel.contention_of_point" in reached  # by the method of a class
    assert "downpour.push_load" in reached
