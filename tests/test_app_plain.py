"""Names of files, hardware and cases are shown letter by letter: they are no Markdown and no HTML."""

from __future__ import annotations

import json
import re

import pytest

from app import file_marks
from app.menu import PAGES
from tests.test_app import opened
from tests.test_app_copies import ASKED
from tests.test_app_own_addresses import contents, spec
from tests.test_app_paths import TRAINED, own, with_own

__all__ = ["contents", "own"]
MARKED = "*a* <i>b [c](www.d.co)"
"""Markdown, HTML and what a browser takes for an address."""
WRITTEN_OUT = ("code", "dataframe", "plotly_chart", "text_input", "text_area", "download_button")
"""Elements that show letters as they are, or are looked at by themselves."""


def named(own: dict[str, tuple[str, bytes]]) -> dict[str, tuple[str, bytes]]:
    """The same files with marks in their names, and in what they say of themselves."""
    text = re.sub(r"^note = .*$", f'note = "{MARKED}"', spec("mine"), count=1, flags=re.MULTILINE)
    text = text.replace('name = "', f'name = "{MARKED} ', 1)
    quote = own["quote"][1].decode().replace('title = "', f'note = "{MARKED}"\ntitle = "{MARKED} ')
    said = {"specs": text.encode(), "quote": quote.encode()}
    return {
        kind: (f"{MARKED}.{name.rpartition('.')[2]}" if kind != "specs" else name, said.get(kind, content))
        for kind, (name, content) in own.items()
    }


@pytest.mark.any_version
@pytest.mark.parametrize("page", [name for name, _ in PAGES if name in file_marks.USED])
def test_names_of_ones_own_are_shown_letter_by_letter(page, own):
    files = named(own)
    query = ASKED[page][1] | (TRAINED if "profile" in file_marks.USED[page] else {})
    query |= {"id": "mine"} if page == "hardware" else {}
    test = with_own(page, files, **query)
    assert not test.error, [each.value for each in test.error]
    for element in test._tree:
        proto = getattr(element, "proto", None)
        if element.type == "plotly_chart":
            assert "<i>" not in str(json.loads(proto.spec))
        elif element.type not in WRITTEN_OUT and hasattr(proto, "SerializeToString"):
            assert MARKED.encode() not in proto.SerializeToString(), (element.type, str(proto)[:300])


@pytest.mark.parametrize("name", ["http://d.co/x", "www.d.co", "me@d.co", "[c](http://d.co)", ":red[x]"])
def test_a_case_is_no_link(name):
    test = opened("compare", **{"gpus": "8", "a-name": "first", "b-gpus": "16", "b-name": name})
    shown = [each.value for each in (*test.markdown, *test.caption, *test.warning)]
    assert any("(B) for speed" in each for each in shown)
    assert not [each for each in shown if name in each]
