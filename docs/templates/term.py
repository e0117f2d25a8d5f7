"""An example term of the iteration: one entry of ``TERMS`` in ``perfmodel/model/step/terms.py``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfmodel.core.tracing.tracing import given
from perfmodel.equations.iteration import iteration_time
from perfmodel.model.step.step_context import StepContext
from perfmodel.model.step.terms import Term


def _checkpoint(step: StepContext, before: Mapping[str, Any]) -> Any:
    """Its time [s], by a formula of ``perfmodel/equations``, from the setting and the terms before it."""
    interval = given(
        1800.0, "terms.checkpoint_interval", "assumed"
    )  # a word of the vocabulary, with its unit
    return iteration_time(**before) * given(9.0, "terms.checkpoint_time", "assumed") / interval


TERM = Term(
    name="checkpoint_time",
    label="writing checkpoints",
    kind="host",  # busy, network, host or wait: what the accelerator does meanwhile, and draws
    bound="checkpoint-bound",
    place="after",  # before, start, forward, between, passes, after or update: where in a step
    time=_checkpoint,
    alone=True,  # one accelerator by itself has it too: speed-up and efficiency count it
    spreads=False,  # all workers lose it alike: nobody waits for the slowest in it
)
