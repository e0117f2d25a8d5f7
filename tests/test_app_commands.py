"""Commands without a page of their own have one of the register: options, and what the shell prints."""

from __future__ import annotations

import shlex

import pytest
from streamlit.testing.v1 import AppTest

from app.menu import MORE, PAGES
from perfmodel.evidence.accuracy.training_rows import shipped_runs
from perfmodel.evidence.accuracy.transformers.transformer_rows import shipped_transformer_runs
from perfmodel.interfaces.register import NAMES, NOT_DRAWN, command
from tests.test_app import errors, opened, sound

PAGE = "from app.command_page import draw\ndraw({name!r})\n"
"""A page of a command."""


@pytest.mark.parametrize(("name", "title"), MORE)
def test_the_page_of_a_command_shows_what_the_shell_prints(name, title, invoke):
    test = AppTest.from_string(PAGE.format(name=name), default_timeout=120).run()
    assert not test.exception
    assert not test.error
    line = next(each.value for each in test.code if each.language == "shell").splitlines()[0]
    printed, shown = invoke(*shlex.split(line)[1:]).stdout, test.code[0].value
    assert [row.rstrip() for row in shown.splitlines()] == [row.rstrip() for row in printed.splitlines()]
    assert test.subheader[0].value == title
    assert line != f"perfmodel {name}"  # it opens with the first example


def test_a_command_has_one_page():
    assert [*MORE] == sorted(MORE)
    assert {name for name, _ in MORE} == {*NAMES} - {*NOT_DRAWN}
    assert {name for name, _ in PAGES} & {*NAMES} <= {*NOT_DRAWN} <= {*NAMES}
    assert all(command(name).bodies for name, _ in MORE)


def test_a_page_reads_no_file_of_the_machine_that_serves_it(tmp_path):
    (tmp_path / "steps.log").write_text("Iter #0: 300.0 img/sec per GPU\n")
    test = opened("diagnose")
    test.text_input(key="option-diagnose-measured").set_value(str(tmp_path / "steps.log"))
    sound(test.run())
    assert "a file is uploaded" in errors(test)
    assert not test.metric


def test_diagnose_reads_the_measured_runs_before_a_job_is_changed():
    read = shipped_runs, shipped_transformer_runs
    for each in read:
        each.cache_clear()
    sound(opened("diagnose", measured="400ms"))
    assert [each.cache_info().currsize for each in read] == [1, 1]
