"""Facts about things are fields of their specs: nothing is read out of an id, and no code names one."""

from __future__ import annotations

import ast
import dataclasses
import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import perfmodel
from perfmodel.core.errors import InputError
from perfmodel.core.files.resources import folder
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.peer_graph import ranks_of
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.fitted.efficiency import Efficiency
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.prediction.collectives.collective import collective
from perfmodel.model.prediction.collectives.collective_fabric import fabric_of
from perfmodel.model.prediction.intervals.bound import least_computation_time
from perfmodel.model.setting import resolve as resolving
from perfmodel.model.setting.link_caveats import GENERIC_NODE
from perfmodel.model.setting.resolve import resolve
from perfmodel.model.setting.transport import LIKE_TCP
from perfmodel.model.step.evaluate import evaluate
from perfmodel.workloads import names as workload_names

pytestmark = pytest.mark.any_version

BUILT_IN = Catalogue.built_in()
KINDS = ("accelerators", "links", "nodes")
PACKAGE = Path(perfmodel.__file__).parent
SOURCES = [*PACKAGE.rglob("*.py"), *(PACKAGE.parent / "app").rglob("*.py")]
READS_NAMES = ("core/records/names.py",)
"""Where names that people type are understood, and an id is held against what its file says."""
WORDS_OF = {"id", "architecture", "software"}
"""Attributes that are names, whole."""


@cache
def opaque():
    """A new id for each of the catalogue's, which says nothing."""
    ids = sorted({id for kind in KINDS for id in BUILT_IN.ids(kind)})
    shuffled = list(ids)
    random.Random(1).shuffle(shuffled)
    return {id: f"x{shuffled.index(id):03}" for id in ids}


@pytest.fixture(scope="module")
def renamed(tmp_path_factory):
    """The whole catalogue under other ids."""
    root = tmp_path_factory.mktemp("opaque")
    quoted = re.compile('"(' + "|".join(map(re.escape, opaque())) + ')"')
    for kind in KINDS:
        (root / kind).mkdir()
        for file in (folder("hardware_specs") / kind).glob("*.toml"):
            lines = file.read_text("utf-8").splitlines()
            other = [
                line
                if line.startswith(("name", "aliases", "family"))
                else quoted.sub(lambda found: f'"{opaque()[found[1]]}"', line)
                for line in lines
            ]
            (root / kind / f"{opaque()[file.stem]}.toml").write_text("\n".join(other), "utf-8")
    return Catalogue([root])


@cache
def constants():
    """What was learned, of things under their other ids."""
    known = calibration()
    seen = {
        kind: names if kind == "software" else frozenset(opaque()[name] for name in names)
        for kind, names in known.seen.items()
    }
    return known._replace(seen=seen)


FIELDS = ("accelerator", "node", "intra_link", "inter_link", "server_node")


def same(found, expected):
    assert found.iteration_time == expected.iteration_time
    assert found.terms == expected.terms
    assert found.communication_time == expected.communication_time
    assert found.memory == expected.memory
    interval, known = found.interval.model_dump(), expected.interval.model_dump()
    interval.pop("wider_because")
    assert len(known.pop("wider_because")) == len(found.interval.wider_because)
    assert interval == known


def asked(**given):
    """A scenario with nothing about hardware left to a default, and the same under other ids."""
    setting = resolve(Scenario(**given), BUILT_IN)
    given |= {
        "accelerator": setting.accelerator.id,
        "node": setting.node.id,
        "intra_link": setting.intra_link.id,
        "inter_link": setting.inter_link.id,
    }
    return Scenario(**given), Scenario(**given | {n: opaque()[given[n]] for n in FIELDS if n in given})


