"""Texts made of templates: what is missing is an error, and every template belongs to something."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

import perfmodel
from perfmodel.core.files.templating import WIDTH, prose, render

PACKAGE = Path(perfmodel.__file__).parent
TEMPLATES = sorted(path.name for path in (PACKAGE / "templates").iterdir())


def test_data_that_lacks_is_an_error_and_no_gap():
    with pytest.raises(UndefinedError, match="rows"):
        render("ratios.md.j2")


def test_every_template_is_asked_for():
    code = "\n".join(path.read_text("utf-8") for path in PACKAGE.rglob("*.py"))
    code += "\n".join((PACKAGE / "templates" / name).read_text("utf-8") for name in TEMPLATES)
    assert TEMPLATES
    for name in TEMPLATES:
        assert f'"{name}"' in code


@pytest.mark.parametrize("name", TEMPLATES)
def test_no_paragraph_loses_the_space_after_a_sentence(name):
    """Where a text has two spaces between sentences, no line ends with one: one would be left."""
    text = (PACKAGE / "templates" / name).read_text("utf-8")
    for paragraph in re.findall(r"{% filter prose.*? %}(.*?){% endfilter %}", text, re.DOTALL):
        if ".  " in paragraph:
            assert not re.search(r"\.\n(?!$)", paragraph)


@given(st.lists(st.from_regex(r"[a-z-]{1,12}[.,]?", fullmatch=True), min_size=1, max_size=60), st.booleans())
def test_prose_keeps_every_word(words, hyphens):
    filled = prose("\n   ".join(words), "* ", "  ", hyphens)
    assert re.sub(r"\s", "", filled) == "*" + "".join(words)
    assert all(len(line) <= WIDTH for line in filled.splitlines())
    assert filled.endswith("\n")
