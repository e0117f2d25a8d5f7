"""The catalogue by GET: pages, CSV and cache headers say what ``perfmodel specs`` and ``workloads`` print."""

from __future__ import annotations

import csv
import json
from io import StringIO
from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("fastapi")

from perfmodel.interfaces.cli import main
from perfmodel.interfaces.service.application import application
from perfmodel.interfaces.service.schema import openapi
from tests.asgi import Answer, Caller

CSV = {"accept": "text/csv"}
client = Caller(application())


def printed(*words: str) -> str:
    return CliRunner().invoke(main, [*words]).stdout


def pages(path: str) -> list[dict[str, Any]]:
    """Follow the links to the next page."""
    items: list[dict[str, Any]] = []
    while path:
        answer = client.get(path)
        assert answer.status_code == 200
        page = answer.json()
        items += page["items"]
        link = answer.headers.get("link", "")
        assert bool(link) == (page["next_offset"] is not None)
        path = link.partition(">")[0].removeprefix("<")
        assert link in ("", f'<{path}>; rel="next"')
    assert page["total"] == len(items)
    return items


@pytest.mark.parametrize("kind", ["accelerators", "links", "nodes", "software"])
def test_pages_of_specs_are_what_the_list_prints(kind: str):
    assert pages(f"/v1/specs?kind={kind}&limit=7") == json.loads(printed("specs", "list", kind, "--json"))
    whole = client.get(f"/v1/specs?kind={kind}&limit=1000", CSV)
    assert whole.headers["content-type"] == "text/csv; charset=utf-8"
    assert whole.content.decode() == printed("specs", "list", kind, "--csv")


def test_pages_of_workloads_are_what_the_list_prints():
    assert pages("/v1/workloads?word=bert&limit=1") == json.loads(
        printed("workloads", "list", "bert", "--json")
    )
    assert client.get("/v1/workloads?word=bert", CSV).content.decode() == printed(
        "workloads", "list", "bert", "--csv"
    )


def test_one_entry_is_what_show_prints():
    shown = client.get("/v1/specs/v100-sxm2-16gb")
    assert shown.json() == json.loads(printed("specs", "show", "v100-sxm2-16gb", "--json"))
    assert client.get("/v1/workloads/vgg16").json() == json.loads(
        printed("workloads", "show", "vgg16", "--json")
    )
    rows = list(csv.DictReader(StringIO(client.get("/v1/workloads/vgg16", CSV).content.decode())))
    assert rows[0]["name"] == "features.0"


def test_an_answer_that_is_there_already_is_not_sent_again():
    def tag(answer: Answer) -> str:
        assert (answer.headers["cache-control"], answer.headers["vary"]) == (
            "private, max-age=3600",
            "accept",
        )
        return answer.headers["etag"]

    first = client.get("/v1/specs?limit=1")
    tags = [first, client.get("/v1/specs?limit=2"), client.get("/v1/specs?limit=1", CSV)]
    assert len({tag(each) for each in tags}) == 3
    again = client.get("/v1/specs?limit=1", {"if-none-match": tag(first)})
    assert (again.status_code, again.content, tag(again)) == (304, b"", tag(first))


@pytest.mark.parametrize(
    ("path", "status", "field"),
    [
        ("/v1/specs?kind=gpus", 422, "kind"),
        ("/v1/specs?limit=0", 422, "limit"),
        ("/v1/specs?limit=1001", 422, "limit"),
        ("/v1/specs?offset=-1", 422, "offset"),
        ("/v1/specs?page=2", 422, "page"),
        ("/v1/workloads?word=zzz", 422, "word"),
        ("/v1/specs/a1000", 404, None),
        ("/v1/specs/../../etc/passwd", 404, None),
        ("/v1/workloads//etc/passwd", 404, None),
        ("/v1/workloads/config.json", 404, None),
    ],
)
def test_what_is_not_there_is_refused_in_words(path: str, status: int, field: str | None):
    answer = client.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert answer.json()["detail"]
    assert b"root:" not in answer.content
    if field:
        assert answer.json()["errors"][0]["field"] == field


def test_a_refusal_has_the_code_of_its_problem():
    codes = [
        client.get(path).json()["errors"][0]["code"] for path in ("/v1/specs?kind=cpus", "/v1/specs/a1000")
    ]
    assert codes == ["name.unknown", "name.unknown"]


def test_the_document_has_the_addresses():
    paths = openapi()["paths"]
    assert set(paths["/v1/specs"]) == {"get", "post"}
    assert paths["/v1/workloads/{name}"]["get"]["operationId"] == "show-workloads"
