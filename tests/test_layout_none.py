"""Where no layout divides the accelerators and the batch, every door says why."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

import perfmodel
from perfmodel.core.errors import InputError
from perfmodel.interfaces.cli import main
from perfmodel.interfaces.service.application import application
from tests.asgi import Caller
from tests.test_app import errors, opened

BERT = {
    "workload": "bert-large",
    "gpus": 100,
    "global_batch_size": 96,
    "accelerator": "h100-sxm5-80gb",
}
NONE = "no layout of BERT large on 100 accelerators: "
WHY = "the batch does not divide among replicas"


def test_the_command_says_why():
    words = [word for name, value in BERT.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    done = CliRunner().invoke(main, ["layouts", *words])
    assert done.exit_code == 2
    assert NONE in done.stderr
    assert WHY in done.stderr


@pytest.mark.parametrize(
    ("workload", "gpus", "batch"),
    [
        ("bert-large", 100, 96),
        ("gpt3-175b", 1000, 1536),
        ("gpt3-175b", 65536, 1_000_000),
        ("gpt3-175b", 100_000, 1536),
        ("llama-3-8b", 500_000, 64),
    ],
)
def test_the_service_refuses_it(workload, gpus, batch):
    body = {"workload": workload, "gpus": gpus, "global_batch_size": batch, "node": "dgx-h100"}
    answer = Caller(application()).post("/v1/layouts", json=body)
    assert answer.status_code == 422
    assert f"on {gpus} accelerators: " in answer.json()["detail"]
    assert WHY in answer.json()["detail"]


def test_the_page_says_why():
    test = opened("transformers", **{name.replace("_", "-"): str(value) for name, value in BERT.items()})
    assert not test.exception
    assert WHY in errors(test)


def test_the_function_refuses_it_and_not_what_divides():
    with pytest.raises(InputError, match=NONE):
        perfmodel.layouts(**BERT)
    assert perfmodel.layouts(**BERT | {"gpus": 96}).fitting