@pytest.mark.parametrize(
    "options",
    [
        {"node": "dgx-1v", "world_size": 6},
        {"node": "dgx-1p", "world_size": 32, "algorithm": "best"},
        {"node": "hgx-h100", "world_size": 64, "workload": "bert-large", "input": "real"},
        {"node": "hgx-h100", "world_size": 8, "workload": "bert-large", "algorithm": "nvls"},
        {"node": "nvlink-bridge-workstation-4gpu", "accelerator": "rtx-2080-ti", "world_size": 4},
        {"node": "aws-p2.8xlarge", "world_size": 16, "strategy": "parameter-server", "server_node": "dgx-1v"},
        {"accelerator": "mi300x", "world_size": 16, "workload": "mask-rcnn-r50-fpn"},
        {"accelerator": "a100-sxm4-40gb", "intra_link": "nvlink3-bridge", "world_size": 4},
        {"node": "azure-nd128isr_ndr_gb200_v6", "world_size": 8},
        {"accelerator": "k80", "inter_link": "slingshot11-200g-tcp", "world_size": 32},
    ],
)
def test_scenarios_take_as_long_under_other_ids(options, renamed):
    plain, other = asked(**options)
    same(predict(other, renamed, constants()), predict(plain))


def test_every_accelerator_and_machine_takes_as_long_under_another_id(renamed):
    each: list[dict[str, Any]] = [
        {"accelerator": id, "world_size": 16 if BUILT_IN.accelerator(id).usual_node else 8}
        for id in BUILT_IN.ids("accelerators")
    ]
    each += [{"node": id, "world_size": 16} for id in BUILT_IN.ids("nodes")]
    for options in each:
        one = BUILT_IN.accelerator(options["accelerator"]) if "accelerator" in options else None
        node = BUILT_IN.node(options.get("node") or (one and one.usual_node) or GENERIC_NODE)
        if node.inter_link is None:
            options["inter_link"] = "roce-100g"
        plain, other = asked(**options, precision="amp")
        same(predict(other, renamed, constants()), predict(plain))


LINKS_OF_ACCELERATORS = [id for id in BUILT_IN.ids("links") if BUILT_IN.link(id).scope != "socket"]
"""Not those between the processors of a node."""


@pytest.mark.parametrize("accelerator", ["v100-sxm2-16gb", "h100-sxm5-80gb", "mi250x"])
def test_every_link_takes_as_long_under_another_id(accelerator, renamed):
    for id in LINKS_OF_ACCELERATORS:
        for place in ("intra_link", "inter_link"):
            plain, other = asked(accelerator=accelerator, world_size=16, **{place: id})
            same(predict(other, renamed, constants()), predict(plain))


@pytest.mark.parametrize("name", ["all-reduce", "all-gather", "all-to-all"])
@pytest.mark.parametrize("algorithm", ["auto", "best"])
def test_every_collective_takes_as_long_under_another_id(name, algorithm, renamed):
    for id in LINKS_OF_ACCELERATORS:
        most = ranks_of(BUILT_IN.link(id).peer_graph) or 8
        for ranks, nodes in ((2, 1), (most, 1), (16, 4)):
            times = [
                collective(
                    name,
                    algorithm,
                    fabric_of(ranks, known, intra_link=ids(id), inter_link=ids("roce-100g"), nodes=nodes),
                    1e8,
                )
                for known, ids in ((BUILT_IN, str), (renamed, opaque().get))
            ]
            assert times[0].time == times[1].time
            assert times[0].lower_bound == times[1].lower_bound


@pytest.mark.parametrize("name", workload_names())
def test_every_network_takes_as_long_under_another_id(name):
    known = calibration()
    learned = known.efficiency._log
    other = {
        key.replace(f"workload/{name}", "workload/w") if key == f"workload/{name}" else key: number
        for key, number in learned.items()
    }
    here = resolve(Scenario(workload=name, world_size=8, input="synthetic"), BUILT_IN)
    there = here._replace(workload=dataclasses.replace(here.workload, id="w"))
    borrowed = {"workload/w": known.efficiency.borrowed.get(f"workload/{name}", 0.0)}
    moved = known._replace(efficiency=Efficiency(other, borrowed=borrowed))
    assert evaluate(there, moved).terms == evaluate(here, known).terms
    fed = {"scenario": here.scenario.model_copy(update={"input": "real"})}
    assert least_computation_time(there._replace(**fed)) == least_computation_time(here._replace(**fed))


