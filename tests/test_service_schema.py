"""What the document says of answers is what is answered, with words and units for every field."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from click.testing import CliRunner

from perfmodel.interfaces.cli import main
from perfmodel.interfaces.service.application import application
from perfmodel.interfaces.service.commands import COMMANDS
from perfmodel.interfaces.service.responses import STATUSES
from perfmodel.interfaces.service.schema import openapi, schema_of
from tests.asgi import Caller
from tests.example_answers import bodies, differences, example_of
from tests.test_service_commands import QUOTE, SAME

jsonschema: Any = pytest.importorskip("jsonschema")
pytestmark = pytest.mark.any_version
DOCUMENT = openapi()
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]
NCCL_TESTS = """# nThread 1 nGpus 1 minBytes 8 maxBytes 128 step: 2(factor)
#  Rank  0 Group  0 Pid      1 on       host device  0 [0x00] NVIDIA A100
#  Rank  1 Group  0 Pid      2 on       host device  1 [0x00] NVIDIA A100
#       size    count   type  redop  root   time  algbw  busbw #wrong   time  algbw  busbw #wrong
#        (B)  (elements)                    (us) (GB/s) (GB/s)          (us) (GB/s) (GB/s)
     1048576  262144  float    sum    -1  100.0  10.49  10.49      0  100.0  10.49  10.49      0
"""


def _kernel(name: str, start: float, duration: float, **more: Any) -> dict[str, Any]:
    place = {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "ts": start, "dur": duration}
    return {**place, "name": name, "args": {"device": 0, "stream": 7, **more}}


def _trace(rank: int, late: float) -> dict[str, Any]:
    """Two marked steps of one rank, each with a product, an all-reduce and a marked range."""
    events: list[dict[str, Any]] = []
    host = {"ph": "X", "pid": 1, "tid": 1}
    for step in range(2):
        start = 10_000.0 * step
        events += [
            host | {"cat": "user_annotation", "name": f"ProfilerStep#{step}", "ts": start, "dur": 9000.0},
            host | {"cat": "user_annotation", "name": "forward", "ts": start + 10, "dur": 3000.0},
            host | {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": start + 20, "dur": 5.0},
            _kernel("ampere_sgemm_128x64", start + 100, 3000 + late, **{"est. achieved occupancy %": 40}),
            _kernel(
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)",
                start + 4000 + late,
                2000 - late,
                **{
                    "Collective name": "allreduce",
                    "In msg nelems": 1000000,
                    "dtype": "Float",
                    "Group size": 2,
                },
            ),
        ]
    info = {"backend": "nccl", "rank": rank, "world_size": 2}
    return {"traceEvents": events, "distributedInfo": info, "deviceProperties": [{"id": 0, "name": "A100"}]}


MORE: list[tuple[str, dict[str, Any]]] = [
    ("predict", {"strategy": "async", "gpus": 16}),
    ("predict", {"workload": "dlrm", "gpus": 8, "embedding": "sharded"}),
    ("predict", {"columns": {"gpus": [8, 16], "workload": ["vgg16", "nothing"]}}),
    ("plan", {"epochs": 9, "deadline": "24h", "max_gpus": 8, "limit": 5}),
    (
        "plan",
        {"workload": "llama-3-8b", "tokens": 1e10, "deadline": "30d", "accelerators": ["h100-sxm5-80gb"]},
    ),
    ("plan", {"epochs": 9, "budget": 100.0, "nodes": ["dgx-1v", "dgx-2"], "max_gpus": 16}),
    (
        "layouts",
        {"workload": "llama-3-8b", "gpus": 1, "node": "dgx-h100", "global_batch_size": 64} | {"gpus": 8},
    ),
    ("check-quote", {"quote": QUOTE}),
    ("check-quote", {"quote": "six-impossible-claims"}),
    ("check-quote", {"quote": "six-true-claims"}),
    ("check-quote", {"quote": "nccl-8gb-all-reduce"}),
    ("stragglers", {}),
    ("learning-rate", {"global_batch_size": 2048, "distance_constant": 1.0, "squared_distance": 0.5}),
    ("learning-rate", {"global_batch_size": 2048, "noise_scale": 1000.0, "squared_gradient_sum": 3.0}),
    ("sensitivity", {"workload": "llama-3-8b", "gpus": 64, "tensor_parallel": 4}),
    ("explain", {"workload": "llama-3-8b", "gpus": 64, "tensor_parallel": 4}),
    ("validate", {"kind": "claims"}),
    ("specs", {}),
    ("specs", {"kind": "nodes"}),
    ("specs", {"name": "h100-sxm5-80gb"}),
    ("workloads", {}),
    (
        "trace/summary",
        {"traces": {"r0.json": _trace(0, 0), "r1.json": _trace(1, 500)}, "workload": "resnet50"},
    ),
    ("trace/summary", {"traces": {"all_reduce.txt": NCCL_TESTS}}),
]
EXAMPLES = [(name, words, body) for name in COMMANDS for words, body in bodies(name).items()]
BODIES = [
    *((case.partition(",")[0], body) for case, (body, _) in SAME.items()),
    *MORE,
]


@pytest.fixture(scope="module")
def client() -> Caller:
    return Caller(application())


@cache
def _strict(command: str) -> Any:
    """The answer's schema, where no object has a key that is not described."""
    schema = copy.deepcopy(schema_of(command))
    whole = {"$ref": "#/answer", "answer": schema["answer"], "components": schema["components"]}
    for one in _objects(whole):
        if "properties" in one:
            one.setdefault("additionalProperties", False)
    return jsonschema.Draft202012Validator(whole)


