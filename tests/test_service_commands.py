"""Each command answers over HTTP what it prints with ``--json``, and opens no file that a request names."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from perfmodel.interfaces.cli import main
from perfmodel.interfaces.register import commands
from perfmodel.interfaces.service.application import application
from perfmodel.interfaces.service.commands import COMMANDS
from tests.asgi import Caller

QUOTE = {
    "title": "Eight V100",
    "scenario": {"gpus": 8},
    "claims": [{"quantity": "images_per_second", "value": 1e6}],
}
TRACE = COMMANDS["trace/summary"].examples["one kernel"]["traces"]["trace.json"]
SAME = {
    "predict": ({"workload": "vgg16", "gpus": 8, "inter_link": "ethernet-10g-tcp"}, None),
    "predict, with all": (
        {
            "gpus": 16,
            "node": "aws-p3.16xlarge",
            "conditions": {"epochs": 90, "node_failure_interval": "6000h", "checkpoint_time": "60s"},
            "time_to_target": True,
            "time_to_loss": 0.1,
        },
        "--gpus 16 --node aws-p3.16xlarge --epochs 90 --node-mtbf 6000h --checkpoint-time 60s "
        "--time-to-target --time-to-loss 0.1",
    ),
    "predict, shared out": ({"workload": "llama-3-8b", "gpus": 64, "tensor_parallel": 4}, None),
    "scale": ({"workload": "vgg16", "gpus": [1, 4, 8]}, "--workload vgg16 --gpus 1,4,8"),
    "sweep": (
        {"gpus": [8, 16, 17], "global_batch_size": [512], "columns": ["gpus", "iteration_time"]},
        "--gpus 8,16,17 --global-batch-size 512 --columns gpus,iteration_time",
    ),
    "layouts": ({"workload": "llama-3-8b", "gpus": 8, "node": "dgx-h100", "global_batch_size": 64}, None),
    "layouts, priced": (
        {
            "workload": "llama-3-8b",
            "gpus": 8,
            "node": "dgx-h100",
            "global_batch_size": 64,
            "conditions": {"tokens": 1e12, "price": 98.5},
        },
        "--workload llama-3-8b --gpus 8 --node dgx-h100 --global-batch-size 64 --tokens 1T --price 98.5",
    ),
    "plan": (
        {
            "epochs": 90,
            "deadline": "24h",
            "accelerators": "v100-sxm2-16gb",
            "max_gpus": 16,
            "prices": {"dgx-1v": 12.5},
            "conditions": {"pue": 1.2},
            "input": "real",
        },
        "--epochs 90 --deadline 24h --accelerator v100-sxm2-16gb --max-gpus 16 --price dgx-1v=12.5 --pue 1.2 "
        "--input real",
    ),
    "plan, for a fleet": (
        {
            "have": "4 x dgx-a100-80gb@ib-hdr-200g",
            "buy": ["4 x dgx-h100", "ib-ndr-400g"],
            "workload": "bert-large",
            "samples": 1e9,
            "deadline": "9d",
            "run_time": "12d",
            "precisions": "bf16",
            "hour_value": 300.0,
            "purchase_prices": {"dgx-h100": 350000.0},
            "adapter_prices": {"ib-ndr-400g": 1500.0},
            "switch_prices": 0.0,
            "conditions": {"pue": 1.2},
        },
        "--have 4xdgx-a100-80gb@ib-hdr-200g --buy 4xdgx-h100 --buy ib-ndr-400g --workload bert-large "
        "--samples 1e9 --deadline 9d --run-time 12d --precision bf16 --hour-value 300 "
        "--purchase-price dgx-h100=350000 --adapter-price ib-ndr-400g=1500 --switch-price 0 --pue 1.2",
    ),
    "plan, for a fleet, of nothing named": ({"have": "2xdgx-1v"}, None),
    "compare": (
        {"scenarios": [{"gpus": 8}, {"gpus": 8, "algorithm": "tree"}], "names": ["base", "algorithm=tree"]},
        "--gpus 8 --set algorithm=tree",
    ),
    "collective": ({"ranks": 8, "size": "100MB", "intra_link": "nvlink3-nvswitch"}, None),
    "collective, a table": (
        {"ranks": 16, "size": [1000, 2000], "node": "dgx-a100-40gb"},
        "--ranks 16 --size 1KB..2KB --node dgx-a100-40gb",
    ),
    "stragglers": (
        {"variant": "k-sync", "k": 8, "distribution": "lognormal", "params": {"cv": 0.1}},
        "--variant k-sync --k 8 --distribution lognormal --param cv=0.1",
    ),
    "learning-rate": ({"global_batch_size": 2048, "staleness": 15}, None),
    "sensitivity": ({"gpus": 16, "conditions": {"price": 24.0}}, "--gpus 16 --price 24"),
    "sensitivity, until": (
        {"gpus": 16, "workload": "vgg16", "vary": "nics", "values": [1, 2], "until": "60%"},
        "--gpus 16 --workload vgg16 --vary nics=1-2 --until 60%",
    ),
    "sensitivity, of links": (
        {"gpus": 32, "workload": "vgg16", "vary": "inter_link", "until": 0.85},
        "--gpus 32 --workload vgg16 --vary inter-link --until 0.85",
    ),
    "explain": ({"gpus": 4, "conditions": {"price": 24.0}}, "--gpus 4 --price 24"),
    "validate": ({"kind": "collectives"}, None),
}


@pytest.fixture(scope="module")
def client() -> Caller:
    return Caller(application())


def printed(command: str, body: dict[str, Any], words: str | None) -> Any:
    """What the command line prints of the same options."""
    if words is None:
        words = " ".join(f"--{key.replace('_', '-')} {value}" for key, value in body.items())
    done = CliRunner().invoke(main, [*command.split("/"), *words.split(), "--json"])
    assert done.exit_code in (0, 1), done.output
    return json.loads(done.stdout)


@pytest.mark.parametrize("case", SAME)
def test_an_answer_is_what_the_command_prints(client, case):
    command = case.partition(",")[0]
    body, words = SAME[case]
    answer = client.post(f"/v1/{command}", json=body)
    assert answer.status_code == 200, answer.content
    assert answer.json() == printed(command, body, words)


def test_a_trace_is_summed_up_as_the_file_is(client, tmp_path):
    file = tmp_path / "trace.json"
    file.write_text(json.dumps(TRACE))
    asked = client.post("/v1/trace/summary", json={"traces": {"trace.json": TRACE}}).json()
    assert asked == printed("trace/summary", {}, str(file))
    as_text = client.post("/v1/trace/summary", json={"traces": {"trace.json": json.dumps(TRACE)}}).json()
    assert as_text == asked


def test_every_command_is_held_to_what_it_prints():
    of_register = {one.path for one in commands() if "http" not in one.without}  # tests/test_register.py
    assert {case.partition(",")[0] for case in SAME} | of_register == COMMANDS.keys()


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_are_answered(client, command):
    for body in COMMANDS[command].examples.values():
        assert client.post(f"/v1/{command}", json=body).status_code == 200


def test_a_quote_travels_as_a_table(client):
    answer = client.post("/v1/check-quote", json={"quote": QUOTE}).json()
    assert answer["claims"][0]["verdict"] == "impossible"
    assert client.post("/v1/check-quote", json={"quote": {"claims": []}}).status_code == 422


def test_hardware_of_ones_own_travels_as_tables(client):
    link = client.post("/v1/specs", json={"name": "ethernet-25g-tcp"}).json()
    link["bandwidth"]["value"] /= 10
    link |= {"id": "mine", "name": "Mine", "aliases": []}
    link.pop("family", None)
    asked = {"gpus": 64, "workload": "vgg16", "fields": ["iteration_time", "scenario"]}
    usual = client.post("/v1/predict", json=asked | {"inter_link": "ethernet-25g-tcp"}).json()
    own = client.post("/v1/predict", json=asked | {"inter_link": "mine", "specs": {"links": {"mine": link}}})
    assert own.status_code == 200, own.content
    assert own.json()["scenario"]["inter_link"] == "mine"
    assert own.json()["iteration_time"] > usual["iteration_time"]
    listed = client.post("/v1/specs", json={"kind": "links", "specs": {"links": {"mine": link}}}).json()
    assert "mine" in [each["id"] for each in listed]
    assert client.post("/v1/predict", json=asked | {"inter_link": "mine"}).status_code == 422


def test_a_trace_may_be_of_hardware_of_ones_own(client):
    own = client.post("/v1/specs", json={"name": "v100-sxm2-16gb"}).json()
    own |= {"id": "mine", "name": "Mine", "accepted": []}
    own.pop("most_common", None)
    body = {"traces": {"trace.json": TRACE}, "accelerators": ["mine"]}
    known = client.post("/v1/trace/summary", json=body | {"specs": {"accelerators": {"mine": own}}})
    assert known.status_code == 200, known.content
    assert client.post("/v1/trace/summary", json=body).status_code == 422


def test_a_network_of_ones_own_travels_as_a_file(client):
    done = CliRunner().invoke(main, ["workloads", "show", "alexnet", "--csv"])
    body = {"workload": "net.csv", "files": {"net.csv": done.stdout}, "gpus": 8}
    answer = client.post("/v1/predict", json=body)
    assert answer.status_code == 200, answer.content
    half = "".join(done.stdout.splitlines(keepends=True)[:10])
    other = client.post("/v1/predict", json=body | {"files": {"net.csv": half}})
    assert other.json()["iteration_time"] < answer.json()["iteration_time"]
    assert client.post("/v1/predict", json={"workload": "net.csv", "gpus": 8}).status_code == 422


class Watch:
    """Files that the process opens while it is watched."""

    def __init__(self) -> None:
        self.on, self.opened = False, set[str]()
        sys.addaudithook(self._note)  # for good: so it only notes while ``on``

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.on and event in ("open", "os.listdir", "os.scandir", "sqlite3.connect"):
            self.opened.add(str(arguments[0]))


@pytest.fixture(scope="module")
def watch() -> Watch:
    return Watch()


def _texts(schema: dict[str, Any]) -> list[str]:
    """Options of a request that take a text, or a list or table of them."""
    return [name for name, option in schema["properties"].items() if "string" in json.dumps(option)]


@pytest.mark.any_version
@pytest.mark.parametrize("command", COMMANDS)
def test_no_option_opens_a_file_of_the_server(client, watch, tmp_path: Path, command):
    contents = {
        "secret.csv": "name,kind,parameters,forward_flops\nfc,dense,1000000,2000000\n",
        "secret.json": json.dumps(TRACE),
        "secret.toml": 'title = "x"\n[[claims]]\nquantity = "speedup"\nvalue = 2\n',
        "secret.txt": "0.1\n0.2\n",
    }
    for name, text in contents.items():
        (tmp_path / name).write_text(text)
    schema = COMMANDS[command].request.model_json_schema()
    base = dict(next(iter(COMMANDS[command].examples.values())))
    asked = 0
    for option in _texts(schema):
        for name in contents:
            path = str(tmp_path / name)
            for value in (path, f"empirical:{path}", [path]):
                watch.on = True
                answer = client.post(f"/v1/{command}", json=base | {option: value})
                watch.on = False
                asked += 1
                assert answer.status_code in (200, 422), (option, value, answer.content)
                assert "secret" not in answer.content.decode() or answer.status_code == 422 or option in FREE
    assert asked or not _texts(schema)
    assert not [path for path in watch.opened if "secret" in path]


FREE = {"names", "traces", "quote", "files"}
"""Options whose own text the answer repeats."""


@pytest.mark.parametrize(
    ("command", "body", "message"),
    [
        ("plan", {"buy": ["4 x dgx-h100"]}, "buy: say what you have"),
        ("plan", {"have": "8 x dgx-1v", "budget": 5.0}, "budget: goes without have"),
        ("plan", {"have": "8 x dgx-1v", "limit": 5}, "limit: goes without have"),
        (
            "plan",
            {"have": "8 x dgx-1v", "precisions": ["amp", "fp32"]},
            "precisions: with have give one",
        ),
        (
            "plan",
            {"have": "8 x dgx-1v", "conditions": {"node_failure_interval": 9e9}},
            "has no effect with have",
        ),
        ("plan", {"have": "8 x dgx-9v"}, "dgx-9v"),
        ("plan", {"have": "8 x dgx-1v", "adapter_prices": {"ib-ndr-400g": -1}}, "adapter_prices"),
        (
            "plan",
            {"have": "8 x dgx-1v", "adapter_prices": {"ib-nrd-400g": 9.0}},
            "adapter_prices ib-nrd-400g",
        ),
        ("plan", {"have": "8 x dgx-1v", "switch_ports": 1.5}, "switch_ports 1.5: expected a whole number"),
        ("sensitivity", {"gpus": 32, "until": 0.9}, "until: say what to vary"),
        ("sensitivity", {"gpus": 32, "vary": "colour"}, "servers"),
        (
            "sensitivity",
            {"gpus": 32, "vary": "nics", "until": 1.5},
            "until = 1.5: expected less than or equal to 1",
        ),
        ("sensitivity", {"gpus": 32, "vary": "nics", "values": [0]}, "not a whole number from 1"),
        ("sensitivity", {"gpus": 32, "vary": "nics", "conditions": {"price": 3.0}}, "have no effect"),
    ],
)
def test_what_goes_with_fleets_and_shares_is_refused_in_the_words_of_a_body(client, command, body, message):
    answer = client.post(f"/v1/{command}", json=body)
    assert answer.status_code == 422
    assert message in answer.content.decode()
    assert "--" not in answer.json()["detail"]