def is_name(node):
    return isinstance(node, ast.Attribute) and node.attr in WORDS_OF


def looks_inside(tree):
    """Lines where a name is taken apart or searched."""
    for node in ast.walk(tree):
        inside = (
            (
                isinstance(node, ast.Compare)
                and isinstance(node.ops[0], ast.In | ast.NotIn)
                and is_name(node.comparators[0])
            )
            or (isinstance(node, ast.Subscript) and is_name(node.value))
            or (isinstance(node, ast.Attribute) and is_name(node.value) and hasattr(str, node.attr))
            or (isinstance(node, ast.For | ast.comprehension) and is_name(node.iter))
            or (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in {"search", "match", "fullmatch", "findall", "finditer", "split", "sub"}
                and any(map(is_name, node.args))
            )
        )
        if inside:
            yield getattr(node, "lineno", 0)


def test_no_code_looks_inside_an_id():
    found = [
        f"{file.relative_to(PACKAGE.parent)}:{line}"
        for file in SOURCES
        if not str(file).endswith(READS_NAMES)
        for line in looks_inside(ast.parse(file.read_text("utf-8")))
    ]
    assert found == []


def test_that_search_finds_what_it_is_for():
    parsed = ast.parse('"nvswitch" in link.id; link.id[:7]; link.id.startswith("a"); re.search("g", spec.id)')
    assert len(list(looks_inside(parsed))) == 4


def without_examples(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield every node but those of a command's examples."""
    for child in ast.iter_child_nodes(tree):
        if not (isinstance(child, ast.keyword) and child.arg in ("bodies", "examples")):
            yield child
            yield from without_examples(child)


def test_code_names_no_hardware_but_for_its_defaults():
    ids = {id for kind in KINDS for id in BUILT_IN.ids(kind)}
    named = {
        (str(file.relative_to(PACKAGE)), node.value)
        for file in PACKAGE.rglob("*.py")
        if "accuracy" not in file.parts  # names of measured rows, mapped to ours
        for node in without_examples(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Constant) and node.value in ids
    }
    assert named == {
        ("model/setting/resolve.py", resolving.DEFAULT_ACCELERATOR),
        ("model/setting/link_caveats.py", GENERIC_NODE),
        ("model/setting/resolve.py", resolving.DEFAULT_INTER_LINK),
        ("model/setting/transport.py", LIKE_TCP),
    }


def link(tmp_path, **more):
    file = tmp_path / "mine.toml"
    facts = {"id": "mine", "name": "mine", "kind": "nvlink", "scope": "intra", "generation": 4} | more
    lines = [f"{key} = {str(v).lower() if isinstance(v, bool) else repr(v)}" for key, v in facts.items()]
    for number, value in (("bandwidth", 1e10), ("hop_latency", 1e-6)):
        lines += ["", f"[{number}]", f"value = {value}", 'basis = "assumed"']
    file.write_text("\n".join(lines))
    return Catalogue([tmp_path]).link("mine")


def test_facts_of_a_link_are_checked(tmp_path):
    assert link(tmp_path, generation=4, switched=True, switch_adds=True).switch_adds
    for wrong, said in (
        ({"kind": "ethernet_tcp"}, "nearest: ethernet-tcp"),
        ({"switch_adds": True}, "switched = true"),
        ({"joins": 1}, "joins = 1"),
        ({"generation": "four"}, "generation"),
    ):
        with pytest.raises(InputError, match=r"mine\.toml") as refused:
            link(tmp_path, **wrong)
        assert said in str(refused.value)
