"""Clients that others' generators make of the OpenAPI document get a prediction from the service."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("openapi_python_client")
pytest.importorskip("datamodel_code_generator")

from perfmodel.interfaces.service.schema import openapi
from tests.clients import served

pytestmark = pytest.mark.any_version
BIN = Path(sys.executable).parent
ASKED = {
    "one": {"workload": "resnet50", "gpus": 32},
    "fields": {"gpus": 8, "fields": ["speedup"]},
    "batch": {"scenarios": [{"gpus": 8}, {"gpus": -1}]},
    "columns": {"columns": {"gpus": [8, None], "workload": ["vgg16", "resnet50"]}, "fields": ["speedup"]},
    "wrong": {"workload": "resnet51"},
}
"""What both clients ask."""
ANSWERED = {
    "one": ["PredictAnswer"],
    "fields": ["PredictFields"],
    "batch": ["PredictResults", "PredictAnswer", "RowError"],
    "columns": ["PredictResults", "PredictFields", "PredictFields"],
    "wrong": ["Problem"],
}
"""The types of the answers: of a batch, then those of its rows."""


@pytest.fixture(scope="module")
def document(tmp_path_factory) -> Path:
    path: Path = tmp_path_factory.mktemp("clients") / "openapi.json"
    path.write_text(json.dumps(openapi()))
    return path


def run(folder: Path, *words: str) -> str:
    path = f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, env={**os.environ, "PATH": path}, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


FUNCTIONS = """
import json, sys
from perfmodel_client import Client
from perfmodel_client.api.default import list_specs, predict
from perfmodel_client.models import ListSpecsKind, PredictBatchOfColumns, PredictBatchOfScenarios
from perfmodel_client.models import PredictRequest
BODIES = {"batch": PredictBatchOfScenarios, "columns": PredictBatchOfColumns}
answers = {}
for word, table in json.loads(sys.argv[2]).items():
    body = BODIES.get(word, PredictRequest).from_dict(table)
    assert body.to_dict() == table, body.to_dict()
    answer = predict.sync(client=Client(base_url=sys.argv[1]), body=body)
    answers[word] = [type(each).__name__ for each in (answer, *getattr(answer, "results", ()))]
    if word == "one":
        assert answer.iteration_time > 0
page = list_specs.sync(client=Client(base_url=sys.argv[1]), kind=ListSpecsKind.LINKS, limit=2)
assert [type(each).__name__ for each in page.items] == ["Link", "Link"], page.items
print(json.dumps(answers))
"""


MODELS = """
import json, sys, urllib.request
from models import PredictAnswer, PredictRequest
table = json.loads(sys.argv[2])
body = PredictRequest(**table).model_dump_json(exclude_unset=True)
assert json.loads(body) == table, body
head = {"content-type": "application/json"}
request = urllib.request.Request(f"{sys.argv[1]}/v1/predict", body.encode(), head)
with urllib.request.urlopen(request) as answer:
    assert PredictAnswer.model_validate_json(answer.read()).iteration_time > 0
"""


def test_openapi_python_client(document: Path):
    tool = shutil.which("openapi-python-client", path=str(BIN))
    assert tool is not None
    words = run(document.parent, tool, "generate", "--path", str(document), "--output-path", "made")
    assert "WARNING" not in words
    with served() as client:
        said = run(document.parent / "made", sys.executable, "-c", FUNCTIONS, client.url, json.dumps(ASKED))
    assert json.loads(said) == ANSWERED


def test_datamodel_codegen(document: Path):
    tool = shutil.which("datamodel-codegen", path=str(BIN))
    assert tool is not None
    kinds = ("--input-file-type", "openapi", "--output-model-type", "pydantic_v2.BaseModel")
    run(document.parent, tool, "--input", str(document), *kinds, "--output", "models.py")
    with served() as client:
        run(document.parent, sys.executable, "-c", MODELS, client.url, json.dumps(ASKED["one"]))
