"""Grouping of a sweep's options into blocks of scenarios that fit the processor's cache."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.problem import Words
from perfmodel.core.updates import KINDS, Updates, network_of, updates_of
from perfmodel.core.updates import OPTIONS as UPDATE_OPTIONS
from perfmodel.decide.sweeps.answers import answers, kinds
from perfmodel.decide.sweeps.axes import (
    COMPUTATION,
    DATA,
    LAYOUT,
    PLACE,
    PLAN,
    WAY,
    Axes,
    check_anchor_of_copies,
)
from perfmodel.decide.sweeps.batches import Batches, Work
from perfmodel.decide.sweeps.columns import Block, words_of
from perfmodel.decide.sweeps.layout_rows import LayoutRows, plain_layouts
from perfmodel.decide.sweeps.placements import Placements, Refusal, placements_of
from perfmodel.decide.sweeps.shared import by_stack, shared_blocks
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.setting.embedding_tables import usual_embedding
from perfmodel.model.setting.resolve import Setting, resolve
from perfmodel.model.step.communication import message_times
from perfmodel.model.step.fabric import Fabric
from perfmodel.workloads import workload
from perfmodel.workloads.catalogue import LENGTHS

BLOCK = 2**20
"""Largest number of scenarios of a block times the messages of each."""
LARGEST_BLOCK = 2**14
"""Largest number of scenarios of a block."""
MOST_KEPT = 256
"""Placements of groups that are cached for later groups."""
MOST_BATCHES = 64
"""Largest number of batches of a block: they share the times of the messages of its placements."""
FEW_MESSAGES = 16
"""Bound on the messages of a network sent as buckets or as one; otherwise each layer may send several."""


class Groups:
    """The scenarios of a sweep as blocks, each a function that predicts them, and the refused scenarios."""

    def __init__(self, axes: Axes, catalogue: Catalogue, constants: Calibration) -> None:
        self._axes, self._catalogue, self._constants = axes, catalogue, constants
        self._placements: dict[Any, tuple[Placements, list[Refusal]]] = {}
        self._work = Work(catalogue, constants)
        self.refused: dict[str, int] = {}
        """Number of refused scenarios by reason; callers may replace the dictionary."""

    def blocks(self, which: range) -> Iterator[Block]:
        """Yield every block of some groups; batches and placements vary fastest.

        Data-parallel scenarios of a strategy come apart from model-parallel ones.

        Parameters
        ----------
        which : groups, by their positions in the product of ``COMPUTATION`` and ``WAY``
        """
        strong = self._axes["global_batch_size"] != (None,)
        sizes = self._axes["world_size"]
        for place in which:
            fixed = self._group(place)
            for stack, copies in by_stack(fixed, self._axes, self._catalogue).items():
                if isinstance(stack, str):
                    yield from shared_blocks(
                        fixed, stack, copies, self._axes, self._catalogue, self._constants, self._refuse
                    )
                elif stack is not None:
                    self._refuse(self._layout_count(copies) * self._place_count() * len(sizes), stack.note())
                else:
                    # each world size has its own share of a global batch
                    for some in ((n,) for n in sizes) if strong else (sizes,):
                        for layout in plain_layouts(self._axes):
                            plain = fixed | dict(zip(LAYOUT, layout, strict=True))
                            yield from self._copies(plain, some)

    def _group(self, place: int) -> dict[str, Any]:
        """Return the options of a group by its position; the last option varies fastest."""
        values = {}
        for name in reversed(COMPUTATION + WAY):
            place, index = divmod(place, len(self._axes[name]))
            values[name] = self._axes[name][index]
        return {name: values[name] for name in COMPUTATION + WAY}

    def _copies(self, fixed: dict[str, Any], world_sizes: tuple[int, ...]) -> Iterator[Block]:
        """Yield the blocks of data-parallel scenarios."""
        network = workload(fixed["workload"], *map(fixed.__getitem__, LENGTHS))
        alone = {name: fixed[name] for name in (*COMPUTATION, "profile")}
        if fixed["profile"] is not None:
            alone["input"] = fixed["input"]  # only a profile has idle times around the copy of real samples
        if fixed["embedding"] is None:  # the usual one depends on the strategy
            alone["embedding"] = usual_embedding(network, fixed["strategy"])
        if alone["embedding"] == "sharded" and len(world_sizes) > 1:
            # the work of the fullest accelerator depends on the number of shards
            for n in world_sizes:
                yield from self._copies(fixed, (n,))
            return
        if fixed["accelerator"] is None and fixed["node"] is not None:
            alone["accelerator"] = self._catalogue.node(fixed["node"]).accelerator
        world_sizes = self._known_updates(fixed, world_sizes)
        if not world_sizes:
            return
        crossed = self._place_count() * len(world_sizes)
        try:
            check_anchor_of_copies(fixed["anchor"])
            batches, refused = self._work.batches(alone, self._axes, world_sizes[0])
        except InputError as error:
            self._refuse(crossed * self._batch_count(), error.note())
            return
        for count, reason in refused:
            self._refuse(count * crossed, reason)
        if batches is None:
            return
        count = len(batches.local_batch_size)
        placements, refusals = self._placements_of(fixed, world_sizes)
        for one in refusals:
            self._refuse(one.scenarios * count, one.reason)
        if not len(placements.world_size):
            return
        try:
            setting = self._setting(fixed, batches, placements)
        except InputError as error:
            self._refuse(len(placements.world_size) * count, error.note())
            return
        placements = self._with_algorithm(setting, placements, count)
        constants = self._constants
        if setting.profile is not None:
            from perfmodel.model.step.profiled import with_profile

            constants = with_profile(constants, setting.profile)
        for rows, some in _pieces(setting, batches, placements):
            yield _block(setting, rows, some, constants)

    @staticmethod
    def _updates(fixed: dict[str, Any], workers: int) -> Updates | None:
        """Return how gradients become updates; parts that depend on the number of workers stay open."""
        k, local_steps, backups = (fixed[name] for name in UPDATE_OPTIONS)
        return updates_of(fixed["strategy"], k, local_steps, backups, workers)

    def _known_updates(self, fixed: dict[str, Any], world_sizes: tuple[int, ...]) -> tuple[int, ...]:
        """Return the world sizes with enough workers for the updates; the others are refused."""
        kept: tuple[int, ...] = ()
        # the number of workers matters to no other strategy
        alike = [(n,) for n in world_sizes] if fixed["strategy"] in KINDS else [world_sizes]
        for some in alike:
            try:
                self._updates(fixed, some[0])
                kept += some
            except InputError as error:
                self._refuse(self._place_count() * self._batch_count() * len(some), error.note())
        return kept

    def _batch_count(self) -> int:
        """Return the number of crossed batches."""
        return math.prod(len(self._axes[name]) for name in PLAN)

    def _place_count(self) -> int:
        """Return the number of crossed placements, without world sizes."""
        return math.prod(len(self._axes[name]) for name in PLACE)

    def _layout_count(self, copies: bool) -> int:
        """Return the number of layouts crossed with batches, data-parallel or with the given degrees."""
        if copies:
            return len(plain_layouts(self._axes)) * self._batch_count()
        return len(LayoutRows((1,), self._axes, copies))

    def _refuse(self, scenarios: int, reason: str) -> None:
        """Count refused scenarios by reason."""
        self.refused[reason] = self.refused.get(reason, 0) + scenarios

    def _placements_of(
        self, fixed: dict[str, Any], world_sizes: tuple[int, ...]
    ) -> tuple[Placements, list[Refusal]]:
        """Return the placements of a group with its refused ones, from the cache if possible."""
        shared = {name: fixed[name] for name in ("accelerator", *WAY) if name not in DATA}
        if network_of(fixed["strategy"]) == "parameter-server":
            # whether pulls overlap pushes decides the traffic of uplinks of racks
            shared["framework"] = fixed["framework"]
        key = (*shared.values(), world_sizes)
        if key not in self._placements:
            if len(self._placements) >= MOST_KEPT:
                self._placements.clear()
            # the same in every precision, but only one that the accelerator has can be resolved
            options = shared | {"precision": fixed["precision"]}
            self._placements[key] = placements_of(
                options, self._axes, world_sizes, self._catalogue, self._constants
            )
        return self._placements[key]

    def _setting(self, fixed: dict[str, Any], batches: Batches, placements: Placements) -> Setting:
        """Return one setting of the group: the largest, since a single accelerator overlaps nothing."""
        last = int(np.argmax(placements.world_size))
        options = fixed | dict(zip(PLACE, placements.options[placements.option[last]], strict=True))
        options["world_size"] = int(placements.world_size[last])
        micro = int(batches.local_batch_size[0, 0])
        if self._axes["global_batch_size"] == (None,):
            options["local_batch_size"] = micro
        else:
            options["global_batch_size"] = micro * options["world_size"]
        setting = resolve(Scenario.model_construct(**options), self._catalogue)
        if setting.profile is not None and setting.scenario.anchor is not None:
            raise refusal("anchor.and_profile_keys", "anchor", "profile")
        return setting._replace(updates=self._updates(fixed, options["world_size"]))

    def _with_algorithm(self, setting: Setting, placements: Placements, count: int) -> Placements:
        """Return the placements whose links support the named algorithm; the others are refused."""
        always = setting.compression is None and setting.scenario.algorithm in ("auto", "best")
        if always or setting.strategy != "all-reduce":
            return placements
        able = np.ones(len(placements.world_size), dtype=bool)
        for link, which in kinds(setting.strategy, placements):
            one = placements.at(which[:1])
            tried = setting._replace(
                intra_link=link,
                nodes=one.nodes[:, None],
                accelerators_per_node=one.accelerators_per_node[:, None],
            )
            try:
                message_times(tried, np.ones(1), Fabric(*(column[:, None] for column in one.fabric)))
            except InputError as error:
                able[which] = False
                self._refuse(len(which) * count, error.note())
        return placements if able.all() else placements.at(able)


def _pieces(
    setting: Setting, batches: Batches, placements: Placements
) -> Iterator[tuple[Batches, Placements]]:
    """Yield blocks of a group; with an anchor, placements of a block have the same loader workers."""
    messages = FEW_MESSAGES if setting.overlap in ("none", "bucketed") else 2 * len(setting.workload.layers)
    most = max(1, min(LARGEST_BLOCK, BLOCK // messages))
    apart = [placements]
    if setting.scenario.anchor is not None:
        workers = np.unique(placements.loader_workers)
        apart = [placements.at(placements.loader_workers == number) for number in workers]
    rows = min(len(batches.local_batch_size), MOST_BATCHES)
    width = max(1, most // rows)
    for part in apart:
        for first in range(0, len(part.world_size), width):
            some = part.at(slice(first, first + width))
            for row in range(0, len(batches.local_batch_size), rows):
                yield batches.at(slice(row, row + rows)), some


def _block(setting: Setting, batches: Batches, placements: Placements, constants: Calibration) -> Block:
    """Return a function that predicts the scenarios of a block."""

    def answer() -> dict[str, Any]:
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                report = answers(setting, batches, placements, constants)
        except (FloatingPointError, OverflowError) as error:
            raise refusal("job.absurd", error=Words(error)) from error
        return _options(setting, batches, placements) | report

    return answer


def _options(setting: Setting, batches: Batches, placements: Placements) -> dict[str, Any]:
    """Return the options of the scenarios of a block, in the shape of their results."""
    scenario = setting.scenario
    columns: dict[str, Any] = {name: getattr(scenario, name) for name in COMPUTATION + WAY + LAYOUT}
    columns |= {
        "workload": setting.workload.id if scenario.workload is None else scenario.workload,
        "overlap": setting.overlap,
        **words_of(setting),
    }
    for position, name in enumerate(PLACE):
        values = [option[position] for option in placements.options]
        columns[name] = (
            np.array([*values, None], dtype=object)[placements.option] if len(set(values)) > 1 else values[0]
        )
    batch = batches.local_batch_size * batches.accumulation_steps
    columns |= {
        "servers": np.where(placements.servers > 0, placements.servers, np.nan),
        "world_size": placements.world_size,
        "nodes": placements.nodes,
        "local_batch_size": batches.local_batch_size,
        "global_batch_size": batch * placements.world_size,
        "accumulation_steps": batches.accumulation_steps,
    }
    return columns
