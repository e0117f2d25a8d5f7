"""Every command answers over HTTP what it prints, and refuses in words what it cannot answer."""

from __future__ import annotations

import asyncio
import json
import sys
import time

import pytest
from click.testing import CliRunner
from starlette.types import Message

import perfmodel
from perfmodel.decide.sweeps import manifest
from perfmodel.interfaces.cli import main
from perfmodel.interfaces.service import tags
from perfmodel.interfaces.service.application import application
from perfmodel.interfaces.service.commands import COMMANDS
from perfmodel.interfaces.service.outcomes import Failed
from perfmodel.interfaces.service.problems import MEDIA_TYPE
from perfmodel.interfaces.service.protect import Protected
from perfmodel.interfaces.service.refusal import Refusal
from perfmodel.interfaces.service.settings import Settings
from tests.asgi import Caller
from tests.serving import sample


@pytest.fixture(scope="module")
def client():
    return Caller(application())


def test_a_prediction_is_what_json_prints(client):
    answer = client.post("/v1/predict", json={"workload": "vgg16", "gpus": 8})
    assert answer.status_code == 200
    assert answer.json() == json.loads(perfmodel.predict(workload="vgg16", gpus=8).to_json())


def test_fields_leave_the_rest_out(client):
    answer = client.post("/v1/predict", json={"gpus": 8, "fields": ["iteration_time"]}).json()
    assert answer == {"iteration_time": perfmodel.predict(gpus=8).iteration_time}


def test_a_number_is_said_as_it_was_given_where_it_is_long_only_its_beginning(client):
    body = b'{"gpus": 0.' + b"9" * 100_000 + b"}"
    answer = client.post("/v1/predict", content=body)
    assert (answer.status_code, "is a number of 100,002 letters" in answer.json()["detail"]) == (400, True)
    whole = client.post("/v1/predict", content=b'{"gpus": 0.%b}' % (b"9" * 30)).json()
    assert whole["detail"] == "gpus = 1.0: expected a whole number, in digits alone"


@pytest.mark.parametrize(("method", "path", "status"), [("POST", "nobody", 404), ("PUT", "predict", 405)])
def test_who_asks_whether_to_send_a_body_that_no_route_takes_is_refused_at_once(method, path, status):
    """It would be taken for the next request of the connection, which is therefore closed."""
    app = Protected(application(), Settings(access_log=False))
    sent: list[Message] = []

    async def receive() -> Message:
        raise AssertionError("the body was asked for")

    async def send(message: Message) -> None:
        sent.append(message)

    headers = {"host": "localhost", "expect": "100-continue", "content-length": "2"}
    scope = {
        "type": "http",
        "method": method,
        "path": f"/v1/{path}",
        "root_path": "",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()]
        + [(b"content-type", b"application/json")],
        "state": {},
    }
    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == status
    assert (b"connection", b"close") in sent[0]["headers"]


@pytest.mark.parametrize(
    ("body", "field", "words"),
    [
        ({"gpus": "x"}, "gpus", "whole number"),
        ({"gpu": 8}, "gpu", "nearest: gpus"),
        ({"workload": "resnet5"}, "workload", "nearest"),
        ({"conditions": {"epochs": -1}}, "conditions.epochs", "greater than 0"),
        (
            {"specs": {"links": {"mine": {}}}},
            "specs.links.mine.name",
            "specs.links.mine: name: the key is missing",
        ),
        ({"fields": ["time"]}, "fields.0", "unknown field"),
        ({"gpus": 10**30}, "gpus", "less than or equal"),
    ],
)
def test_a_mistake_is_named_with_what_would_be_right(client, body, field, words):
    answer = client.post("/v1/predict", json=body)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == MEDIA_TYPE
    problem = answer.json()
    assert words in problem["detail"]
    assert problem["errors"][0]["field"] == field


