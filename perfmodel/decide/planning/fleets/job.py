"""The job that a fleet trains, predicted on any number of machines of one kind."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from perfmodel.core.errors import refusal
from perfmodel.core.problem import Words
from perfmodel.decide.planning.fleets.written import Fleet, Group
from perfmodel.decide.planning.goal import OF_LAYOUT, Goal
from perfmodel.decide.planning.layouts import fastest_layout
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration, constants_of
from perfmodel.model.input.data import fed_with
from perfmodel.model.options.laid_out import laid_out
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction, predict
from perfmodel.model.setting.resolve import resolve
from perfmodel.model.setting.sharing import sharing_option, stack_of
from perfmodel.model.transformers.usual_batch import usual_batch
from perfmodel.workloads import workload
from perfmodel.workloads.workload import Workload

Layout = Mapping[str, Any]
"""Degrees, sharding, recomputation, micro-batch and micro-batches of one replica."""


class Job:
    """A training job that can be predicted on different machines."""

    def __init__(
        self, options: Mapping[str, Any], catalogue: Catalogue, constants: Calibration | None = None
    ) -> None:
        """Take the options of a scenario, without machine, network and number of accelerators.

        Raises
        ------
        InputError : as ``Scenario``; a strategy other than all-reduce
        """
        self.catalogue, self.constants = catalogue, constants_of(constants)
        scenario = Scenario(**options)
        self.scenario = laid_out(scenario) if sharing_option(scenario) else scenario
        if self.scenario.strategy != "all-reduce":
            raise refusal("fleet.strategy", strategy=self.scenario.strategy)
        self._predicted: dict[Any, Prediction] = {}
        self._with_batch: dict[int, Job] = {}

    @cached_property
    def network(self) -> Workload:
        """The network, with its data set."""
        scenario = self.scenario
        data = (scenario.dataset, scenario.dataset_samples, scenario.sample_bytes)
        return fed_with(workload(scenario.workload, scenario.sequence_length, scenario.image_tokens), *data)

    def is_batch_assumed(self, layout: Mapping[str, Any] | None) -> bool:
        """Return whether the samples of a step are a default; with a layout, those of a GPU state none."""
        is_stated = layout is None and self.scenario.local_batch_size is not None
        return self.scenario.global_batch_size is None and not is_stated

    def with_batch(self, samples: int) -> Job:
        """Return the same job with a number of samples an iteration, on any number of machines.

        It is one job for all who ask: several purchases compare with the present fleet at that batch.
        """
        if samples not in self._with_batch:
            other = copy.copy(self)
            changed = {"global_batch_size": samples, "local_batch_size": None}
            other.scenario = self.scenario.model_copy(update=changed)
            other._predicted, other._with_batch = {}, {}
            self._with_batch[samples] = other
        return self._with_batch[samples]

    def on(self, group: Group, fleet: Fleet, **changed: Any) -> Prediction:
        """Return the prediction of the job with all accelerators of a fleet replaced by one kind.

        Parameters
        ----------
        group : machines whose kind is used
        fleet : gives the number of accelerators and the network between machines
        changed : options of this prediction only, such as a batch or a layout

        Raises
        ------
        InputError : as ``predict``
        """
        key = (group.kind, fleet.gpus, fleet.network, fleet.nics, tuple(sorted(changed.items())))
        if key not in self._predicted:
            scenario = self._scenario(group, fleet).model_copy(update=changed)
            self._predicted[key] = predict(scenario, self.catalogue, self.constants)
        return self._predicted[key]

    def _scenario(self, group: Group, fleet: Fleet) -> Scenario:
        """Return the scenario of the job on as many accelerators as a fleet has, of one kind."""
        node = self.catalogue.node(group.node)
        options: dict[str, Any] = {
            "node": group.node,
            "accelerator": group.accelerator,
            "world_size": fleet.gpus,
        }
        if fleet.gpus > group.accelerators and fleet.network is not None:
            if fleet.network != node.inter_link:
                options["inter_link"] = fleet.network
            if fleet.nics != (node.nics or 1):
                options["nics"] = fleet.nics
        return self.scenario.model_copy(update=options)

    def layout(self, group: Group, fleet: Fleet) -> Layout | None:
        """Return the fastest layout that fits on a fleet of one kind; None for a data-parallel job.

        In a mixed fleet each replica lies on machines of one kind: the model does not predict tensors, stages
        or experts that are split between unlike machines.

        Raises
        ------
        InputError : no layout fits, or none divides the network and its batch
        """
        scenario = self._scenario(group, fleet)
        stack = stack_of(
            scenario, self.network, self.catalogue.accelerator(group.accelerator), self.catalogue
        )
        if stack is None:
            return None
        options = {
            "framework": stack,
            "micro_batch_size": 1,
            "local_batch_size": None,
            "global_batch_size": None,
        }
        setting = resolve(scenario.model_copy(update=options), self.catalogue)
        whole = math.gcd(*(one.gpus for one in fleet.groups)) if len(fleet.groups) > 1 else None
        given = self.scenario.global_batch_size
        batch = given or usual_batch(fleet.gpus, int(self.network.sequence_length or 1))
        goal = _goal(workload=self.scenario.workload, samples=1.0, global_batch_size=batch)
        plan, _, reason = fastest_layout(goal, setting, self.network, self.constants, whole)
        if plan is None:
            kinds = "" if whole is None else f", replicas on {fleet}"
            raise refusal(
                "fleet.reason",
                reason=Words(reason),
                workload=self.scenario.workload,
                gpus=fleet.gpus,
                accelerator=group.accelerator,
                batch=batch,
                kinds=kinds,
            )
        return {name: plan["layout"][name] for name in OF_LAYOUT} | {
            "framework": stack,
            "local_batch_size": None,
            "global_batch_size": None,
        }


def _goal(**fields: Any) -> Goal:
    """Return a goal with the network and batch from which layouts are searched."""
    return Goal(**fields)
