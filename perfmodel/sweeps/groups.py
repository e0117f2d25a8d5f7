"""From the options of a sweep to blocks of scenarios small enough for the processor's cache."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from perfmodel.calibration import Calibration
from perfmodel.errors import InputError
from perfmodel.resolve import Setting, resolve
from perfmodel.specs.scenario import Scenario
from perfmodel.specs.store import Catalogue
from perfmodel.step.communication import message_times
from perfmodel.step.fabric import Fabric
from perfmodel.sweeps.answers import answers, kinds
from perfmodel.sweeps.axes import COMPUTATION, DATA, PLACE, PLAN, WAY, Axes
from perfmodel.sweeps.batches import Batches, Work
from perfmodel.sweeps.placements import Placements, Refusal, places

BLOCK = 2**20
"""Scenarios of a block times the messages of each."""
LARGEST_BLOCK = 2**14
"""Scenarios of a block."""
MOST_KEPT = 256
"""Sets of places kept for the groups to come."""
MOST_PLANS = 64
"""Batches of a block: they share the times of its places' messages."""
FEW_MESSAGES = 16
"""More than buckets or one message make of a network; elsewhere each layer may send several."""

Block = Callable[[], dict[str, Any]]


class Groups:
    """The scenarios of a sweep as blocks, each a function that answers them, and those that were refused."""

    def __init__(self, axes: Axes, catalogue: Catalogue, constants: Calibration) -> None:
        self._axes, self._catalogue, self._constants = axes, catalogue, constants
        self._places: dict[Any, tuple[Placements, list[Refusal]]] = {}
        self._work = Work(catalogue, constants)
        self.refused: dict[str, int] = {}
        """Scenarios left out, by what ``predict`` says of them."""

    def blocks(self) -> Iterator[Block]:
        """Yield every block; computation varies slowest, then how it is shared out, then plans, places."""
        strong = self._axes["global_batch_size"] != (None,)
        sizes = self._axes["world_size"]
        for values in itertools.product(*(self._axes[name] for name in COMPUTATION + WAY)):
            fixed = dict(zip(COMPUTATION + WAY, values, strict=True))
            # each world size has its own share of a global batch
            for some in ((n,) for n in sizes) if strong else (sizes,):
                yield from self._group(fixed, some)

    def _group(self, fixed: dict[str, Any], world_sizes: tuple[int, ...]) -> Iterator[Block]:
        alone = {name: fixed[name] for name in (*COMPUTATION, "profile")}
        if fixed["profile"] is not None:
            alone["input"] = fixed["input"]  # what idles around the copy of real samples is a profile's alone
        if fixed["accelerator"] is None and fixed["node"] is not None:
            alone["accelerator"] = self._catalogue.node(fixed["node"]).accelerator
        crossed = int(np.prod([len(self._axes[name]) for name in PLACE])) * len(world_sizes)
        try:
            plans, refused = self._work.plans(alone, self._axes, world_sizes[0])
        except InputError as error:
            self._refuse(crossed * self._plan_count(), str(error))
            return
        for count, reason in refused:
            self._refuse(count * crossed, reason)
        if plans is None:
            return
        count = len(plans.local_batch_size)
        result, refusals = self._places_of(fixed, world_sizes)
        for refusal in refusals:
            self._refuse(refusal.scenarios * count, refusal.reason)
        if not len(result.world_size):
            return
        try:
            setting = self._setting(fixed, plans, result)
        except InputError as error:
            self._refuse(len(result.world_size) * count, str(error))
            return
        result = self._with_algorithm(setting, result, count)
        constants = self._constants
        if setting.profile is not None:
            from perfmodel.step.profiled import with_profile

            constants = with_profile(constants, setting.profile)
        for rows, some in _pieces(setting, plans, result):
            yield _block(setting, rows, some, constants)

    def _plan_count(self) -> int:
        return int(np.prod([len(self._axes[name]) for name in PLAN]))

    def _refuse(self, scenarios: int, reason: str) -> None:
        self.refused[reason] = self.refused.get(reason, 0) + scenarios

    def _places_of(
        self, fixed: dict[str, Any], world_sizes: tuple[int, ...]
    ) -> tuple[Placements, list[Refusal]]:
        shared = {name: fixed[name] for name in ("accelerator", *WAY) if name not in DATA}
        key = (*shared.values(), world_sizes)
        if key not in self._places:
            if len(self._places) >= MOST_KEPT:
                self._places.clear()
            # a place is the same in every precision, but only one that the accelerator has can be resolved
            asked = shared | {"precision": fixed["precision"]}
            self._places[key] = places(asked, self._axes, world_sizes, self._catalogue, self._constants)
        return self._places[key]

    def _setting(self, fixed: dict[str, Any], plans: Batches, result: Placements) -> Setting:
        """One setting of the group; its largest, since a single accelerator overlaps nothing."""
        last = int(np.argmax(result.world_size))
        asked = fixed | dict(zip(PLACE, result.options[result.option[last]], strict=True))
        asked["world_size"] = int(result.world_size[last])
        micro = int(plans.local_batch_size[0, 0])
        if self._axes["global_batch_size"] == (None,):
            asked["local_batch_size"] = micro
        else:
            asked["global_batch_size"] = micro * asked["world_size"]
        setting = resolve(Scenario.model_construct(**asked), self._catalogue)
        if setting.profile is not None and setting.scenario.anchor is not None:
            raise InputError("anchor and profile: give one, both say how fast one accelerator is")
        return setting

    def _with_algorithm(self, setting: Setting, result: Placements, count: int) -> Placements:
        """The places whose links can do the named algorithm."""
        if setting.strategy != "all-reduce":
            return result
        able = np.ones(len(result.world_size), dtype=bool)
        for link, which in kinds(setting.strategy, result):
            one = result.at(which[:1])
            tried = setting._replace(
                intra_link=link,
                nodes=one.nodes[:, None],
                accelerators_per_node=one.accelerators_per_node[:, None],
            )
            try:
                message_times(tried, np.ones(1), Fabric(*(column[:, None] for column in one.fabric)))
            except InputError as error:
                able[which] = False
                self._refuse(len(which) * count, str(error))
        return result if able.all() else result.at(able)


