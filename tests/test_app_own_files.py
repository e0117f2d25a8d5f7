"""Files of one's own keep their names in what pages offer to copy, and what is copied reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from perfmodel.core.units import show
from tests.test_app import TRACED, a_trace, button, of_card, opened, sound, words
from tests.test_app_copies import copies, run, straggled
from tests.test_app_trace import handed_over

QUOTE = 'title = "Mine"\n[scenario]\ngpus = 8\n[[claims]]\nquantity = "images_per_second"\nvalue = 4000\n'


@pytest.mark.parametrize(
    "content", ["1.0\n1.1\n1.0\n3.0\n", "step,time\n1,1.0\n2,1.1\n3,1.0\n4,3.0\n", "1.0, 1.1, 1.0, 3.0 # s\n"]
)
def test_times_of_ones_own_are_copied_by_the_name_of_their_file(content, invoke, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("my times.csv").write_text(content)
    test = opened("stragglers", workers="8", k="3")
    file = ("my times.csv", content.encode(), "text/csv")
    sound(test.file_uploader(key="times-file").set_value(file).run())
    assert not test.error
    assert "(empirical: my times.csv)" in words(test)
    (command,), python = copies(test)
    assert "empirical:my times.csv" in command
    straggled(test, [json.loads(invoke(*command, "--json").stdout)], run(python))


def test_a_profile_is_called_as_its_trace_and_copied_by_that_name(invoke, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, content, kind = a_trace()
    test = handed_over(("../my step.json", content, kind), **TRACED)
    sound(button(test, "Calibrate on this trace").click().run())
    (learned,) = (block.value for block in test.get("code") if "[" in block.value and "files" in block.value)
    Path("my step-profile.toml").write_text(learned)
    test.switch_page("views/predict.py")
    test.query_params.clear()
    sound(test.run())
    (command,), python = copies(test)
    assert command[-2:] == ["--profile", "my step-profile.toml"]
    answer = json.loads(invoke(*command, "--json").stdout)
    assert answer["mode"] == "traced"
    assert of_card(test, "iteration").startswith(show(answer["iteration_time"], "s"))
    assert str(answer["iteration_time"]) in run(python)


def test_a_quote_of_ones_own_is_copied_by_the_name_of_its_file(invoke, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("-offer 1.toml").write_text(QUOTE)
    test = opened("quote", quote="horovod-512-gpus")
    file = ("-offer 1.toml", QUOTE.encode(), "application/toml")
    sound(test.file_uploader(key="quote-file").set_value(file).run())
    (command,), python = copies(test)
    assert command == ["check-quote", "./-offer 1.toml"]
    (claim,) = json.loads(invoke(*command, "--json").stdout)["claims"]
    assert claim["sentence"] in [block.value for block in test.get("code")]
    assert claim["verdict"] in run(python)
    assert "The address names it" in words(test)


def test_a_trace_is_put_away_after_another_page():
    test = handed_over(("mine.json", a_trace()[1], "application/json"), **TRACED)
    test.switch_page("views/stragglers.py")
    test.query_params.clear()
    sound(test.run())
    test.switch_page("views/trace.py")
    test.query_params.clear()
    sound(test.run())
    assert "own-trace" in test.query_params
    assert "In use: mine.json." in words(test)
    sound(button(test, "Stop using it").click().run())
    assert "own-trace" not in test.query_params
    assert not test.error
    assert "Where does a step" in test.subheader[0].value


def test_a_profile_put_aside_is_not_called_in_use_and_is_taken_up_again():
    test = handed_over(a_trace(), **TRACED)
    sound(button(test, "Calibrate on this trace").click().run())
    assert test.success[0].value.startswith("In use on every page")
    test.switch_page("views/predict.py")
    test.query_params.clear()
    sound(test.run())
    sound(test.checkbox(key="use-profile").uncheck().run())
    test.switch_page("views/trace.py")
    test.query_params.clear()
    sound(test.run())
    assert not test.success
    assert "Not in use on any page" in words(test)
    sound(button(test, "See it in Predict").click().run())
    assert test.checkbox(key="use-profile").value
    assert test.query_params["own-profile"].startswith("step-profile.toml~")
