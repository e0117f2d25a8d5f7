"""The functions of ``import perfmodel``: plain values in, typed answers out, JSON as commands print it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import asdict
from typing import Any, get_type_hints

import pytest

import perfmodel
from perfmodel.core.errors import InputError, MissingPackage
from perfmodel.core.files.tables import Table
from perfmodel.interfaces.register import command
from perfmodel.model.options.keywords import SizedOptions
from perfmodel.model.prediction.result import Interval


def body(name: str) -> dict[str, Any]:
    """Return the first example of a command over HTTP."""
    return dict(next(iter(command(name).bodies.values())))


CALLS = {
    "predict": "predict(workload='resnet50', gpus=32)",
    "scale": "scale(workload='vgg16', gpus=[1, 4])",
    "sweep": "sweep(world_size=[1, 2]).table()",
    "collective": "collective('all-reduce', ranks=8, size='100MB', link='nvlink3-nvswitch')",
    "stragglers": "stragglers('sync', workers=16)",
    "servers": "servers(workers=8, servers=8)",
    "adaptive_synchrony": "adaptive_synchrony(workers=16)",
    "plan": "plan(epochs=1, accelerators='v100-sxm2-16gb', max_gpus=8)",
    "layouts": "layouts('llama-3-8b', gpus=8, node='dgx-h100', global_batch_size=64)",
    "learning_rate": "learning_rate(0.1, 256, 8192)",
    "compression": "compression('topk:0.01', gpus=16)",
    "diagnose": "diagnose(measured='400ms', gpus=32)",
    "fleets": "fleets('2 x dgx-1v', '1 x dgx-1v')",
    "enough": "enough('servers', gpus=16, strategy='parameter-server', values=[1, 2])",
    "fits": "fits(workload='llama-3-8b', accelerator='h100-sxm5-80gb', gpus=8)",
    "downpour": "downpour(replicas=4, step_time=0.1)",
    "model_parallel": "model_parallel('image', [81])",
    "explain_row": "explain_row('titan-0006')",
    "validate": "validate('collectives')",
    "calibrate": "calibrate(times=TIMES, local_batch_size=32)",
    "check_quote": "check_quote('dgx-a100-petaflops')",
    "cite": "cite(gpus=2)",
    "emulate": "emulate(gpus=2, steps=1, speed=1e9)",
    "specs": "specs('links')",
    "networks": "networks('bert')",
    "schema": "schema('servers')",
    "specs_check": "specs_check()",
    "trace_diff": f"trace_diff(**{body('trace diff')})",
    "trace_summary": f"trace_summary(**{body('trace summary')})",
    "compare": "compare({'gpus': 1}, {'gpus': 2})",
    "sensitivity": "sensitivity(gpus=16)",
    "explain": "explain(perfmodel.Scenario(world_size=2))",
    "write_report": "write_report(perfmodel.predict(gpus=2), TIMES + '.md')",
}
"""A call of each function; each is made after every module of the package was imported."""


@pytest.fixture
def times(tmp_path):
    """Write a file of iteration times."""
    path = tmp_path / "times.csv"
    path.write_text("".join(f"{0.1 + i / 1000}\n" for i in range(8)))
    return str(path)


@pytest.mark.any_version
def test_no_module_takes_the_name_of_a_function(times):
    """Importing every module first leaves each name the function it is."""
    code = f"""
import importlib, pkgutil, perfmodel
TIMES = {times!r}
for module in pkgutil.walk_packages(perfmodel.__path__, "perfmodel."):
    importlib.import_module(module.name)
for call in {list(CALLS.values())}:
    eval("perfmodel." + call)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_function_has_a_call():
    functions = {name for name in perfmodel.__all__ if name.islower()}
    assert set(CALLS) == functions - {"read_quote", "workload"}