def _pieces(setting: Setting, plans: Batches, result: Placements) -> Iterator[tuple[Batches, Placements]]:
    """Cut a group; with an anchor, places that load samples alike stay together."""
    messages = FEW_MESSAGES if setting.overlap in ("none", "bucketed") else 2 * len(setting.workload.layers)
    most = max(1, min(LARGEST_BLOCK, BLOCK // messages))
    apart = [result]
    if setting.scenario.anchor is not None:
        workers = np.unique(result.loader_workers)
        apart = [result.at(result.loader_workers == number) for number in workers]
    rows = min(len(plans.local_batch_size), MOST_PLANS)
    width = max(1, most // rows)
    for part in apart:
        for first in range(0, len(part.world_size), width):
            some = part.at(slice(first, first + width))
            for row in range(0, len(plans.local_batch_size), rows):
                yield plans.at(slice(row, row + rows)), some


def _block(setting: Setting, plans: Batches, result: Placements, constants: Calibration) -> Block:
    def answer() -> dict[str, Any]:
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                report = answers(setting, plans, result, constants)
        except (FloatingPointError, OverflowError) as error:
            raise InputError(f"{error}: a spec, the workload or an option holds an absurd number") from error
        return _options(setting, plans, result) | report

    return answer


def _options(setting: Setting, plans: Batches, result: Placements) -> dict[str, Any]:
    """What tells the scenarios of a block apart, shaped as their answers."""
    asked = setting.scenario
    report: dict[str, Any] = {name: getattr(asked, name) for name in COMPUTATION + WAY}
    report |= {
        "workload": setting.workload.id if asked.workload is None else asked.workload,
        "accelerator": setting.accelerator.id,
        "node": setting.node.id,
        "precision": setting.precision,
        "optimizer": setting.optimizer,
        "overlap": setting.overlap,
    }
    for position, name in enumerate(PLACE):
        values = [option[position] for option in result.options]
        report[name] = (
            np.array([*values, None], dtype=object)[result.option] if len(set(values)) > 1 else values[0]
        )
    batch = plans.local_batch_size * plans.accumulation_steps
    report |= {
        "servers": np.where(result.servers > 0, result.servers, np.nan),
        "world_size": result.world_size,
        "nodes": result.nodes,
        "local_batch_size": plans.local_batch_size,
        "global_batch_size": batch * result.world_size,
        "accumulation_steps": plans.accumulation_steps,
        "scaling": setting.scaling,
    }
    return report
