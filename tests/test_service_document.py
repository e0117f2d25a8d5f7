"""Requests that the OpenAPI document allows, and some that it does not, never break the service.

A service of its own answers them over a socket, within limits that are small, so that what is costly ends.
More by hand: ``PERFMODEL_SCHEMATHESIS_EXAMPLES=100 python -m pytest -rP tests/test_service_document.py``.
"""

from __future__ import annotations

import copy
import os
import warnings
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.service.commands import COMMANDS
from perfmodel.interfaces.service.schema import openapi
from tests.serving import started

schemathesis: Any = pytest.importorskip("schemathesis")
pytestmark = pytest.mark.any_version
MANY = 50
EXAMPLES = int(os.environ.get("PERFMODEL_SCHEMATHESIS_EXAMPLES", "3"))
"""Of each operation, valid and invalid."""
PATIENCE = 120.0
"""Seconds that an answer may take on a machine that others load."""
LIMITS = ("--seconds", "1" if EXAMPLES < MANY else "3", "--candidates", "2000", "--no-access-log")
"""Of the service: what takes longer is answered by 504."""
OFTEN_ANSWERED = {"predict", "learning-rate", "collective", "specs"}
"""Commands of whose valid bodies some are answered by 200, however few there are."""


def _with_names(table: dict[str, Any]) -> dict[str, Any]:
    """The document, where a text that is a name is one that there is: else no body would be answered."""
    catalogue = Catalogue.built_in()
    names = {
        "workload": ["resnet50", "vgg16", "bert-large", "llama-3-8b", "dlrm-mlperf"],
        "node": catalogue.ids("nodes"),
        "accelerator": catalogue.ids("accelerators"),
        "intra_link": catalogue.ids("links"),
        "inter_link": catalogue.ids("links"),
    }
    for name, schema in table["components"]["schemas"].items():
        if not name.endswith("Request"):
            continue
        for key, known in names.items():
            for one in _texts(schema["properties"].get(key, {})):
                one["enum"] = sorted(known)
    return table


def _texts(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, dict):
        inner = [one for value in schema.values() for one in _texts(value)]
        return [schema, *inner] if schema.get("type") == "string" else inner
    return [one for value in schema for one in _texts(value)] if isinstance(schema, list) else []


def _document(specs: bool) -> Any:
    table = _with_names(copy.deepcopy(openapi()))
    if not specs:  # tables of hardware, of which examples take a minute to make
        table["components"]["schemas"]["Specs"] = {"type": ["object", "null"], "maxProperties": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return schemathesis.openapi.from_dict(table)


@pytest.fixture(scope="module")
def service() -> Any:
    with started(*LIMITS) as (served, _, logged):
        yield "http://{}:{}".format(*served.address), logged


def test_every_operation_is_there():
    paths = [each.ok().path for each in _document(specs=False).get_all_operations()]
    assert {f"/v1/{name}" for name in COMMANDS} <= set(paths)
    assert len(paths) == sum(map(len, openapi()["paths"].values()))


@pytest.mark.parametrize(
    ("path", "method"), [(path, method) for path, item in openapi()["paths"].items() for method in item]
)
@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_no_request_breaks_the_service(service, path, method, mode):
    # nothing is wrong with the text of a name, nor with no request at all
    if mode == "positive" or (path.startswith("/v1/") and "{" not in path):
        ask(service, path, method.upper(), mode)


@pytest.mark.skipif(EXAMPLES < MANY, reason="examples of hardware take a minute to make")
@pytest.mark.parametrize("path", ["/v1/specs", "/v1/collective"])
@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_no_hardware_of_a_stranger_breaks_the_service(service, path, mode):
    ask(service, path, "POST", mode, specs=True)


def ask(service: Any, path: str, method: str, mode: str, specs: bool = False) -> None:
    from schemathesis.checks import not_a_server_error
    from schemathesis.generation import GenerationMode
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        negative_data_rejection,
        response_headers_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    checks = [
        not_a_server_error,
        negative_data_rejection,
        status_code_conformance,
        content_type_conformance,
        response_headers_conformance,
        response_schema_conformance,
    ]
    address, logged = service
    strategy = _document(specs)[path][method].as_strategy(generation_mode=GenerationMode(mode))
    seen: Counter[int] = Counter()

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=EXAMPLES < MANY,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def send(case: Any) -> None:
        response = case.call(base_url=address, timeout=PATIENCE)
        seen[response.status_code] += 1
        left_out = []
        if response.status_code == 504:  # a limit of this service, and no failure of it
            left_out.append(not_a_server_error)
        if isinstance(case.body, dict) and {"scenarios", "columns"} & case.body.keys():
            left_out.append(negative_data_rejection)  # a bad row is answered by an error in its place
        case.validate_response(response, checks=checks, excluded_checks=left_out)

    given(case=strategy)(send)()
    assert seen
    assert "calculation failed" not in logged()
    if EXAMPLES >= MANY and mode == "positive" and path.removeprefix("/v1/") in OFTEN_ANSWERED:
        assert seen[200]
    print(path, mode, dict(sorted(seen.items())))  # which pytest shows with -rP