TABLES = {
    "comparison": (lambda: perfmodel.compare({"gpus": 4}, {"gpus": 8, "precision": "fp32"}), 18),
    "sweep": (
        lambda: perfmodel.sweep(world_size=[1, 2, 3], inter_link=["ib-edr-100g", "ethernet-25g-tcp"]),
        6,
    ),
    "scale": (lambda: perfmodel.scale(gpus=[1, 8]), 2),
    "collective": (lambda: perfmodel.collective(ranks=16, size=["1KB", 1e6, 10**9], node="dgx-a100"), 3),
    "stragglers": (lambda: perfmodel.stragglers(workers=8), 9),
    "error curves": (lambda: perfmodel.stragglers(workers=8).error_curves(), 12),
    "learning rates": (lambda: perfmodel.learning_rate(0.1, 256, 8192, staleness=3), 4),
    "placements of servers": (lambda: perfmodel.servers(workers=8, servers=8), 6),
    "choices as the error falls": (lambda: perfmodel.adaptive_synchrony(workers=8), 6),
    "speed-ups of a model": (lambda: perfmodel.model_parallel("image", [1, 81, 100]), 3),
    "fleets": (lambda: perfmodel.fleets("2 x dgx-1v", ["1 x dgx-1v", "2 x dgx-1v"]), 3),
    "what is enough": (lambda: perfmodel.enough("nics", gpus=16, values=[1, 2]), 2),
    "compressed exchanges": (lambda: perfmodel.compression(gpus=16), 8),
}
"""What makes each table, and how many rows it has."""


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_the_same_in_pandas_and_in_arrow(name):
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    make, rows = TABLES[name]
    table = make()
    assert isinstance(table, Table)
    frame, arrow = table.to_pandas(), table.to_arrow()
    assert len(frame) == arrow.num_rows == rows
    assert list(frame.columns) == arrow.column_names
    for column in frame:
        for one, other in zip(frame[column], arrow[column].to_pylist(), strict=True):
            assert one == other or (pandas.isna(one) and other is None)


@pytest.mark.parametrize(("method", "package"), [("to_pandas", "pandas"), ("to_arrow", "pyarrow")])
def test_a_missing_package_is_named(method, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackage, match=rf"needs {package}: pip install 'perfmodel\["):
        getattr(perfmodel.scale(gpus=[1]), method)()


def planned():
    """Return a small search."""
    limits = {"deadline": "24h", "accelerators": ["v100-sxm2-16gb"], "max_gpus": 32}
    return perfmodel.plan("resnet50", epochs=90, sequence_length=None, **limits)


JSON = {
    "validation": (lambda: perfmodel.validate("collectives"), "validate --kind collectives"),
    "plans": (planned, "plan --epochs 90 --deadline 24h --accelerator v100-sxm2-16gb --max-gpus 32"),
    "prediction": (
        lambda: perfmodel.predict(workload="vgg16", gpus=8, local_batch_size=32),
        "predict --workload vgg16 --gpus 8 --local-batch-size 32",
    ),
    "comparison": (
        lambda: perfmodel.compare(
            {"gpus": 32},
            perfmodel.Scenario(gpus=32, algorithm="tree"),
            names=["base", "algorithm=tree"],
        ),
        "compare --gpus 32 --set algorithm=tree",
    ),
    "sweep": (
        lambda: perfmodel.sweep(workload=["resnet50", "vgg16"], world_size=range(1, 4)),
        "sweep --workload resnet50,vgg16 --gpus 1-3",
    ),
    "explanation": (lambda: perfmodel.explain(gpus=2), "explain --gpus 2"),
    "scale": (
        lambda: perfmodel.scale(workload="vgg16", gpus=[1, 4]),
        "scale --workload vgg16 --gpus 1,4",
    ),
    "collective": (
        lambda: perfmodel.collective(ranks=16, size="1MB", node="dgx-a100"),
        "collective --ranks 16 --size 1MB --node dgx-a100",
    ),
    "collectives": (
        lambda: perfmodel.collective("broadcast", ranks=8, size=[1e3, "2KB"], link="pcie3-x16"),
        "collective --collective broadcast --ranks 8 --size 1KB..2KB --intra-link pcie3-x16",
    ),
    "stragglers": (lambda: perfmodel.stragglers(workers=8, k=4), "stragglers --workers 8 --k 4"),
    "one variant": (
        lambda: perfmodel.stragglers("k-sync", workers=8, k=3, params={"shift": 1, "rate": 2}),
        "stragglers --variant k-sync --workers 8 --k 3 --param shift=1 --param rate=2",
    ),
    "error curves": (
        lambda: perfmodel.stragglers(workers=8).error_curves(0.1),
        "stragglers --workers 8 --curve --learning-rate 0.1",
    ),
    "compressed exchanges": (
        lambda: perfmodel.compression(["topk:0.001", "powersgd"], workload="vgg16", gpus=32, nics=1),
        "compression --scheme topk:0.001,powersgd --workload vgg16 --gpus 32 --nics 1",
    ),
    "compressed bytes": (
        lambda: perfmodel.compression("qsgd:8bit", size="1GB", gpus=16, inter_link="ethernet-10g-tcp"),
        "compression --scheme qsgd:8bit --gradient-size 1GB --gpus 16 --inter-link ethernet-10g-tcp",
    ),
    "Downpour": (
        lambda: perfmodel.downpour("vgg16", replicas=20, servers=4, push_every=5, lost=2),
        "downpour --workload vgg16 --replicas 20 --servers 4 --push-every 5 --lost 2",
    ),
    "speed-ups of a model": (
        lambda: perfmodel.model_parallel(machines=[4, 16], point=(8, 3), peak=True),
        "model-parallel --machines 4,16 --point 8:3 --peak",
    ),
    "placements of servers": (
        lambda: perfmodel.servers(workers=16, servers=4, gradient_size="528MB", inter_link="ib-edr-100g"),
        "servers --workers 16 --servers 4 --gradient-size 528MB --inter-link ib-edr-100g",
    ),
    "choices as the error falls": (
        lambda: perfmodel.adaptive_synchrony(
            workers=8, distribution="exponential", params={"rate": 2}, communication_time=0.5, interval="4s"
        ),
        "stragglers --adaptive --workers 8 --distribution exponential --param rate=2 "
        "--communication-time 0.5s --interval 4s",
    ),
    "learning rates": (
        lambda: perfmodel.learning_rate(0.2, 128, 1024, staleness=2, warm_up_epochs=2.5),
        "learning-rate --base 0.2 --base-batch 128 --global-batch-size 1024 --staleness 2 "
        "--warm-up-epochs 2.5",
    ),
}
"""What makes an answer in Python, and the command that asks the same."""


