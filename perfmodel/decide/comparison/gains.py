"""What would make a job faster: changes near it that the catalogue has, each predicted and compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from perfmodel.decide.comparison.case import Case
from perfmodel.decide.comparison.software import setting_of
from perfmodel.decide.diagnosis.changes import predicted
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.machine_words import link_words
from perfmodel.hardware.other_links import faster_links, rdma_on
from perfmodel.model.options.scenario import scenario_of
from perfmodel.model.prediction.intervals.ratio import ratio_between
from perfmodel.model.prediction.result import Ratio
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.parts import communicates

LEAST = 1.02
"""Speed ratio below which a change is not worth naming."""
LIKELY = 2 / 3
"""Least probability that a change is faster at which it is named."""
ENOUGH, ALMOST = 1.05, 0.9
"""Speed ratio, or share of the largest one, from which the nearest of several changes is named."""
MOST = 2
"""Changes that are named."""


class Change(NamedTuple):
    """One change of a job."""

    words: str
    options: Mapping[str, Any]
    of_network: bool = False
    """Whether it changes what carries bytes between the nodes."""


class Gain(NamedTuple):
    """A change with the speed it brings."""

    change: Change
    ratio: Ratio
    """Speed with the change over that without."""

    @property
    def words(self) -> str:
        """``sentence`` without the name of the case."""
        return f"{self.change.words} would be {self.ratio.words}"

    @property
    def sentence(self) -> str:
        """Text that says what would be how many times as fast as the case."""
        return f"{self.change.words} would be {self.ratio.sentence}"


def gains(case: Case, network: bool) -> list[Gain]:
    """Return the changes that would gain most, at most ``MOST``, the best first.

    Parameters
    ----------
    case : the job to change
    network : whether networks are compared, so that the best of them is named before all others
    """
    setting, catalogue = setting_of(case), Catalogue.of(case.catalogue)
    if setting is None:
        return []
    scenario, known = scenario_of(case.prediction.scenario), []
    for change in _changes(setting, catalogue):
        answer = predicted(scenario, change.options, catalogue)
        if answer is not None and answer.memory.fits:
            known.append(Gain(change, ratio_between(answer, case.prediction, case.name, catalogue)))
    alike: dict[object, list[Gain]] = {}
    for gain in filter(_is_worth_it, known):
        alike.setdefault(gain.change.of_network or tuple(gain.change.options), []).append(gain)
    able = sorted(map(_nearest, alike.values()), key=lambda gain: -gain.ratio.value)
    if network:
        able.sort(key=lambda gain: not gain.change.of_network)
    return able[:MOST]


def _nearest(alike: list[Gain]) -> Gain:
    """Return the nearest of changes that exclude each other that gains enough, else almost the most.

    Parameters
    ----------
    alike : changes, the nearest first
    """
    enough = min(ENOUGH, ALMOST * max(gain.ratio.value for gain in alike))
    return next(gain for gain in alike if gain.ratio.value >= enough)


def _is_worth_it(gain: Gain) -> bool:
    """Return whether a change gains enough, likely enough, to be named."""
    return gain.ratio.value >= LEAST and gain.ratio.sure is not None and gain.ratio.sure >= LIKELY


def _changes(setting: Setting, catalogue: Catalogue) -> Iterator[Change]:
    """Yield the changes to try, by what may limit the job."""
    if setting.nodes > 1 and communicates(setting):
        yield from _networks(setting, catalogue)
    if communicates(setting):
        yield from _exchanges(setting)
    if setting.layout is None:
        if setting.scaling == "weak":
            batch = 2 * int(setting.local_batch_size)
            yield Change(
                f"a batch of {batch:,} on each GPU (perhaps more epochs)", {"local_batch_size": batch}
            )
    else:
        yield from _layouts(setting)
    if setting.precision in ("fp32", "tf32"):
        yield Change("precision amp", {"precision": "amp"})
    if setting.scenario.input == "real":
        workers = 2 * (setting.scenario.loader_workers or 4)
        yield Change(f"{workers} loader workers", {"loader_workers": workers})


def _networks(setting: Setting, catalogue: Catalogue) -> Iterator[Change]:
    """Yield other networks between the nodes: those of rented machines are fixed."""
    link = catalogue.link(setting.inter_link.id)
    if setting.scenario.transport == "tcp" and not link.passes_kernel:
        words = f"{link_words(link)} by its own transport, not TCP,"
        yield Change(words, {"transport": "plug-in"}, of_network=True)
    if not setting.node.rented:
        for id in rdma_on(link, catalogue):
            yield Change("RDMA on the same ports", {"inter_link": id}, of_network=True)
    if link.passes_kernel:
        connections = 2 * int(setting.connections)
        yield Change(f"{connections} TCP connections", {"connections": connections}, of_network=True)
    if setting.node.rented:
        return
    faster = faster_links(link, catalogue)
    direct = [id for each in faster for id in rdma_on(catalogue.link(each), catalogue)]
    for id in (*faster, *direct):
        yield Change(f"the network {id}", {"inter_link": id}, of_network=True)


def _exchanges(setting: Setting) -> Iterator[Change]:
    """Yield other ways to exchange gradients."""
    if setting.layout is None and setting.overlap in ("none", "wfbp"):
        yield Change("exchanging gradients in buckets during the backward pass", {"overlap": "bucketed"})
    if setting.strategy == "parameter-server":
        servers = 2 * int(setting.servers)
        yield Change(f"{servers} parameter servers", {"servers": servers})
        yield Change("all-reduce instead of servers", {"strategy": "all-reduce", "servers": None})


def _layouts(setting: Setting) -> Iterator[Change]:
    """Yield other layouts next to the job's own."""
    layout = setting.layout
    assert layout is not None
    size = 2 * int(layout.micro_batch_size)
    yield Change(f"micro-batches of {size}", {"micro_batch_size": size, "accumulation_steps": None})
    if setting.scenario.recompute not in (None, "none"):
        yield Change("no recomputation", {"recompute": "none"})
        yield Change("selective recomputation", {"recompute": "selective"})
    if int(layout.pipeline_parallel) > 1:
        stages = 2 * int(layout.virtual_stages)
        yield Change(f"{stages} chunks of layers on each stage", {"virtual_stages": stages})
