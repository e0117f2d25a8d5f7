"""Commands without a page of their own have one of the register: options, and what the shell prints."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from app.menu import MORE, PAGES
from perfmodel.evidence.accuracy.training_rows import shipped_runs
from perfmodel.evidence.accuracy.transformers.transformer_rows import shipped_transformer_runs
from perfmodel.interfaces.register import NAMES, NOT_DRAWN, command
from tests.test_app import errors, opened, sound

FROZEN = Path(__file__).parent / "frozen" / "files"
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


def test_a_listing_says_its_ranks_and_leaves_the_job_of_the_page():
    """Its network is asked for beside it; the speed of the page's example is not in the address any more."""
    test = opened("diagnose", workload="vgg16", gpus="32", measured="400ms")
    field = next(each for each in test.get("file_uploader") if each.key == "measured-file")
    field.upload("all_reduce.txt", (FROZEN / "all_reduce_perf.txt").read_bytes(), "text/plain")
    sound(test.run())
    assert not test.error
    assert list(test.query_params) == ["own-measured"]
    assert "V100" in test.subheader[0].value
    sound(test.selectbox(key="option-inter-link").set_value("ib-edr-100g").run())
    assert not test.error
    assert {*test.query_params} == {"inter-link", "own-measured"}


def test_a_listing_without_its_ranks_is_not_of_as_many_as_the_example_of_the_page():
    """They follow from its bandwidths."""
    text = (FROZEN / "all_reduce_perf.txt").read_text()
    rows = "\n".join(line for line in text.splitlines() if "  Rank " not in line)
    test = opened("diagnose")
    assert test.number_input(key="option-gpus").value == 32
    sound(test.text_area(key="measured-text-0").set_value(rows).run())
    assert "gpus" not in test.query_params
    sound(test.selectbox(key="option-node").set_value("dgx-1v").run())
    assert "2 V100" in test.subheader[0].value


def test_diagnose_reads_the_measured_runs_before_a_job_is_changed():
    read = shipped_runs, shipped_transformer_runs
    for each in read:
        each.cache_clear()
    sound(opened("diagnose", measured="400ms"))
    assert [each.cache_info().currsize for each in read] == [1, 1]
