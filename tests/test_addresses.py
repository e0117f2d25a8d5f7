"""Where an address leads, before Streamlit sees it; ``tests/browser/test_addresses.py`` goes there."""

from __future__ import annotations

import os

import pytest

if "CI" not in os.environ:
    pytest.importorskip("streamlit")
from streamlit import config

from app.addresses import Addresses

THERE = "the page itself"
STREAMLITS = "not ours"


async def nothing(scope, receive, send):
    """Stand behind it."""


def leads(path: str, query: str = "", sent: str | None = None) -> str:
    """Say where an address leads."""
    answer = Addresses(nothing).answer(path, (sent or path).encode(), query)
    if answer is None:
        return STREAMLITS
    return answer.headers["location"] if answer.status_code == 307 else THERE


@pytest.mark.parametrize("path", ["/", "/predict", "/scale", "/unknown"])
def test_a_page_is_where_its_address_says_with_the_place_where_the_app_runs(path):
    assert leads(path, "gpus=8") == THERE
    body = Addresses(nothing).answer(path, None, "").body.decode()
    assert "<head><script>window.__streamlit = { BACKEND_BASE_URL" in body


@pytest.mark.parametrize(
    "path",
    ["/favicon.png", "/static/js/x.js", "/_stcore/health", "/media/x.png", "/scale/_stcore/health"],
)
def test_what_streamlit_serves_is_left_to_it(path):
    assert leads(path) == STREAMLITS


@pytest.mark.parametrize(
    ("path", "query", "sent", "target"),
    [
        ("/scale/", "gpus=8", None, "../scale?gpus=8"),
        ("//scale", "", None, "../scale"),
        ("/nonsense", "", None, "./unknown?address=%2Fnonsense"),
        ("/nonsense/", "a=1&b=%20", None, "../unknown?address=%2Fnonsense%3Fa%3D1%26b%3D%2520"),
        ("/a/b/c", "", None, "../../unknown?address=%2Fa%2Fb%2Fc"),
        ("/a/b", "", "/a%2Fb", "./unknown?address=%2Fa%2Fb"),
        ("/index.html", "", None, "./unknown?address=%2Findex.html"),
        ("/static", "", None, "./unknown?address=%2Fstatic"),
    ],
)
def test_what_is_no_page_leads_to_the_one_that_says_so(path, query, sent, target):
    assert leads(path, query, sent) == target


def test_below_a_base_path_as_at_the_root():
    before = config.get_option("server.baseUrlPath")
    config.set_option("server.baseUrlPath", "perf/model")
    try:
        assert leads("/perf/model/") == leads("/perf/model/scale") == THERE
        assert leads("/perf/model/a/b") == "../unknown?address=%2Fa%2Fb"
        assert leads("/perf/model") == leads("/perf/models") == leads("/scale") == STREAMLITS
    finally:
        config.set_option("server.baseUrlPath", before)
