"""Requests that the OpenAPI document allows, and some that it does not, never break the service."""

from __future__ import annotations

import json
import os
import warnings
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from perfmodel.service.application import application
from perfmodel.service.commands import COMMANDS
from perfmodel.service.schema import openapi

schemathesis: Any = pytest.importorskip("schemathesis")
pytestmark = pytest.mark.any_version
MANY = 50
EXAMPLES = int(os.environ.get("PERFMODEL_SCHEMATHESIS_EXAMPLES", "3"))
"""Of each operation, valid and invalid; more by hand."""
SLOW = ("/v1/validate", "/v1/plan")
"""Some seconds each where nothing narrows them: their examples are in ``test_service_commands``."""


@pytest.fixture(scope="module")
def document() -> Any:
    """The document; by default without tables of hardware, of which examples take a minute to make."""
    table = json.loads(json.dumps(openapi()))
    if EXAMPLES < MANY:
        table["components"]["schemas"]["Specs"] = {"type": ["object", "null"], "maxProperties": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        document = schemathesis.openapi.from_dict(table)
    document.app = application()
    return document


def test_every_operation_is_there(document):
    paths = [each.ok().path for each in document.get_all_operations()]
    assert {f"/v1/{name}" for name in COMMANDS} <= set(paths)
    assert len(paths) == len(openapi()["paths"])


@pytest.mark.parametrize("path", [path for path in openapi()["paths"] if path.startswith("/v1/")])
@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_no_request_breaks_the_service(document, path, mode):
    if path in SLOW and mode == "positive" and EXAMPLES < MANY:
        pytest.skip("some seconds for each request")
    from schemathesis.checks import not_a_server_error
    from schemathesis.generation import GenerationMode
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    checks = [
        not_a_server_error,
        status_code_conformance,
        content_type_conformance,
        response_schema_conformance,
    ]
    strategy = document[path]["POST"].as_strategy(generation_mode=GenerationMode(mode))
    seen: Counter[int] = Counter()

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=EXAMPLES < MANY,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def ask(case: Any) -> None:
        response = case.call()
        case.validate_response(response, checks=checks)
        seen[response.status_code] += 1

    given(case=strategy)(ask)()
    assert seen
    print(path, mode, dict(seen))  # which pytest shows with -rP
