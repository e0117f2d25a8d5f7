"""No page shows where the server keeps a file of one's own; its names are no Markdown and no HTML."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from app import file_marks
from app.menu import PAGES
from perfmodel.evidence.traces.calibrate import profile_of_traces
from perfmodel.evidence.traces.read import read_trace
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.setting.profile import to_toml
from tests.test_app import FOLDS, a_trace, errors, opened, sound, words
from tests.test_app_copies import ASKED
from tests.test_app_own_addresses import FIELDS, QUERIES, contents, spec
from tests.test_app_reports import offered

__all__ = ["contents", "offered"]
PLACE = "perfmodel-app-"
"""In the name of every session's folder."""
TRAINED = {"accelerator": "v100-sxm2-16gb", "precision": "amp", "local-batch-size": "32"}
"""Of the job that is traced, what pages do not ask by themselves."""
ENDINGS = {
    "measured": "log",
    "runs": "csv",
    "calibration": "json",
    "network": "json",
    "quote": "toml",
    "times": "csv",
    "trace": "json",
}


MARKED = "*a* <i>b [c](www.d.co)"
"""Markdown, HTML and what a browser takes for an address."""
WRITTEN_OUT = ("code", "dataframe", "plotly_chart", "text_input", "text_area", "download_button")
"""Elements that show letters as they are, or are looked at by themselves."""


def everything(test: Any) -> bytes:
    """All that the browser is sent."""
    protos = (getattr(each, "proto", None) for each in test._tree)
    return b"\n".join(proto.SerializeToString() for proto in protos if hasattr(proto, "SerializeToString"))


@pytest.fixture(scope="module")
def own(contents, tmp_path_factory) -> dict[str, tuple[str, bytes]]:
    """A file of every kind, with marks in its name and in what it says of itself."""
    name, content, _ = a_trace()
    trace = tmp_path_factory.mktemp("traces") / name
    trace.write_bytes(content)
    job = Scenario(gpus=2, workload="resnet50", precision="amp", local_batch_size=32)
    profile = to_toml(profile_of_traces(read_trace(trace), [], job, Catalogue.built_in()))
    text = re.sub(r"^note = .*$", f'note = "{MARKED}"', spec("mine"), count=1, flags=re.MULTILINE)
    text = text.replace('name = "', f'name = "{MARKED} ', 1)
    quote = contents["quote"][1].decode().replace('title = "', f'note = "{MARKED}"\ntitle = "{MARKED} ')
    every = {
        **contents,
        "profile": (".toml", profile.encode()),
        "quote": (".toml", quote.encode()),
    }
    marked = {
        kind: (f"{MARKED}.{name.rpartition('.')[2]}", content) for kind, (name, content) in every.items()
    }
    return {**marked, "specs": ("mine.toml", text.encode())}


def with_own(page: str, own: dict[str, tuple[str, bytes]], **query: str) -> Any:
    """A page that answers with a file of every kind that it uses."""
    given = {kind: own[kind] for kind in file_marks.USED[page]}
    marks = {
        f"own-{kind}": file_marks.marks_text([file_marks.mark_of(*file, is_text=kind != "trace")])
        for kind, file in given.items()
    }
    test = opened(page, **query, **marks)
    for kind, (name, content) in given.items():
        test.file_uploader(key=f"missing-{kind}").set_value([(name, content, "")])
        sound(test.run())
    for fold in FOLDS.get(page, ()):
        test.session_state[f"fold-{fold}"] = True
    return sound(test.run())


@pytest.mark.any_version
@pytest.mark.parametrize("page", [name for name, _ in PAGES if name in file_marks.USED])
def test_no_page_shows_where_a_file_is_kept_and_its_names_are_shown_letter_by_letter(page, own, offered):
    query = ASKED[page][1] | (TRAINED if "profile" in file_marks.USED[page] else {})
    query |= {"id": "mine"} if page == "hardware" else {}
    test = with_own(page, own, **query)
    assert not test.error, [each.value for each in test.error]
    assert PLACE.encode() not in everything(test)
    for label, data in offered.items():
        assert PLACE not in str(data() if callable(data) else data), label
    for element in test._tree:
        proto = getattr(element, "proto", None)
        if element.type == "plotly_chart":
            assert "<i>" not in str(json.loads(proto.spec))
        elif element.type not in WRITTEN_OUT and hasattr(proto, "SerializeToString"):
            assert MARKED.encode() not in proto.SerializeToString(), (element.type, str(proto)[:300])


BAD = b'{"model_type": "nothing known", "a": ['


@pytest.mark.parametrize("kind", FIELDS)
def test_a_file_that_is_refused_is_not_in_use_and_nobody_sees_where_it_was_kept(kind):
    page, key, fold = FIELDS[kind]
    test = opened(page, **QUERIES[page])
    if fold:
        test.session_state[f"fold-{fold}"] = True
        sound(test.run())
    test.file_uploader(key=key).set_value([(f"mine.{ENDINGS[kind]}", BAD, "")])
    sound(test.run())
    assert f"mine.{ENDINGS[kind]}" in errors(test)
    assert f"own-{kind}" not in test.query_params
    assert "The address names it" not in words(test)
    assert PLACE.encode() not in everything(test)
