"""One exchange has one time: ``collective``, ``predict`` without a layout and ``predict`` with one.

Where they differ by more than 2 %, a named term does: numbers that training runs taught and stand-alone
collectives did not (or that a link's own file states), the year of the library, contention with computation,
the number of messages, the data type.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import perfmodel
from perfmodel.core.errors import InputError
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.collectives.model import PCIE_SHARE, TCP_SHARE, curve, fitted
from perfmodel.model.collectives.place import USUAL_YEAR, place_of
from perfmodel.model.fitted.calibration import Calibration, calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.setting.resolve import Setting, resolve
from perfmodel.model.step.communication import message_times
from perfmodel.model.step.fabric import fabric
from perfmodel.model.step.messages import layer_bytes
from perfmodel.model.transformers.evaluate import fabric_of_setting
from perfmodel.model.transformers.machine import costs_of, travel_time
from perfmodel.model.transformers.parameters import fitted as learned_of_steps

CATALOGUE = Catalogue.built_in()
ALIKE = 0.02
SETTINGS = 200
OF_MACHINES = [1, 1, 2, 2, 4, 8, 16, 64]


class Case(NamedTuple):
    """One all-reduce of all ranks of a job."""

    options: dict[str, Any]
    machines: int
    setting: Setting
    size: float


def _cases(count: int) -> Iterator[Case]:
    """Yield random jobs on machines of the catalogue, with random links between them."""
    drawn = random.Random(20261127)
    nodes = [CATALOGUE.node(name) for name in CATALOGUE.ids("nodes")]
    nodes = [
        node
        for node in nodes
        if node.accelerator and CATALOGUE.accelerator(node.accelerator).collective_library is not None
    ]
    links = [name for name in CATALOGUE.ids("links") if CATALOGUE.link(name).scope == "inter"]
    while count:
        node, machines = drawn.choice(nodes), drawn.choice(OF_MACHINES)
        options: dict[str, Any] = {"node": node.id, "world_size": machines * node.accelerators}
        if machines > 1 and (node.inter_link is None or drawn.random() < 0.5):
            options["inter_link"] = drawn.choice(links)
        if drawn.random() < 0.2:
            options["transport"] = "tcp"
        size = 10 ** drawn.uniform(4, 9.5)
        if options["world_size"] == 1:
            continue
        try:
            setting = resolve(Scenario(workload="resnet50", **options), CATALOGUE)
        except InputError:  # a machine whose network is unknown
            continue
        yield Case(options, machines, setting, size)
        count -= 1


CASES = list(_cases(SETTINGS))


def _by_collective(case: Case) -> float:
    words = {name: value for name, value in case.options.items() if name != "world_size"}
    ranks = case.options["world_size"]
    size = f"{case.size:.17g}B"
    answer = perfmodel.collective("all-reduce", ranks=ranks, nodes=case.machines, size=size, **words)
    return float(answer.time)


def _by_step(case: Case, setting: Setting, constants: Calibration) -> float:
    return float(message_times(setting, np.array([case.size]), fabric(setting, constants))[0])


def _named_numbers(setting: Setting) -> tuple[Setting, Calibration]:
    """Return a setting and constants with the numbers of stand-alone collectives in the named places."""
    p, constants = fitted().parameters, calibration()
    shares = {"pcie": PCIE_SHARE, "ethernet-tcp": TCP_SHARE, "xgmi": p["xgmi"]}
    constants = constants._replace(
        tcp_ceiling=p["tcp_ceiling"],  # of training runs
        link_fraction=constants.link_fraction | shares,
    )
    links: dict[str, Any] = {
        # what a link's file says was measured
        name: getattr(setting, name).model_copy(update={"achieved_fraction": None, "ring_bandwidth": None})
        for name in ("intra_link", "inter_link", "host_link")
    }
    return setting._replace(software_year=USUAL_YEAR, **links), constants


def test_a_step_without_a_layout_takes_as_long_as_the_collective_but_for_named_numbers():
    apart, named = [], 0
    for case in CASES:
        alone, own = _by_collective(case), _by_step(case, case.setting, calibration())
        same = _by_step(case, *_named_numbers(case.setting))
        named += abs(math.log(own / alone)) > ALIKE
        if abs(math.log(same / alone)) > ALIKE:
            apart.append((case.options, case.size, same / alone))
    assert not apart
    # the named numbers do matter, or the test would compare nothing
    assert 0 < named < SETTINGS / 2


def test_a_step_with_a_layout_takes_as_long_as_the_collective_but_for_contention():
    busier = 0
    for case in CASES:
        alone, ranks = _by_collective(case), case.options["world_size"]
        point = fabric_of_setting(case.setting).point("all-reduce", ranks, 1)
        assert point is not None
        time = float(curve(place_of(point), fitted().parameters).time(case.size))
        assert time == pytest.approx(alone, rel=ALIKE)
        cost = type(costs_of([point]))(*(column[0] for column in costs_of([point])))
        with_computation = float(travel_time(cost, case.size, learned_of_steps().parameters))
        assert with_computation >= time * (1 - 1e-9)
        busier += with_computation > time * (1 + ALIKE)
    assert busier


def test_what_a_prediction_says_is_the_sum_of_its_messages():
    scenario = Scenario(workload="vgg16", node="dgx-h100", world_size=16, overlap="none", jitter="none")
    answer = perfmodel.predict(scenario)
    setting = resolve(scenario, CATALOGUE)
    whole = layer_bytes(setting)
    times = message_times(setting, whole[whole > 0], fabric(setting, calibration()))
    one = message_times(setting, np.array([whole.sum()]), fabric(setting, calibration()))
    assert answer.communication_time <= times.sum() * (1 + 1e-9)
    assert answer.communication_time >= one[0] * (1 - 1e-9)
