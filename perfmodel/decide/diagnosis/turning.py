"""Which options left open turn a verdict: their defaults against other usual values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from perfmodel.core.units import counted
from perfmodel.decide.diagnosis.answer import Pace, TurningDefault, Verdict
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.machine_words import node_words
from perfmodel.hardware.node import Node
from perfmodel.model.collectives.place import Point
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.setting.link_caveats import GENERIC_NODE
from perfmodel.model.setting.resolve import Setting

BATCH = ("local_batch_size", "global_batch_size", "micro_batch_size", "accumulation_steps")
BATCHES = 0.5, 2, 4
"""Factors on a default batch of one accelerator that are tried, the usual ones first."""
GLOBAL_BATCHES = 4, 16
"""Factors on the default batch of a step of a job with a layout, which is the smallest."""
LENGTHS = 128, 512, 2048, 8192
"""Usual numbers of tokens of a sequence; the next below and above the default are tried."""
OTHER_FORMATS = {
    "amp": ("tf32", "fp32"),
    "bf16": ("tf32", "fp32", "fp8"),
    "fp16": ("bf16", "fp32"),
    "fp8": ("bf16", "mxfp8"),
    "tf32": ("amp", "fp32"),
    "fp32": ("tf32", "amp"),
}
"""Usual number formats other than the default."""
NICS = 1, 2, 4, 8
"""Usual numbers of network adapters of a machine."""


class Trial(NamedTuple):
    """A measurement held against its job with one option changed."""

    pace: Pace
    """Where it lies."""
    off: float
    """ln(measured / predicted)."""
    verdict: Callable[[], Verdict]
    """Says the verdict, which takes longer than where it lies."""


class LeftOpen(NamedTuple):
    """An option left open, with other usual values."""

    option: str
    taken: int | str
    others: tuple[int | str, ...]
    words: str
    """Clause that states the default."""
    otherwise: str
    """Clause that it is another value."""
    other_words: Callable[[int | str], str] = str
    """Another value in words."""


def turning_defaults(
    verdict: Verdict, left_open: Iterable[LeftOpen], attempt: Callable[[str, int | str], Trial | None]
) -> list[TurningDefault]:
    """Return the options left open of which one other usual value changes the verdict to a clear one.

    What is normal turns where it would be slow: that it would be fast asks for nothing.

    Parameters
    ----------
    verdict : with the defaults
    left_open : options that were not given
    attempt : holds the measurement against the job with an option changed; None where no such job is usual
    """
    result = []
    for option in left_open:
        trials = []
        for other in option.others:
            trial = attempt(option.option, other)
            if trial is not None and trial.pace not in (verdict, "fast" if verdict == "normal" else None):
                trials.append((trial, other))
        trials.sort(key=lambda each: abs(each[0].off))
        for trial, other in trials[:2]:
            turned = trial.verdict()
            if turned not in (verdict, "unclear"):
                result.append(
                    TurningDefault(
                        option=option.option,
                        taken=option.taken,
                        other=other,
                        verdict=turned,
                        words=option.words,
                        other_words=option.other_words(other),
                    )
                )
                break
    return result


def left_open_of_job(scenario: Scenario, setting: Setting) -> Iterator[LeftOpen]:
    """Yield batch, length of sequences and number format, where they were not given."""
    if all(getattr(scenario, name) is None for name in BATCH):
        if setting.layout is None:
            local = int(setting.local_batch_size)
            others = tuple(dict.fromkeys(int(local * factor) for factor in BATCHES if local * factor >= 1))
            words, otherwise = (f"the batch is {negation}{local} each" for negation in ("", "not "))
            yield LeftOpen("local_batch_size", local, others, words, otherwise)
        else:
            whole = int(setting.global_batch_size)
            others = tuple(whole * factor for factor in GLOBAL_BATCHES)
            words, otherwise = (f"the batch of a step is {negation}{whole}" for negation in ("", "not "))
            yield LeftOpen("global_batch_size", whole, others, words, otherwise)
    length = setting.workload.sequence_length
    if scenario.sequence_length is None and length is not None:
        below = [each for each in LENGTHS if each < length][-1:]
        above = [each for each in LENGTHS if each > length][:1]
        others = (*below, *above)
        words, otherwise = f"sequences have {length} tokens", f"sequences do not have {length} tokens"
        yield LeftOpen(
            "sequence_length", int(length), others, words, otherwise, lambda other: f"{other} tokens"
        )
    if "precision" not in scenario.model_fields_set or scenario.precision is None:
        formats = OTHER_FORMATS.get(setting.precision, ())
        words, otherwise = (f"the precision is {negation}{setting.precision}" for negation in ("", "not "))
        yield LeftOpen("precision", setting.precision, formats, words, otherwise)


def left_open_of_listing(scenario: Scenario, point: Point, catalogue: Catalogue) -> Iterator[LeftOpen]:
    """Yield adapters of a machine and the machine, where they were not given.

    A machine that is given has the adapters it has, where it is used whole and with its own network.  Other
    machines differ in links that were not given: of those that differ in their adapters alone the number is
    the option.

    Parameters
    ----------
    scenario : machines, as they were given
    point : the collective over them
    catalogue : hardware; other usual values are those of other machines with the accelerator
    """
    chip = point.accelerator
    nodes = map(catalogue.node, catalogue.ids("nodes")) if chip is not None else ()
    alike = [node for node in nodes if chip is not None and node.accelerator == chip.id]
    own = None if scenario.node is None or scenario.inter_link else catalogue.node(scenario.node).nics
    if point.nodes > 1 and scenario.nics is None and (own is None or own != point.host_nics):
        taken = int(point.nics if point.host_nics is None else point.host_nics)
        counts = {*NICS, *(node.nics for node in alike if node.nics)} - {taken}
        each = counted(taken, "network adapter")
        words, otherwise = f"each machine uses {each}", f"each machine does not use {each}"
        yield LeftOpen("nics", taken, tuple(sorted(counts)), words, otherwise)
    if scenario.node is None and chip is not None:
        machine = catalogue.node(chip.usual_node or GENERIC_NODE)
        networks = {(_links(node, scenario), node.nics): node.id for node in alike[::-1]}
        own_links = _links(machine, scenario)
        others = tuple(sorted(id for (links, _), id in networks.items() if links != own_links))
        words, otherwise = (f"the machines are {negation}{node_words(machine)}" for negation in ("", "not "))
        yield LeftOpen(
            "node", machine.id, others, words, otherwise, lambda id: node_words(catalogue.node(str(id)))
        )


def _links(node: Node, scenario: Scenario) -> tuple[str | None, str | None]:
    """Return the links inside and between machines that are used: those given, else their own."""
    return scenario.intra_link or node.intra_link, scenario.inter_link or node.inter_link
