"""Whatever is given to a public function, it answers or raises an InputError of a line or two."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import perfmodel
from perfmodel import Catalogue, InputError, predict, read_quote
from perfmodel.equations.distributions import parse_distribution
from perfmodel.interfaces.register import command

ODD = (
    5,
    -1.5,
    float("nan"),
    True,
    "x",
    "",
    None,
    [],
    ["x"],
    [3],
    [None],
    (),
    {"a": 1},
    {1: 2},
    object(),
    print,
)
WORKS: dict[str, dict[str, Any]] = {
    "Catalogue": {},
    "Client": {"url": "http://127.0.0.1:8080"},
    "Conditions": {},
    "Emulator": {"prediction": predict(), "sleep": lambda time: None},
    "Scenario": {},
    "calibrate": {"times": "times.csv"},
    "check_quote": {"quote": read_quote("imagenet-one-hour")[0]},
    "cite": {},
    "collective": {"ranks": 8, "size": "1MB", "node": "dgx-1v"},
    "compare": {},
    "explain": {},
    "explain_row": {"row": "titan-0006"},
    "sensitivity": {"gpus": 16},
    "specs": {},
    "layouts": {"workload": "llama-3-8b", "gpus": 8, "node": "dgx-h100", "global_batch_size": 8},
    "compression": {},
    "downpour": {"replica_model": "speech", "replica_machines": 8},
    "emulate": {"steps": 1, "speed": 1e9},
    "enough": {"vary": "nics", "gpus": 16, "values": [1, 2]},
    "diagnose": {"gpus": 8, "measured": "145ms"},
    "fits": {"gpus": 8},
    "fleets": {"have": "2 x dgx-1v", "buy": "1 x dgx-1v"},
    "model_parallel": {"point": (8, 2)},
    "learning_rate": {"global_batch_size": 512, "distance_constant": 1, "squared_distance": 1},
    "networks": {},
    "plan": {"epochs": 1, "max_gpus": 2, "instances": "p3.16xlarge", "local_batch_sizes": 64},
    "predict": {},
    "read_quote": {"path": "imagenet-one-hour"},
    "scale": {"gpus": [1, 2]},
    "specs_check": {},
    "stragglers": {"workers": 4},
    "schema": {},
    "servers": {},
    "adaptive_synchrony": {"workers": 4},
    "sweep": {"gpus": [1, 2]},
    "trace_diff": dict(command("trace diff").bodies["a kernel that got faster"]),
    "trace_summary": dict(command("trace summary").bodies["one kernel"]),
    "validate": {"kind": "collectives"},
    "workload": {"name": "resnet50"},
    "write_report": {"answer": predict(), "path": "page.md"},
}
"""Arguments with which each function answers at once."""
SLOW = {("calibrate", "times"), ("validate", "out_of_sample")}
"""Of which some values ask for a fit."""


def parameters() -> list[tuple[str, str]]:
    return [
        (name, parameter.name)
        for name in sorted({*perfmodel.__all__} - {"InputError", "Prediction"})
        for parameter in inspect.signature(getattr(perfmodel, name)).parameters.values()
        if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    ]


def refusal(name: str, arguments: dict[str, Any]) -> str | None:
    try:
        answer(name, arguments)
    except InputError as error:
        return str(error)
    return None


def answer(name: str, arguments: dict[str, Any]) -> Any:
    if name == "compare":
        return perfmodel.compare({"gpus": 2}, {"gpus": 4}, **arguments)
    result = getattr(perfmodel, name)(**arguments)
    return result.table() if name == "sweep" else result.step() if name == "Emulator" else repr(result)


@pytest.mark.parametrize(("name", "parameter"), parameters())
def test_an_argument_of_any_type_is_answered_or_refused(name, parameter, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "times.csv").write_text("0.1\n" * 20)
    given = [odd for odd in ODD if (name, parameter) not in SLOW or not (odd is None or odd is True)]
    said = [one for odd in given if (one := refusal(name, WORKS[name] | {parameter: odd})) is not None]
    assert said or name == "Conditions"  # which are checked where they are used
    assert all(1 <= len(one.splitlines()) <= 2 and len(one) < 500 for one in said)


@pytest.mark.parametrize("odd", [one for one in ODD if one is not None], ids=lambda odd: type(odd).__name__)
def test_what_is_no_scenario_is_not_compared(odd):
    with pytest.raises(InputError):
        perfmodel.compare(odd, {"gpus": 2})


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: perfmodel.stragglers(distribution=4), "distribution = 4: expected text"),
        (lambda: perfmodel.collective(ranks=8, size=1e6, link=7), "intra_link = 7: expected text"),
        (lambda: perfmodel.calibrate(times=["a"]), r"times = \['a'\]: expected text"),
        (lambda: perfmodel.check_quote("x"), "neither a file nor an example"),
        (lambda: perfmodel.plan(5), "workload = 5: expected text"),
        (lambda: perfmodel.workload(4), "name = 4: expected text"),
        (lambda: perfmodel.predict(catalogue="mine"), "catalogue = 'mine': expected a perfmodel.Catalogue"),
        (lambda: perfmodel.sweep(7, gpus=2), "expected a Scenario or a mapping of its options"),
    ],
)
def test_an_error_says_what_would_be_right(ask, said):
    with pytest.raises(InputError, match=said):
        ask()


def test_right_arguments_still_answer(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, arguments in WORKS.items():
        if name != "calibrate":
            answer(name, arguments)
    assert perfmodel.stragglers("sync", distribution=parse_distribution("exponential:rate=1")).update_time > 0
    assert predict(catalogue=Catalogue(()), constants=None) == predict()
