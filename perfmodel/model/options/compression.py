"""Compression of gradients: the schemes by name, with parameter, collective and published convergence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from perfmodel.core.errors import refusal, unknown_name
from perfmodel.core.problem import Words
from perfmodel.core.records.names import word_of
from perfmodel.core.units import number

if TYPE_CHECKING:
    from perfmodel.model.options.scenario import Scenario

Collective = Literal["all-reduce", "all-gather"]


class Kind(NamedTuple):
    """A compression scheme: its parameter, its collective and its published effect on convergence."""

    parameter: str | None
    """``density``, ``bits`` or ``rank``; None if the scheme has no parameter."""
    usual: float
    low: float
    high: float
    collective: Collective
    """All-reduce if compressed values can be summed in transit; else each rank gathers those of all."""
    error_feedback: bool
    """Whether the compression error is added to the next gradient."""
    convergence: str
    """The published effect on accuracy."""
    source: str
    """Key of ``references.toml``."""


KINDS: Final[Mapping[str, Kind]] = {
    "fp16": Kind(
        None, 0, 0, 0, "all-reduce", False,
        "no loss of accuracy, with the loss scaled where gradients are small", "micikevicius2018",
    ),
    "topk": Kind(
        "density", 0.01, 1e-6, 1, "all-gather", True,
        "no loss of accuracy at a density of 0.001 with momentum correction, clipping and warm-up", "lin2018",
    ),
    "randomk": Kind(
        "density", 0.01, 1e-6, 1, "all-reduce", True,
        "the rate of SGD once what was left out is made up for; all ranks draw the same places", "stich2018",
    ),
    "qsgd": Kind(
        "bits", 4, 2, 8, "all-gather", False,
        "unbiased, with a variance that grows as bits are left out", "alistarh2017",
    ),
    "signsgd": Kind(
        None, 0, 0, 0, "all-gather", False,
        "by majority vote and with momentum as accurate and fast as Adam on ImageNet", "bernstein2018",
    ),
    "terngrad": Kind(
        None, 0, 0, 0, "all-gather", False,
        "no loss of accuracy on AlexNet, under 2 % on GoogLeNet", "wen2017",
    ),
    "powersgd": Kind(
        "rank", 4, 1, 256, "all-reduce", True, "test accuracy as of SGD, convolutional networks and LSTMs",
        "vogels2019",
    ),
    "onebit": Kind(
        None, 0, 0, 0, "all-gather", True, "no or nearly no loss of accuracy, speech networks", "seide2014",
    ),
}  # fmt: skip
"""Every compression scheme, by name."""
SYNONYMS: Final = {
    "half": "fp16",
    "top-k": "topk",
    "random-k": "randomk",
    "one-bit": "onebit",
    "1bit": "onebit",
}


class Scheme(NamedTuple):
    """A compression scheme with the value of its parameter."""

    name: str
    value: float

    @property
    def kind(self) -> Kind:
        """The entry of ``KINDS`` of this scheme."""
        return KINDS[self.name]

    def __str__(self) -> str:
        parameter = self.kind.parameter
        ending = "bit" if parameter == "bits" else ""
        return self.name if parameter is None else f"{self.name}:{self.value:g}{ending}"


def caveats(scheme: Scheme) -> list[str]:
    """Return notes on a compression scheme: its published convergence with source, and error feedback."""
    kind = scheme.kind
    lines = [f"{scheme}, as published: {kind.convergence} [{kind.source}]"]
    if kind.error_feedback:
        lines.append(f"{scheme} keeps what it left out, and adds that to the next gradient")
    return lines


def compression_of(scenario: Scenario) -> Scheme | None:
    """Return the compression scheme of a job's gradients; None if they are not compressed.

    Parameters
    ----------
    scenario : of the job

    Raises
    ------
    InputError : an unknown scheme, or one that does not go with the job's strategy, overlap or algorithm
    """
    if scenario.compression is None:
        return None
    scheme = parse_scheme(scenario.compression)
    why = None
    if scenario.strategy != "all-reduce":
        why = f"goes with --strategy all-reduce, not {scenario.strategy}"
    elif scenario.overlap in ("priority", "optimal"):
        why = f"--overlap {scenario.overlap} cuts whole gradients; none, wfbp, bucketed or fused go with it"
    elif scheme.kind.collective == "all-gather" and scenario.algorithm != "auto":
        why = f"{scheme.name} is gathered, not added up: leave out --algorithm {scenario.algorithm}"
    if why is not None:
        raise refusal("compression.not_possible", compression=scenario.compression, why=Words(why))
    return scheme


def parse_scheme(text: str) -> Scheme:
    """Parse a compression scheme: ``fp16``, ``topk:0.01``, ``qsgd:4bit``, ``powersgd:4``.

    Raises
    ------
    InputError : an unknown scheme, or a parameter that it does not take

    >>> parse_scheme("topk:1%"), str(parse_scheme("qsgd:8bit")), str(parse_scheme("powersgd"))
    (Scheme(name='topk', value=0.01), 'qsgd:8bit', 'powersgd:4')
    """
    name, colon, given = text.partition(":")
    name = word_of(name, KINDS, SYNONYMS)
    if name not in KINDS:
        raise unknown_name("compression", name, KINDS)
    kind = KINDS[name]
    if not colon:
        return Scheme(name, float(kind.usual))
    if kind.parameter is None:
        raise refusal("compression.no_parameter", "compression", text=text, name=name)
    value = number(given.strip().removesuffix("bit") if kind.parameter == "bits" else given)
    whole = kind.parameter == "density" or value % 1 == 0
    if not (kind.low <= value <= kind.high and whole):
        what = "a number" if kind.parameter == "density" else "a whole number"
        usual = Scheme(name, float(kind.usual))
        raise refusal(
            "compression.range",
            "compression",
            text=text,
            what=what,
            low=kind.low,
            high=kind.high,
            parameter=kind.parameter,
            usual=usual,
        )
    return Scheme(name, float(value))