def _objects(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if schema.get("type") == "object" or schema.get("type") == ["object", "null"]:
            yield schema
        for inner in schema.values():
            yield from _objects(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _objects(inner)


@pytest.mark.parametrize("index", range(len(BODIES)), ids=lambda index: f"{index}-{BODIES[index][0]}")
def test_every_answer_is_as_documented_and_nothing_more(client, index):
    command, body = BODIES[index]
    answer = client.post(f"/v1/{command}", json=body)
    assert answer.status_code == 200, answer.content
    _strict(command).validate(answer.json())


@pytest.mark.parametrize(("name", "words", "body"), EXAMPLES, ids=lambda each: str(each)[:20])
def test_an_example_of_an_answer_is_what_is_answered(client, name, words, body):
    shown = answers_of(name)[words]
    _strict(name).validate(shown["value"])
    answer = client.post(f"/v1/{name}", json=body)
    _strict(name).validate(answer.json())
    assert not differences(shown, example_of(answer.content)), "run `make readme`"


def test_each_example_of_a_request_has_one_of_its_answer():
    for name in COMMANDS:
        assert answers_of(name).keys() == bodies(name).keys() == schema_of(name)["examples"].keys()


def answers_of(name):
    return DOCUMENT["paths"][f"/v1/{name}"]["post"]["responses"]["200"]["content"]["application/json"][
        "examples"
    ]


def test_other_answers_than_shown_are_noticed():
    one = {"time": 1.0, "rows": [{"name": "a"}]}
    assert differences(one, {"time": 1.0 + 1e-9, "rows": [{"name": "a"}]}) == []
    assert differences(one, {"time": 1.1, "rows": [{"name": "b"}]}) == [
        ".time: 1.0 and 1.1",
        ".rows.0.name: 'a' and 'b'",
    ]
    assert differences(one, {"time": 1.0, "rows": []}) == [".rows: [{'name': 'a'}] and []"]


def test_what_is_not_documented_is_noticed(client):
    answer = client.post("/v1/predict", json={"gpus": 8}).json()
    assert _strict("predict").is_valid(answer)
    assert not _strict("predict").is_valid(answer | {"iteration_tme": 1})
    assert not _strict("predict").is_valid({"results": [{"gpus": 8}]})
    traced = client.post("/v1/trace/summary", json={"traces": {"r0.json": _trace(0, 0)}}).json()
    assert traced["devices"][0]["steps"] == 2
    assert not _strict("trace/summary").is_valid(traced | {"devices": [{}]})
    assert not _strict("trace/summary").is_valid({key: traced[key] for key in traced if key != "ranks"})


def test_every_command_is_held_to_its_schema():
    assert {command for command, _ in BODIES} | {command for command, _, _ in EXAMPLES} == COMMANDS.keys()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_schema_of_a_command_is_that_of_the_document(name):
    printed = json.loads(CliRunner().invoke(main, ["schema", name]).stdout)
    operation = DOCUMENT["paths"][f"/v1/{name}"]["post"]
    taken, answered = operation["requestBody"]["content"]["application/json"], operation["responses"]["200"]
    assert printed["request"] == taken["schema"]
    assert printed["content"] == answered["content"]
    assert printed["answer"] == answered["content"]["application/json"]["schema"]
    assert {words: {"value": body} for words, body in printed["examples"].items()} == taken["examples"]
    assert printed["statuses"].keys() == operation["responses"].keys() - {"200"}
    for key, schema in printed["components"]["schemas"].items():
        assert schema == SCHEMAS[key], key
    assert {"Problem"} <= printed["components"]["schemas"].keys()
    references = {each.partition('"')[0] for each in json.dumps(printed).split("#/components/schemas/")[1:]}
    assert references <= printed["components"]["schemas"].keys()


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_field_has_words_and_numbers_units(name):
    for one in _objects(SCHEMAS[name]):
        for key, field in one.get("properties", {}).items():
            assert len(field.get("description", "")) > 2, f"{name}.{key}"


def test_quantities_have_units():
    for name, unit in {
        "PredictAnswer.iteration_time": "s",
        "Collective.bus_bandwidth": "B/s",
        "LayoutsAnswer.capacity": "B",
        "Plan.run_time_high_80": "s",
        "DeviceCollective.total_time": "s",
        "FleetOption.samples_per_second": "samples/s",
        "MachinePrice.carbon_intensity": "g CO2/kWh",
    }.items():
        schema, _, field = name.partition(".")
        assert SCHEMAS[schema]["properties"][field]["unit"] == unit, name
    assert "unit" not in SCHEMAS["ScaleAnswer"]["properties"]["rows"]


@pytest.mark.parametrize("path", [path for path, item in DOCUMENT["paths"].items() if "post" in item])
def test_every_status_of_an_operation_has_words_and_an_example(path):
    operation = DOCUMENT["paths"][path]["post"]
    problems = {status: each for status, each in operation["responses"].items() if status != "200"}
    assert {*map(int, problems)} == STATUSES.keys()
    validator = jsonschema.Draft202012Validator(SCHEMAS["Problem"])
    for status, response in problems.items():
        (content,) = response["content"].values()
        validator.validate(content["example"])
        assert content["example"]["status"] == int(status)
        assert response["description"]
        assert ("Retry-After" in response.get("headers", {})) == (status in ("429", "503"))
    assert operation["summary"]
    assert operation["description"]
    assert operation["requestBody"]["content"]["application/json"]["examples"]


def test_a_problem_is_as_documented(client):
    validator = jsonschema.Draft202012Validator(SCHEMAS["Problem"])
    for body in (b"{", b"[]", b'{"gpus": "eight"}', b'{"gpu": 8}', b'{"scenarios": 7}'):
        problem = client.post("/v1/predict", content=body).json()
        validator.validate(problem)
        assert problem["status"] == 400 or problem["errors"]
    example = DOCUMENT["paths"]["/v1/predict"]["post"]["responses"]["422"]["content"]
    answered = client.post("/v1/predict", json={"gpus": "eight"}).json()
    assert example["application/problem+json"]["example"] == answered


def test_a_bad_row_is_among_what_a_batch_answers():
    items = SCHEMAS["PredictResults"]["properties"]["results"]["items"]["anyOf"]
    names = [each["$ref"].rpartition("/")[2] for each in items]
    assert names == ["PredictAnswer", "RowError", "PredictFields"]
