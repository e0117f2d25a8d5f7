"""Every command answers over HTTP what it prints, and refuses in words what it cannot answer."""

from __future__ import annotations

import json

import pytest

import perfmodel
from perfmodel.service.application import application
from perfmodel.service.problems import MEDIA_TYPE
from tests.asgi import Caller


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
        ({"fields": ["time"]}, "fields", "unknown field"),
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


def test_an_answer_is_not_sent_twice(client):
    first = client.post("/v1/predict", json={"gpus": 8})
    tag = first.headers["etag"]
    again = client.post("/v1/predict", json={"gpus": 8}, headers={"if-none-match": tag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert client.post("/v1/predict", json={"gpus": 9}).headers["etag"] != tag