@pytest.mark.parametrize(
    ("body", "status"), [(b"{", 400), (b'{"gpus": NaN}', 400), (b"[]", 422), (b"7", 422), (b"\xff", 400)]
)
def test_a_body_that_is_no_object_is_refused(client, body, status):
    answer = client.post("/v1/predict", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == status
    assert answer.json()["status"] == status


def test_other_types_methods_and_places_are_refused(client):
    assert (
        client.post("/v1/predict", content=b"gpus=8", headers={"content-type": "text/plain"}).status_code
        == 415
    )
    assert client.get("/v1/predict").status_code == 405
    missing = client.get("/v1/nothing")
    assert missing.status_code == 404
    assert "predict" in missing.json()["detail"]


def test_an_answer_that_its_client_has_is_not_sent_again(client):
    """RFC 9110, section 13.1.2: 304 to GET and HEAD, 412 to all other methods."""
    first = client.post("/v1/predict", json={"gpus": 8})
    tag = first.headers["etag"]
    again = client.post("/v1/predict", json={"gpus": 8}, headers={"if-none-match": tag})
    assert (again.status_code, again.json()["status"], again.headers["etag"]) == (412, 412, tag)
    assert client.post("/v1/predict", json={"gpus": 9}).headers["etag"] != tag
    for header, status in ((f'"a", W/{tag}', 412), (f'"a{tag[1:]}', 200), (f"x{tag}y", 200), ("*", 200)):
        asked = client.post("/v1/predict", json={"gpus": 8}, headers={"if-none-match": header})
        assert asked.status_code == status, header
    assert client.get("/openapi.json", headers={"if-none-match": "*"}).status_code == 304
    lines = client.post("/v1/sweep", json={"gpus": [8]}, headers={"accept": "application/x-ndjson"})
    assert "etag" not in lines.headers


@pytest.mark.parametrize("folder", ["hardware_specs", "validation"])
def test_a_tag_depends_on_the_data_that_answers_rest_on(monkeypatch, tmp_path, folder):
    tag = tags.entity_tag("predict", b"{}")
    assert tags.entity_tag("predict", b"{}") == tag
    changed = tmp_path / folder
    changed.mkdir()
    (changed / "a.toml").write_text("price = 1\n")
    whole = manifest.data_folder
    monkeypatch.setattr(manifest, "data_folder", lambda name: changed if name == folder else whole(name))
    tags.package_digest.cache_clear()
    try:
        assert tags.entity_tag("predict", b"{}") != tag
    finally:
        tags.package_digest.cache_clear()


def test_a_package_that_the_service_lacks_is_no_mistake_of_the_request(client, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # as if it were not installed
    accept = {"accept": "application/vnd.apache.arrow.stream"}
    problem = client.post("/v1/sweep", json={"gpus": [8]}, headers=accept)
    assert (problem.status_code, problem.json()["status"]) == (501, 501)
    assert problem.json()["detail"] == "not installed where this service runs: an Arrow stream needs pyarrow"
    assert "errors" not in problem.json()


def test_what_nobody_foresaw_is_answered_and_logged_once(monkeypatch):
    events: list[dict[str, object]] = []

    async def fails(name: str, body: bytes) -> bytes:
        raise ZeroDivisionError("inside") if "here" in str(body) else Failed("logged elsewhere")

    monkeypatch.setattr(
        "perfmodel.interfaces.service.application.event",
        lambda name, *_, **more: events.append({"event": name, **more}),
    )
    client = Caller(application(run=fails))
    for body in ({"gpus": [8], "workload": "here"}, {"gpus": [8]}):
        answer = client.post("/v1/scale", json=body)
        assert (answer.status_code, answer.headers["content-type"]) == (500, "application/problem+json")
        assert b"inside" not in answer.content
    (logged,) = events
    assert "ZeroDivisionError" in str(logged["traceback"])


def test_a_request_without_a_token_counts_under_its_route(tmp_path):
    file = tmp_path / "tokens"
    file.write_text("x" * 32)
    file.chmod(0o600)
    app = Protected(application(), Settings(token_file=str(file), access_log=False))
    for path in ("/v1/predict", "/v1/nothing"):
        assert Caller(app).post(path, json={"gpus": 8}, headers={"host": "localhost"}).status_code == 401
    for route in ("/v1/predict", "other"):
        assert sample(app.metrics, "perfmodel_requests_total", route=route, status="401") == 1


def test_a_plan_takes_no_offset_without_limit(client):
    answer = client.post("/v1/plan", json={"epochs": 1, "deadline": "24h", "offset": 5})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "offset"
    assert "goes with limit" in answer.json()["detail"]


def test_a_batch_answers_each_row_and_a_bad_one_by_its_error(client):
    fields = ["iteration_time"]
    body = {"scenarios": [{"gpus": 8}, {"gpus": -1}, 7, {"gpus": 16}], "fields": fields}
    first, bad, none, last = client.post("/v1/predict", json=body).json()["results"]
    assert first == {"iteration_time": perfmodel.predict(gpus=8).iteration_time}
    assert last == {"iteration_time": perfmodel.predict(gpus=16).iteration_time}
    assert (bad["error"]["status"], bad["error"]["errors"][0]["field"]) == (422, "scenarios.1.gpus")
    assert none["error"]["status"] == 422
    columns = {"columns": {"gpus": [8, 16], "workload": [None, None]}, "fields": fields}
    assert client.post("/v1/predict", json=columns).json() == {"results": [first, last]}


@pytest.mark.parametrize(
    "body",
    [
        {"scenarios": []},
        {"scenarios": {}},
        {"scenarios": [{}] * 10_001},
        {"columns": {"gpus": [1, 2], "workload": ["vgg16"]}},
        {"columns": []},
        {"columns": {"gpus": [1]}, "scenarios": [{}]},
        {"scenarios": [{}], "gpus": 8},
    ],
)
def test_a_batch_that_is_none_is_refused(client, body):
    answer = client.post("/v1/predict", json=body)
    assert answer.status_code == 422
    assert answer.json()["errors"]


def test_a_sweep_leaves_as_lines_or_as_arrow(client):
    pyarrow = pytest.importorskip("pyarrow")
    body = {"gpus": [1, 2, 4, 8], "local_batch_size": [32, 64], "columns": ["gpus", "iteration_time", "node"]}
    rows = client.post("/v1/sweep", json=body).json()["rows"]
    lines = client.post("/v1/sweep", json=body, headers={"accept": "application/x-ndjson"})
    assert lines.headers["content-type"].startswith("application/x-ndjson")
    *sent, last = map(json.loads, lines.content.splitlines())
    assert sent == rows
    assert last == {"end": {"rows": 8, "scenarios": 8, "refused": {}, "notes": []}}
    stream = client.post("/v1/sweep", json=body, headers={"accept": "application/vnd.apache.arrow.stream"})
    assert pyarrow.ipc.open_stream(stream.content).read_all().to_pylist() == rows
    bad = client.post("/v1/sweep", json={"gpus": []}, headers={"accept": "application/x-ndjson"})
    assert bad.status_code == 422


def test_a_sweep_of_too_many_is_refused(client):
    body = {"gpus": list(range(1, 1001)), "local_batch_size": list(range(1, 1001))}
    assert "at most" in client.post("/v1/sweep", json=body).json()["detail"]


def test_the_service_describes_itself_without_anybody_elses_files(client):
    document = client.get("/openapi.json").json()
    assert document == json.loads(CliRunner().invoke(main, ["schema"]).stdout)
    page = client.get("/docs").content.decode()
    for name in COMMANDS:
        assert f"/v1/{name}" in document["paths"]
        assert f"POST /v1/{name}" in page
    for name in document["components"]["schemas"]:
        assert f'id="type-{name}"' in page
    places = {each.partition('"')[0] for each in page.split('href="#')[1:]}
    assert places <= {each.partition('"')[0] for each in page.split('id="')[1:]}
    assert "<script" not in page
    assert not any(word in page for word in ("src=", 'href="http', "url(", "@import"))


def test_one_schema_holds_words_units_and_examples():
    schema = json.loads(CliRunner().invoke(main, ["schema", "predict"]).stdout)
    request = schema["components"]["schemas"]["PredictRequest"]["properties"]
    assert request["sample_bytes"]["unit"] == "B"
    assert all(option.get("description") for option in request.values())
    answer = schema["components"]["schemas"]["PredictAnswer"]["properties"]
    assert answer["iteration_time"]["unit"] == "s"
    assert schema["examples"]
    unknown = CliRunner().invoke(main, ["schema", "predic"], standalone_mode=True)
    assert unknown.exit_code == 2


@pytest.mark.parametrize(
    ("command", "field"),
    [("compare", "scenarios"), ("layouts", "workload"), ("learning-rate", "global_batch_size")],
)
def test_what_is_missing_is_named(client, command, field):
    answer = client.post(f"/v1/{command}", json={})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == field


def test_a_row_of_a_batch_may_hold_any_number(client):
    answer = client.post("/v1/predict", json={"scenarios": [{"gpus": 10**400}, {"gpus": 10**30}]})
    assert [row["error"]["status"] for row in answer.json()["results"]] == [422, 422]


@pytest.mark.parametrize(
    ("command", "options", "answer"),
    [
        ("plan", {"have", "buy", "hour_value", "adapter_prices", "switch_prices", "switch_ports"}, "Fleets"),
        ("sensitivity", {"vary", "until", "values"}, "Enough"),
    ],
)
def test_fleets_and_how_much_is_enough_stand_in_the_schema(command, options, answer):
    schema = json.loads(CliRunner().invoke(main, ["schema", command]).stdout)
    name = schema["request"]["$ref"].rpartition("/")[2]
    request = schema["components"]["schemas"][name]["properties"]
    assert all(request[option]["description"] for option in options)
    assert answer in json.dumps(schema["answer"])
    assert schema["components"]["schemas"][answer]["properties"]["words"]


LONG = "q1 " * 90_000 + "q" * 30_000


@pytest.mark.parametrize(
    ("command", "body"),
    [
        ("predict", {"workload": LONG}),
        ("predict", {"node": LONG}),
        ("predict", {"precision": LONG}),
        ("predict", {"jitter": LONG}),
        ("predict", {LONG: 1}),
        ("specs", {"name": LONG}),
        ("specs", {"kind": LONG}),
        ("workloads", {"name": LONG}),
        ("check-quote", {"quote": LONG}),
    ],
)
def test_a_long_name_is_not_sent_back_nor_looked_at_whole(client, command, body):
    start = time.process_time()
    answer = client.post(f"/v1/{command}", json=body)
    assert time.process_time() - start < 3
    assert (answer.status_code, len(answer.content) < 3000) == (422, True)
    assert len(answer.json()["errors"][0]["field"] or "") <= 103


def test_a_key_that_stands_twice_is_refused(client):
    answer = client.post("/v1/predict", content=b'{"gpus": 8, "gpus": 16}')
    assert (answer.status_code, "'gpus' stands twice" in answer.json()["detail"]) == (400, True)


def test_a_path_is_one_path(client):
    assert client.post("/v1/predict/", json={"gpus": 8}).status_code == 404


def test_out_of_sample_is_said_or_not(client):
    answer = client.post("/v1/validate", json={"out_of_sample": 1})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "out_of_sample")


def test_a_limit_that_is_met_stands_among_the_errors():
    async def refuse(name: str, body: bytes) -> bytes:
        raise Refusal(422, "this takes more than 1 byte; ask for less")

    answer = Caller(application(run=refuse)).post("/v1/plan", json={})
    assert answer.status_code == 422
    assert answer.json()["errors"] == [
        {
            "field": None,
            "value": None,
            "message": answer.json()["detail"],
            "code": "request.refused",
            "fields": [],
            "values": {},
        }
    ]