@pytest.mark.parametrize("name", JSON)
def test_json_is_what_the_command_prints(name, invoke):
    make, words = JSON[name]
    assert json.loads(make().to_json()) == json.loads(invoke(*words.split(), "--json").stdout)


@pytest.mark.parametrize("name", {**TABLES, **JSON})
def test_a_repr_reads_well(name):
    """One line to a few, with units, at a width that a notebook shows."""
    lines = repr((TABLES | JSON)[name][0]()).splitlines()
    assert 1 <= len(lines) <= 15
    assert max(map(len, lines)) <= 340
    assert "{" not in lines[0]


def test_numbers_of_accelerators_are_checked():
    for wrong in ([], [0], [True], [1.5], "1,2", [10**9], ["a"], [float("nan")], [None], [float("inf")]):
        with pytest.raises(InputError, match="gpus"):
            perfmodel.scale(gpus=wrong)  # type: ignore[arg-type]


def test_keywords_are_the_options_of_a_scenario():
    """Editors offer them and type checkers check them: by name and type what a ``Scenario`` declares."""
    declared = get_type_hints(perfmodel.Scenario)
    offered = get_type_hints(SizedOptions)
    assert offered.pop("gpus") is int
    assert offered == {name: declared[name] for name in perfmodel.Scenario.model_fields}


def test_an_option_is_refused_as_a_scenario_refuses_it():
    for call in (perfmodel.predict, perfmodel.scale, perfmodel.explain):
        with pytest.raises(InputError, match="unknown option 'inter_lnk'; nearest: inter_link"):
            call(inter_lnk="ib-edr-100g")


def test_options_are_laid_over_a_scenario():
    base = perfmodel.Scenario(workload="vgg16", local_batch_size=16)
    rows = perfmodel.scale(base, gpus=[4], precision="fp32").predictions
    assert (rows[0].scenario["workload"], rows[0].scenario["precision"]) == ("vgg16", "fp32")
    assert base.precision is None


def test_rows_are_typed():
    row = perfmodel.scale(gpus=[8]).rows[0]
    assert isinstance(row.interval, Interval)
    assert row.low_80 == row.interval.low_80


@pytest.mark.parametrize("size", [0, -1, "1PiB", "ten", None, [None], True, []])
def test_sizes_are_checked(size):
    with pytest.raises(InputError):
        perfmodel.collective(ranks=8, size=size, link="pcie3-x16")


