"""Errors name the field by its path in the body, what stands there and what would be right."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from perfmodel.interfaces.register import NAMES, command
from perfmodel.interfaces.service.application import application
from perfmodel.interfaces.service.commands import COMMANDS, answer
from perfmodel.interfaces.service.problems import Refused
from perfmodel.interfaces.service.refusal import Refusal
from tests.asgi import Caller

pytestmark = pytest.mark.any_version
LLAMA = {"workload": "llama-3-8b", "gpus": 8, "global_batch_size": 64}
HAVE = {"have": "8 x dgx-1v"}
CLAIM = {"quantity": "speedup", "value": 2}
QUOTE = {"title": "x", "scenario": {"gpus": 8}, "claims": [CLAIM]}
TRACE = COMMANDS["trace/summary"].examples["one kernel"]["traces"]
LINKS = "specs.links.mine"
MISTAKES: list[tuple[str, dict[str, Any], str, Any, str]] = [
    # a number or a text that is none
    ("predict", {"gpus": "x"}, "gpus", "x", "expected a whole number"),
    ("predict", {"gpus": 8.0}, "gpus", 8.0, "expected a whole number, in digits alone"),
    ("predict", {"world_size": 0}, "world_size", 0, "greater than or equal to 1"),
    ("predict", {"gpus": [8]}, "gpus", [8], "expected a whole number"),
    ("predict", {"workload": 7}, "workload", 7, "expected text"),
    ("predict", {"sample_bytes": "12 apples"}, "sample_bytes", "12 apples", "100MB"),
    ("predict", {"fields": [7]}, "fields.0", 7, "expected text"),
    ("predict", {"files": {"x.csv": 7}}, "files.x.csv", 7, "expected text or a table"),
    ("predict", {"conditions": 7}, "conditions", 7, "expected a table"),
    ("predict", {"conditions": {"epochs": -1}}, "conditions.epochs", -1, "greater than 0"),
    ("predict", {"specs": 7}, "specs", 7, "expected a table"),
    ("scale", {"gpus": "x"}, "gpus", "x", "expected a whole number"),
    ("scale", {"gpus": [8, "x"]}, "gpus.1", "x", "expected a whole number"),
    ("scale", {"gpus": []}, "gpus", [], "at least one"),
    ("sweep", {"gpus": [8, -1]}, "gpus.1", -1, "greater than or equal to 1"),
    ("sweep", {"columns": 7}, "columns", 7, "expected text"),
    ("layouts", LLAMA | {"top": 0}, "top", 0, "greater than or equal to 1"),
    ("plan", {"deadline": "soon", "epochs": 9}, "deadline", "soon", "48h"),
    ("plan", {"prices": {"dgx-1v": -3.0}, "epochs": 9}, "prices.dgx-1v", -3.0, "greater than 0"),
    ("plan", HAVE | {"adapter_prices": {"dcn": -1}}, "adapter_prices.dcn", -1, "greater than or equal to 0"),
    ("plan", HAVE | {"switch_prices": []}, "switch_prices", [], "expected a number or a table"),
    ("compare", {"scenarios": [{}, 7]}, "scenarios.1", 7, "a mapping of its options"),
    ("compare", {"scenarios": [{}]}, "scenarios", [{}], "at least 2"),
    ("compare", {"scenarios": [{}, {"gpus": -1}]}, "scenarios.1.gpus", -1, "greater than or equal to 1"),
    ("collective", {"ranks": 8, "size": {}}, "size", {}, "expected a number"),
    ("collective", {"ranks": 8, "size": []}, "size", [], "expected at least one"),
    (
        "collective",
        {"ranks": 8, "size": [1, "x"], "node": "dgx-h100"},
        "size.1",
        "x",
        "not an amount of data",
    ),
    ("stragglers", {"communication_time": -1}, "communication_time", -1, "greater than or equal to 0"),
    ("stragglers", {"communication_time": []}, "communication_time", [], "expected a number"),
    ("learning-rate", {"global_batch_size": 8.5}, "global_batch_size", 8.5, "expected a whole number"),
    ("sensitivity", {"vary": "nics", "values": [1.5]}, "values.0", 1.5, "a whole number or text"),
    ("sensitivity", {"vary": "nics", "until": 2}, "until", 2, "expected less than or equal to 1"),
    ("explain", {"conditions": {"pue": 0}}, "conditions.pue", 0, "greater than or equal to 1"),
    ("check-quote", {"quote": 7}, "quote", 7, "expected a table or text"),
    ("check-quote", {"quote": QUOTE | {"title": 7}}, "quote.title", 7, "expected text"),
    (
        "check-quote",
        {"quote": QUOTE | {"claims": [CLAIM, {"quantity": "speedup", "value": "a"}]}},
        "quote.claims.1.value",
        "a",
        "50%",
    ),
    (
        "check-quote",
        {"quote": QUOTE | {"scenario": {"gpus": -1}}},
        "quote.scenario.gpus",
        -1,
        "greater than or equal to 1",
    ),
    ("trace/summary", {"traces": {"t.json": 7}}, "traces.t.json", 7, "neither a Chrome trace"),
    ("validate", {"out_of_sample": 1}, "out_of_sample", 1, "expected true or false"),
    ("specs", {"name": 7}, "name", 7, "expected text"),
    ("workloads", {"word": 7}, "word", 7, "expected text"),
    # a key that is missing
    ("predict", {"specs": {"links": {"mine": {}}}}, f"{LINKS}.name", None, "the key is missing"),
    ("layouts", {"workload": "llama-3-8b", "gpus": 8}, "global_batch_size", None, "the key is missing"),
    ("compare", {}, "scenarios", None, "the key is missing"),
    ("collective", {"ranks": 8, "size": 1}, "accelerator", None, "give accelerator, node, or intra_link"),
    ("check-quote", {"quote": {"title": "x"}}, "quote.claims", None, "the key is missing"),
    (
        "check-quote",
        {"quote": QUOTE | {"claims": [{"value": 1}]}},
        "quote.claims.0.quantity",
        None,
        "missing",
    ),
    ("trace/summary", {}, "traces", None, "the key is missing"),
    # a key that there is not
    ("predict", {"gpu": 8}, "gpu", 8, "nearest: gpus"),
    ("predict", {"conditions": {"prise": 3}}, "conditions.prise", 3, "nearest: price"),
    ("predict", {"specs": {"linkz": {}}}, "specs.linkz", {}, "nearest: links"),
    ("sweep", {"gpu": [8]}, "gpu", [8], "nearest: gpus"),
    ("plan", {"epoch": 3}, "epoch", 3, "nearest: epochs"),
    ("compare", {"scenarios": [{}, {"gpu": 1}]}, "scenarios.1.gpu", 1, "nearest: gpus"),
    (
        "check-quote",
        {"quote": QUOTE | {"scenario": {"gpu": 1}}},
        "quote.scenario.gpu",
        1,
        "nearest: gpus",
    ),
    ("stragglers", {"params": {"mu": 1}}, "params.mu", 1, "it has shift, rate"),
    # a name that nobody knows
    ("predict", {"fields": ["interval", "time"]}, "fields.1", "time", "unknown field"),
    ("predict", {"jitter": "lognormal:cv=x"}, "jitter", "lognormal:cv=x", "finite number"),
    ("predict", {"conditions": {"region": "atlantis"}}, "conditions.region", "atlantis", "no known price"),
    ("predict", {"profile": "p.json"}, "profile", "p.json", "files of the server are not read"),
    ("predict", {"workload": "x.csv", "files": {"x.csv": "a"}}, "files.x.csv", "a", "unknown column"),
    ("sweep", {"workload": ["vgg16", "vgg1"]}, "workload.1", "vgg1", "nearest"),
    ("sweep", {"columns": ["gpus", "nothing"]}, "columns.1", "nothing", "unknown column"),
    ("sweep", {"precision": ["fp16", "fp7"]}, "precision.1", "fp7", "expected 'fp32'"),
    ("layouts", LLAMA | {"workload": "resnet50"}, "workload", "resnet50", "is no transformer"),
    ("plan", {"accelerators": ["k80", "v10"], "epochs": 9}, "accelerators.1", "v10", "nearest"),
    ("plan", {"precisions": ["fp7"], "epochs": 9}, "precisions.0", "fp7", "expected 'fp32'"),
    ("plan", {"prices": {"dgx-9": 3.0}, "epochs": 9}, "prices.dgx-9", 3.0, "nearest"),
    ("plan", HAVE | {"purchase_prices": {"x": 1.0}}, "purchase_prices.x", 1.0, "unknown node"),
    ("plan", HAVE | {"buy": ["4 x dgx-h100", "x"]}, "buy.1", "x", "unknown link"),
    ("compare", {"scenarios": [{}, {"node": "x"}]}, "scenarios.1.node", "x", "unknown node"),
    ("stragglers", {"distribution": "norm"}, "distribution", "norm", "nearest: normal"),
    ("sensitivity", {"vary": "x"}, "vary", "x", "expected 'servers'"),
    (
        "check-quote",
        {"quote": QUOTE | {"scenario": {"workload": "x"}}},
        "quote.scenario.workload",
        "x",
        "unknown workload",
    ),
    ("trace/summary", {"traces": TRACE, "accelerators": ["x"]}, "accelerators.0", "x", "nearest"),
    ("specs", {"name": "x"}, "name", "x", "unknown spec"),
    ("workloads", {"name": "x"}, "name", "x", "unknown workload"),
    # options that do not go together
    ("predict", {"gpus": 3, "global_batch_size": 64}, "global_batch_size", 64, "63 or 66"),
    ("predict", {"gpus": 8, "world_size": 9}, "gpus", 8, "give one"),
    ("predict", {"sequence_length": 128}, "sequence_length", 128, "takes no sequences"),
    (
        "predict",
        {"conditions": {"node_failure_interval": "6000h"}},
        "conditions.node_failure_interval",
        "6000h",
        "needs checkpoint_time",
    ),
    ("predict", {"servers": 2}, "servers", 2, "goes with strategy"),
    ("plan", {"epochs": 90, "samples": 1e9}, "epochs", 90, "give one"),
    ("plan", {"buy": ["4 x dgx-h100"]}, "buy", ["4 x dgx-h100"], "say what you have"),
    (
        "plan",
        HAVE | {"conditions": {"node_failure_interval": 9e9}},
        "conditions.node_failure_interval",
        9e9,
        "has no effect with have",
    ),
    ("plan", HAVE | {"precisions": ["amp", "fp32"]}, "precisions", ["amp", "fp32"], "give one, not 2"),
    ("compare", {"scenarios": [{}, {}], "names": ["a"]}, "names", ["a"], "give one for each"),
    (
        "compare",
        {"scenarios": [{}, {"gpus": 3, "global_batch_size": 64}]},
        "scenarios.1.global_batch_size",
        64,
        "63 or 66",
    ),
    ("learning-rate", {"global_batch_size": 8, "squared_distance": 1}, "squared_distance", 1, "together"),
    ("sensitivity", {"until": 0.5}, "until", 0.5, "say what to vary"),
    ("validate", {"kind": "collectives", "mode": "anchored"}, "mode", "anchored", "is of training"),
    ("workloads", {"sequence_length": 3}, "sequence_length", 3, "goes with name"),
    ("workloads", {"recipes": True, "name": "resnet50"}, "name", "resnet50", "goes without recipes"),
    ("workloads", {"recipes": True, "word": "vgg16"}, "word", "vgg16", "published"),
    # batches, as a whole
    ("predict", {"scenarios": {}}, "scenarios", {}, "expected a list"),
    ("predict", {"columns": {"gpus": 8}}, "columns", {"gpus": 8}, "table of lists"),
    ("predict", {"scenarios": [{}], "gpus": 8}, "gpus", 8, "expected scenarios"),
    ("predict", {"scenarios": [{}], "fields": ["tim"]}, "fields.0", "tim", "unknown field"),
]


@pytest.fixture(scope="module")
def client() -> Caller:
    return Caller(application())


@pytest.mark.parametrize(("command", "body", "field", "value", "words"), MISTAKES)
def test_each_mistake_has_its_place(client, command, body, field, value, words):
    answer = client.post(f"/v1/{command}", json=body)
    assert answer.status_code == 422, answer.content
    first = answer.json()["errors"][0]
    assert (first["field"], first["value"]) == (field, value)
    assert words in first["message"]
    assert first["code"] != "unsorted"


def test_a_refusal_has_a_code_and_every_field_that_it_is_about(client):
    body = {"gpus": 8, "conditions": {"price": 3.0, "purchase_price": 9e4}}
    (first,) = client.post("/v1/explain", json=body).json()["errors"]
    assert first["code"] == "price.exclusive"
    assert first["fields"] == ["$.conditions.price", "$.conditions.purchase_price"]
    (first,) = client.post("/v1/predict", json={"gpus": 8, "node": "dgx"}).json()["errors"]
    assert (first["code"], first["fields"]) == ("name.unknown", ["$.node"])


def test_every_command_is_among_them():
    assert {command for command, *_ in MISTAKES} >= COMMANDS.keys() - {command(name).path for name in NAMES}


@pytest.mark.parametrize("index", range(len(MISTAKES)))
def test_no_name_of_a_type_of_ours_is_a_place(client, index):
    command, body, *_ = MISTAKES[index]
    problem = client.post(f"/v1/{command}", json=body).json()
    words = json.dumps([problem["detail"], [each["field"] for each in problem["errors"]]])
    assert not re.search(r"\b(union|dict|list|tuple)\[|function-|constrained-|\bNone\b", words)


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (
            {
                "scenarios": [
                    {"gpus": 8},
                    {"gpus": -1},
                    7,
                    {"conditions": {"pue": 0}},
                    {"node": "x", "gpus": 2},
                ]
            },
            [None, "scenarios.1.gpus", "scenarios.2", "scenarios.3.conditions.pue", "scenarios.4.node"],
        ),
        (
            {"columns": {"gpus": [8, 16, -1, None], "node": [None, "x", None, None]}},
            [None, "columns.node.1", "columns.gpus.2", None],
        ),
    ],
)
def test_a_bad_row_is_named_by_its_place_in_the_batch(client, body, fields):
    rows = client.post("/v1/predict", json=body).json()["results"]
    assert [row["error"]["errors"][0]["field"] if "error" in row else None for row in rows] == fields


def test_a_value_that_no_json_holds_is_sent_back_as_a_text(client):
    nics = '[{"a": 43075112189355293147136, "b": 1e999}]'
    for body in (f'{{"nics": {nics}}}', f'{{"columns": {{"nics": [{nics}]}}}}'):
        answer = client.post("/v1/predict", content=body.encode())
        assert answer.status_code in (200, 422), answer.content
        assert b'"4.30751e+22"' in answer.content
        assert b'"Infinity"' in answer.content
        assert b": Infinity" not in answer.content


@pytest.mark.parametrize("status", [408, 413, 422, 429, 503])
def test_what_a_limit_refuses_is_worded_as_what_a_command_refuses(status):
    async def refuse(name: str, body: bytes) -> bytes:
        raise Refusal(status, "so much and no more")

    answer = Caller(application(run=refuse)).post("/v1/plan", json={})
    assert json.loads(Refusal(status, "so much and no more").body()) == answer.json()


@pytest.mark.parametrize("value", ["yes", "true", "on", 1, 0, 1.0])
def test_a_truth_value_is_true_or_false(value):
    for place in ({"pinned_memory": value}, {"network_cap": value}, {"sequence_parallel": value}):
        with pytest.raises(Refused) as refusal:
            answer("predict", json.dumps(place).encode())
        assert "expected true or false" in str(refusal.value)
