"""Reasons why a claimed figure is larger than what a job reaches, by its size and its words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from perfmodel.core.units import per_cent, show
from perfmodel.decide.quote.file import BANDWIDTHS, KINDS, Claim
from perfmodel.decide.quote.limits import best_product
from perfmodel.decide.quote.mentions import mentions
from perfmodel.equations.transformer import hardware_flops_per_token
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.formats import OPERANDS
from perfmodel.hardware.machine_words import accelerator_words, link_words
from perfmodel.hardware.provenance import Quantity
from perfmodel.model.setting.resolve import Setting

OF_A_STEP = tuple(kind for kind in KINDS if kind not in (*BANDWIDTHS, "scaling_efficiency", "speedup"))
"""Quantities that follow from the step time."""
SPARSITY = 2.0
"""Factor by which a peak with 2:4 structured sparsity exceeds the dense one."""
NEAR = 0.04
"""Relative difference within which a figure counts as equal to another."""


class Trick(BaseModel):
    """A likely reason why a figure is too large."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    """Short name."""
    words: str
    """Explanation."""
    ask: str
    """What to ask the vendor for."""
    factor: float | None = None
    """Factor by which the figure is then too large; null where only the words show it."""

    @property
    def condition(self) -> str | None:
        """With what the figure would be possible, as the end of a sentence; None where only words show it."""
        if self.factor is None:
            return None
        return _CONDITIONS.get(self.name) or f"it were by the {self.name}"


class _Explanation(NamedTuple):
    """A factor by which figures are often too large, with its explanation."""

    name: str
    factor: float
    words: str
    ask: str


SPARSE = "sparse FLOPs", "ask for the dense figure"
ASK_FORMAT = "ask for the figure in the number format of the training run"
BOTH = "both directions", "ask for one direction, and for nccl-tests' bus bandwidth at 1 GB and above"
NODE = "per node, not per GPU", "ask of how many accelerators it is the sum"
BITS = "Gbit for GByte", "ask whether it is bits or bytes"
RECOMPUTED, BOARDS, WHOLE = "recomputed FLOPs", "boards counted as devices", "of the whole job"
INFERENCE = "inference"
_CONDITIONS = {
    SPARSE[0]: "it counted the products that 2:4 sparsity skips",
    BOTH[0]: "it added both directions of the links",
    NODE[0]: "it were the sum over a machine",
    BITS[0]: "it were in bits, not bytes",
    RECOMPUTED: "it counted the FLOP of recomputation too",
    BOARDS: "it were of a board of several devices",
    WHOLE: "it were the figure of the whole job",
    INFERENCE: "it were of inference, without a backward pass",
}
"""Name of a trick -> with what its figure would be possible."""
BOOST, ASK_BOOST = "boost clock", "ask for what a matrix product reaches for minutes, at the power limit"
_MACHINES = (
    r"(?:[GT]PUs?|accelerators?|devices?|chips?|cards?|nodes?|servers?|machines?|workers?|racks?|ranks?)"
)
_NUMBER = r"\d[\d,.]*\s*[kKx]?"
_NO_NAME = (
    r"(?:per|on|in|at|of|by|for|with|from|a|an|the|each|and|or|times|[kMGTPE]?(?:flops?|bytes?|bits?)|percent"
    r"|(?:image|sample|token|sequence|hour|minute|second)s?|faster|slower|better|higher|lower|more)\b"
)
_NAMED = r"(?!(?:fp|bf|tf|int|mxfp|nvfp)\d)(?:[a-z]{1,3}\d{1,3}[a-z]{0,2}|gaudi\d?|trainium\d?)s?\b"
"""Names of accelerators, such as V100s and MI300X; not number formats, such as fp16."""
_SO_MANY = (
    rf"(?!\s+{_NUMBER}\s+(?:(?!{_NO_NAME})[\w-]+\s+){{0,4}}?{_MACHINES}\b)"
    rf"(?!\s+{_NUMBER}\s+(?:(?!{_NO_NAME})[\w-]+\s+)?{_NAMED})"
)
"""Not followed by a number of machines: "up to 64 GPUs" states a size, not a rate."""
_SCALES = re.compile(
    r"\bscal(?:e|es|ed|ing|able)(?:\s+(?!efficiency|up\b)[\w-]+){0,3}"
    rf"\s+up to\s+{_NUMBER}(?=\s*(?:[.,;:)]|$))",
    re.IGNORECASE,
)
"""The same without naming machines: "scales linearly up to 64"."""
_OTHER_SPARSE = r"(?:attention|gradients?|embeddings?|mixtures?|experts?|tables?)\b"
"""Sparse things that have nothing to do with sparse matrix products."""
_CLOCK = r"(?:clock\w*|frequenc\w*|[MG]Hz)"
_TOGETHER = r"\s*(?:,|and|or|/|&|\+|as well as)\s*(?:and\s+)?(?:[\w-]+\s+)?"
TRICKS_IN_WORDS: tuple[tuple[str, str, str, str], ...] = (
    (
        "up to",
        rf"\bup to\b{_SO_MANY}|\bas (?:much|many|fast|high|low) as\b{_SO_MANY}|\bat best\b|\btheoretical\b"
        r"|\bmaximum\b(?!\s+(?:batch|sequence|context|length|number|memory))",
        "it says 'up to': the best case, not what a job runs at",
        "ask for the mean of a whole run, and what it was measured on",
    ),
    (
        SPARSE[0],
        rf"(?:\b2:4\s+)?(?:\bstructured\s+)?\bspars\w*\b(?!\s+{_OTHER_SPARSE})|\b2:4\b",
        "it counts 2:4 structured sparsity, which skips half of the products; training a dense network has "
        "all of them",
        SPARSE[1],
    ),
    (
        BOOST,
        rf"\b(?:boost|turbo)(?:\s+boost)?[\s-]*(?:{_CLOCK}|mode|speeds?)\b|\((?:boost|turbo)\)"
        rf"|\b{_CLOCK}\b[\w\s-]{{0,20}}\b(?:boost|turbo)\b|\b(?:at|in) (?:full |maximum )?(?:boost|turbo)\b",
        "it is at the boost clock, which an accelerator at its power limit does not hold",
        ASK_BOOST,
    ),
    (
        BOTH[0],
        r"\bbi-?directional\b(?!\s+(?:attention|encoder|transformer|model|language))"
        r"|\bboth directions\b|\bfull[- ]duplex\b",
        "it adds both directions of the links; a ring or a tree uses each in one",
        BOTH[1],
    ),
    (
        NODE[0],
        r"\baggregate\b(?!\s+gradients?)"
        r"|\bper (?:node|server|system|box|machine)\b|\btotal\b.{0,20}\bbandwidth\b",
        "it is the sum over a machine's accelerators",
        NODE[1],
    ),
    (
        INFERENCE,
        rf"\binference\b(?!{_TOGETHER}training)|\bgenerat\w+ tokens\b|\bserving\b|\bdecod\w+ tokens\b",
        "it is of inference: training has a backward pass too, which takes twice the forward's arithmetic",
        "ask for the training figure",
    ),
)
"""Tricks that the words of a claim show: name, pattern, explanation, what to ask for."""
_ALSO_TRAINING = re.compile(rf"\btrain(?:ing)?\b{_TOGETHER}inference\b", re.IGNORECASE)
"""Training and inference named together: the abilities of hardware, not a measurement."""
_OF_BANDWIDTH = (BOTH[0],)
_OF_ARITHMETIC = (SPARSE[0], BOOST, INFERENCE)


def tricks_of(
    claim: Claim,
    setting: Setting,
    limit: float,
    interval: tuple[float, float] | None,
    is_too_good: bool,
    of_a_workload: bool = True,
) -> list[Trick]:
    """Return likely reasons why a figure is larger than what a job reaches, by its size and by its words.

    Parameters
    ----------
    claim, setting : the claim, and the job
    limit : the physical limit
    interval : the two ends of the model's interval; None without one
    is_too_good : whether the figure is beyond the limit or the interval; only then its size is considered
    of_a_workload : whether the claim depends on a workload, rather than on hardware alone
    """
    result = {}
    if not of_a_workload and interval is None and abs(claim.number / limit - 1) < NEAR:
        result[BOOST] = Trick(name=BOOST, words=_peak_words(claim, setting), ask=ASK_BOOST)
    if is_too_good:
        for explanation in _explanations(claim, setting, of_a_workload):
            if (
                _explains(claim, limit, interval, explanation.factor, of_a_workload)
                and explanation.name not in result
            ):
                result[explanation.name] = Trick(
                    name=explanation.name,
                    words=explanation.words,
                    ask=explanation.ask,
                    factor=explanation.factor,
                )
    text = _SCALES.sub("scales", _ALSO_TRAINING.sub("training", claim.text))
    for name, pattern, words, ask in TRICKS_IN_WORDS:
        if name in result or not _concerns(name, claim, setting):
            continue
        if mentions(pattern, text):
            result[name] = Trick(name=name, words=words, ask=ask)
    return list(result.values())


def _concerns(name: str, claim: Claim, setting: Setting) -> bool:
    """Return whether a trick can apply to the quantity of a claim."""
    is_bandwidth = claim.kind in BANDWIDTHS
    if name in _OF_BANDWIDTH:
        return is_bandwidth
    if name == NODE[0]:
        return claim.whose == "accelerator" or is_bandwidth
    return not (is_bandwidth and name in _OF_ARITHMETIC)


def _explains(
    claim: Claim, limit: float, interval: tuple[float, float] | None, factor: float, of_a_workload: bool
) -> bool:
    """Return whether a figure divided by a factor is possible and usual."""
    more_is_better = KINDS[claim.kind].higher_is_better
    value = claim.number / factor if more_is_better else claim.number * factor
    ratio = value / limit if more_is_better else limit / value
    if not of_a_workload and interval is None:
        return abs(ratio - 1) < NEAR
    if ratio > 1 + NEAR:
        return False
    if claim.kind in BANDWIDTHS:
        return ratio > 1 - NEAR or _between(value, interval)
    return _between(value, interval)


def _between(value: float, interval: tuple[float, float] | None) -> bool:
    """Return whether a value is in an interval; False without one."""
    return interval is not None and min(interval) <= value <= max(interval)


def _explanations(claim: Claim, setting: Setting, of_a_workload: bool) -> Iterator[_Explanation]:
    """Yield factors by which a figure of its quantity may be too large, the likeliest first."""
    if claim.kind in BANDWIDTHS:
        yield from _of_bandwidths(setting)
    elif claim.kind in OF_A_STEP:
        if claim.kind in ("flops", "mfu") or of_a_workload:
            yield from _of_peaks(claim, setting)
        if of_a_workload and claim.kind in ("flops", "mfu") and setting.layout is not None:
            yield _again()
        yield from _of_counts(claim, setting)
        if of_a_workload and claim.kind not in ("mfu",):
            yield _Explanation(
                INFERENCE,
                3.0,
                "it is what the forward pass alone would reach: it has a third of training's arithmetic",
                "ask for the training figure",
            )


def _of_bandwidths(setting: Setting) -> Iterator[_Explanation]:
    """Yield the usual factors on bandwidths: bits for bytes, both directions, a whole node."""
    one = show(setting.intra_link.bandwidth.value, "B/s")
    both = "data sheets add both directions of a link, bus bandwidth counts one"
    if setting.domains > 1:
        sold = f"{link_words(setting.inter_link)} is sold by Gbit/s, and a byte has 8 bits"
        yield _Explanation(*_named(BITS, 8.0, f"8 times as much: {sold}"))
        yield _Explanation(*_named(BOTH, 2.0, f"twice one direction: {both}"))
        yield _Explanation(*_named(BITS, 16.0, f"16 times as much: {sold}; and {both}"))
    else:
        count = setting.accelerators_per_node
        part = f"the sum over a node, of which each accelerator has {one} in one direction"
        yield _Explanation(*_named(BOTH, 2.0, f"twice one direction, {one}: {both}"))
        yield _Explanation(*_named(NODE, float(count), f"{count} times one accelerator's: {part}"))
        yield _Explanation(*_named(NODE, 2.0 * count, f"{2 * count} times one accelerator's: {part}; {both}"))


def _of_peaks(claim: Claim, setting: Setting) -> Iterator[_Explanation]:
    """Yield the usual factors on FLOP/s: structured sparsity, or the peak of a lower precision."""
    accelerator = setting.accelerator
    peaks = accelerator.peak_flops
    own = claim.format or setting.peak_format
    sparse = (
        "twice the dense peak: the data sheet's figure with 2:4 structured sparsity, which holds "
        "for matrices half of whose entries are zero, not for training a dense network"
    )
    if has_sparsity(accelerator, own):
        yield _Explanation(*_named(SPARSE, SPARSITY, sparse))
    for lower in ("fp8", "fp4"):
        if lower not in peaks or own not in peaks or own == lower:
            continue
        factor = peaks[lower].value / peaks[own].value
        if factor <= 1:
            continue
        peak = show(peaks[lower].value, "FLOP/s")
        where = f"{lower} has {peak} on {accelerator_words(accelerator)}"
        words = f"{factor:.3g} times the {own} peak: {where}, {own} work does not"
        name = f"{lower} peak for {own} work"
        yield _Explanation(*_named((name, ASK_FORMAT), factor, words))
        if accelerator.structured_sparsity:
            words = f"{words}, and with 2:4 structured sparsity twice as much"
            yield _Explanation(*_named((f"sparse {name}", ASK_FORMAT), SPARSITY * factor, words))


def _again() -> _Explanation:
    """Return the factor of counting what full recomputation runs again."""
    factor = float(hardware_flops_per_token(1.0, 1.0))
    words = (
        f"{factor:.3g} times what the model needs: FLOP of the hardware, with the forward pass counted again "
        "where full recomputation repeats it"
    )
    return _Explanation(RECOMPUTED, factor, words, "ask for model FLOP, without recomputation")


def has_sparsity(accelerator: Accelerator, number_format: str) -> bool:
    """Return whether an accelerator skips products of zeros in 2:4 structured sparsity in a number format."""
    return accelerator.structured_sparsity and number_format in ("tf32", "fp16", "bf16", "fp4", *OPERANDS)


def _peak_words(claim: Claim, setting: Setting) -> str:
    """Return a sentence on a figure that is a data sheet's peak: what fraction a product reaches."""
    accelerator, own = setting.accelerator, claim.format or setting.peak_format
    words = f"it is the data sheet's peak, at the {accelerator.peak_clock} clock"
    best = best_product(accelerator, own)
    if best is None:
        return words
    share = best.value / dict[str, Quantity](accelerator.peak_flops.items())[own].value
    reached = f"{show(best.value, 'FLOP/s')}, {per_cent(share, 0)}"
    return f"{words}; the best product that was measured reaches {reached}"


def _of_counts(claim: Claim, setting: Setting) -> Iterator[_Explanation]:
    """Yield the factors of counting more accelerators than a figure is for."""
    devices, count, world = (
        setting.accelerator.board_devices,
        setting.accelerators_per_node,
        setting.world_size,
    )
    if devices > 1 and claim.whose == "accelerator":
        unit = setting.accelerator.unit
        one = f"one {accelerator_words(setting.accelerator)} is {unit}"
        words = f"{one}: counted by boards it could be {devices} times this"
        yield _Explanation(BOARDS, float(devices), words, "ask of how many devices it is")
    if claim.whose == "accelerator" and count > 1:
        words = f"{count} times one accelerator's: the figure of a whole node"
        yield _Explanation(*_named(NODE, float(count), words))
    if claim.whose in ("accelerator", "node") and setting.nodes > 1:
        times = world if claim.whose == "accelerator" else setting.nodes
        words = f"{times} times one {claim.whose}'s: the figure of the whole job"
        yield _Explanation(WHOLE, float(times), words, NODE[1])


def _named(what: tuple[str, str], factor: float, words: str) -> tuple[str, float, str, str]:
    """Return name, factor, explanation and question in the order of ``_Explanation``."""
    return what[0], factor, words, what[1]