def test_a_plan_is_its_row_of_the_search():
    plans = planned()
    assert plans.chosen is not None
    assert asdict(plans.chosen) == plans.search.chosen
    assert [asdict(each) for each in plans.front] == plans.search.front
    rejected = [asdict(each) | {"ratio": each.ratio.model_dump()} for each in plans.rejected]
    assert rejected == plans.search.rejected
    assert plans.launch is not None
    assert plans.launch.predict.startswith("perfmodel predict --workload resnet50 --node ")
    assert plans.to_pandas()["name"].tolist() == [each.name for each in plans.front]


def test_a_profile_is_learned_from_times(times, tmp_path, invoke):
    profile = perfmodel.calibrate(times=times, workload="resnet50", local_batch_size=32)
    words = ["calibrate", "--times", times, "--workload", "resnet50", "--local-batch-size", "32", "--json"]
    assert json.loads(profile.to_json()) == json.loads(invoke(*words).stdout)
    assert repr(profile).startswith("<Profile: resnet50 on v100-sxm2-16gb, amp, batch 32 each")
    profile.write(tmp_path / "mine.toml")
    traced = perfmodel.predict(workload="resnet50", profile=str(tmp_path / "mine.toml"))
    assert traced.mode == "traced"


def test_what_calibrate_learns_from_goes_together(times):
    for wrong, message in (
        ({"times": times, "traces": "step.json"}, "give one"),
        ({"times": times, "data": "runs.csv"}, "leave trace and times out"),
        ({"gpus": 8}, "gpus: of a job"),
    ):
        with pytest.raises(InputError, match=message):
            perfmodel.calibrate(**wrong)


def test_a_sweep_varies_a_scenario():
    base = perfmodel.Scenario(workload="vgg16", local_batch_size=16)
    frame = perfmodel.sweep(base, gpus=[1, 2]).to_pandas()
    assert frame["workload"].tolist() == ["vgg16", "vgg16"]
    assert frame["global_batch_size"].tolist() == [16, 32]
    assert perfmodel.sweep(base, global_batch_size=64, gpus=2).table()["local_batch_size"].tolist() == [32]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"pue": 0.5}, "pue = 0.5: expected greater than or equal to 1"),
        ({"price": -3}, "price = -3: expected greater than 0"),
        ({"price": "x"}, "price = 'x': expected a number"),
        ({"region": 5}, "region = 5: expected text"),
        ({"checkpoint_time": -1.0}, "checkpoint_time = -1: expected greater than or equal to 0"),
    ],
)
def test_conditions_out_of_range_are_refused(wrong, said):
    for ask in (
        lambda: perfmodel.Conditions(**wrong),
        lambda: perfmodel.explain(gpus=8, conditions=wrong),
        lambda: perfmodel.compare({"gpus": 8}, {"gpus": 16}, conditions=wrong),
        lambda: perfmodel.plan(epochs=1, max_gpus=8, conditions=wrong),
    ):
        with pytest.raises(perfmodel.InputError, match=r"^(conditions\.)?" + re.escape(said)):
            ask()


@pytest.mark.parametrize("asked", ["resnet50", 32, {1: 2}, [{"gpus": 8}]])
def test_what_is_no_scenario_is_refused_with_what_would_be_one(asked):
    for ask in (perfmodel.predict, perfmodel.explain, lambda one: perfmodel.compare(one, {"gpus": 8})):
        with pytest.raises(perfmodel.InputError, match="a Scenario or a mapping of its options"):
            ask(asked)


def test_collectives_have_no_anchor(invoke):
    with pytest.raises(perfmodel.InputError, match="mode anchored is of training and mlperf"):
        perfmodel.validate("collectives", mode="anchored")
    result = invoke("validate", "--kind", "collectives", "--mode", "anchored")
    assert result.exit_code == 2
    assert "collectives take no time on one accelerator" in result.stderr


@pytest.mark.parametrize(
    "wrong", [{"epochs": "90"}, {"budget": "5$"}, {"max_gpus": "8"}, {"local_batch_sizes": ["a"]}]
)
def test_a_plan_of_words_is_refused(wrong):
    with pytest.raises(perfmodel.InputError):
        perfmodel.plan(**{"epochs": 1, "max_gpus": 8, **wrong})


def test_a_slip_in_an_option_of_calibrate_is_named():
    with pytest.raises(perfmodel.InputError, match="unknown option 'trace'; nearest: traces"):
        perfmodel.calibrate(trace="x.json")
