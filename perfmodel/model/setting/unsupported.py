"""Options that the transformer model, or software for transformers, does not support."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.core.errors import refusal
from perfmodel.hardware.formats import OPERANDS

if TYPE_CHECKING:
    from perfmodel.model.options.scenario import Scenario

PRECISIONS = {"amp": "fp16", "fp16": "fp16", "bf16": "bf16"} | {name: name for name in OPERANDS}
"""Precisions of a scenario -> the number format in which software for transformers trains."""
OPTIMIZERS_OF_LAYOUTS = ("adam", "adam-8bit", "adam-bf16", "adam-in-backward", "adafactor", "muon")
FIXED: dict[str, tuple[tuple[str | None, ...], str]] = {
    "overlap": (
        (None, "none"),
        "software for transformers decides itself what it hides; leave it out, or say none for nothing",
    ),
    "algorithm": (("auto",), "software for transformers leaves that to its library; leave it out"),
    "profile": (
        (None,),
        "it holds kernels of whole layers, and those of parts of layers run at other rates; "
        "a measured step does, e.g. --anchor iteration_time=6.2s@8",
    ),
    "compression": ((None,), "under a layout gradients are sent whole; leave it out"),
}
"""Options that the transformer model does not vary -> the values they may have, and why."""


def refuse_unsupported(scenario: Scenario, software: str) -> None:
    """Refuse options that the transformer model or its software does not support."""
    if scenario.precision is not None and scenario.precision not in PRECISIONS:
        raise refusal(
            "software.precision", precision=scenario.precision, software=software, known=tuple(PRECISIONS)
        )
    for name, (values, why) in FIXED.items():
        if getattr(scenario, name) not in values:
            option = name.replace("_", "-")
            raise refusal(
                "software.not_with", option, scenario=getattr(scenario, name), software=software, why=why
            )
    if scenario.optimizer not in (None, *OPTIMIZERS_OF_LAYOUTS):
        known = ", ".join(OPTIMIZERS_OF_LAYOUTS)
        raise refusal("software.optimizer", optimizer=scenario.optimizer, software=software, known=known)
