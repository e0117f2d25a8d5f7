"""An address names the files of one's own that its answer uses; who lacks one gets no other answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from app import file_marks, samples
from app.menu import PAGES
from perfmodel import calibrate
from perfmodel.core.files.resources import folder
from tests.test_app import NARROW, TRACED, a_trace, button, errors, of_card, opened, sound, words
from tests.test_app_copies import copies
from tests.test_app_own_files import QUOTE
from tests.test_own_runs import MACHINE, written

SMALL = {"gpus": "16", "global-batch-size": "64", "node": "dgx-h100"}
CONFIG = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 1024,
    "intermediate_size": 4096, "num_hidden_layers": 8, "num_attention_heads": 16,
    "num_key_value_heads": 16, "vocab_size": 32000, "max_position_embeddings": 2048,
}  # fmt: skip
ABSENT = "0" * file_marks.DIGITS
FIELDS = {
    "calibration": ("predict", "calibration-file", "Your own runs"),
    "network": ("transformers", "config", "A network of your own"),
    "quote": ("quote", "quote-file", None),
    "times": ("stragglers", "times-file", None),
    "trace": ("trace", "trace-files", None),
    "measured": ("diagnose", "measured-file", None),
    "runs": ("runs", "runs-file", None),
}
"""Kind -> page, field, and the fold that the field is in."""
QUERIES = {
    "predict": {name.replace("_", "-"): str(value) for name, value in MACHINE.items()} | {"gpus": "8"},
    "transformers": {"workload": "llama-3-8b", **SMALL},
    "quote": {"quote": "horovod-512-gpus"},
    "stragglers": {"workers": "8", "k": "3"},
    "trace": {**TRACED, "accelerator": "v100-sxm2-16gb"},
    "runs": {},
    "diagnose": {"workload": "resnet50", "gpus": "8", "measured": "400ms"},
}


JOBS = {
    **NARROW,
    "transformers": QUERIES["transformers"],
    "quote": QUERIES["quote"],
    "diagnose": {"measured": "400ms"},
}


@pytest.fixture(scope="module")
def contents(tmp_path_factory) -> dict[str, tuple[str, bytes]]:
    """A file of each kind: what it is called and what is in it."""
    place = tmp_path_factory.mktemp("own")
    rows = [MACHINE | {"world_size": n, "local_batch_size": 64} for n in (1, 8)]
    calibrate(data=written(place / "mine.csv", rows)).write(place / "mine.json")
    return {
        "calibration": ("my runs.json", (place / "mine.json").read_bytes()),
        "network": ("my own.json", json.dumps(CONFIG).encode()),
        "quote": ("offer, 1.toml", QUOTE.encode()),
        "times": ("times.csv", b"1.0\n1.1\n1.0\n3.0\n"),
        "trace": a_trace()[:2],
        "runs": ("mine.csv", samples.RUNS.encode()),
        "measured": ("train.log", b"Iter #0: 300.0 img/sec per GPU\nIter #1: 301.0 img/sec per GPU\n"),
        "specs": ("mine.toml", spec("mine").encode()),
    }


def spec(id: str) -> str:
    """The file of an accelerator of one's own, like a built-in one but for its name and its memory."""
    text = (folder("hardware_specs") / "accelerators" / "v100-sxm2-16gb.toml").read_text("utf-8")
    text = text.replace('id = "v100-sxm2-16gb"', f'id = "{id}"').replace("most_common = true\n", "")
    return text.replace("[memory_bandwidth]\nvalue = 900e9", "[memory_bandwidth]\nvalue = 700e9")


def asked(test: AppTest) -> dict[str, str]:
    """The address of a page."""
    return {name: test.query_params[name] for name in sorted(test.query_params)}


def shown(test: AppTest) -> list[Any]:
    """What a page answers."""
    metrics = [metric.value for metric in test.metric]
    return [test.subheader[0].value, metrics, [block.value for block in test.get("code")]]


def handed_over(test: AppTest, key: str, *files: tuple[str, bytes]) -> AppTest:
    test.file_uploader(key=key).set_value([(name, content, "") for name, content in files])
    return sound(test.run())


def is_blocked(test: AppTest, *names: str) -> None:
    assert "No answer yet" in errors(test)
    assert all(name in errors(test) for name in names)
    assert not test.metric
    assert not test.get("plotly_chart")
    assert not test.get("code")


@pytest.mark.any_version
@pytest.mark.parametrize("kind", FIELDS)
def test_an_address_names_a_file_and_answers_where_that_is(kind, contents):
    page, key, fold = FIELDS[kind]
    name, content = contents[kind]
    origin = opened(page, **QUERIES[page])
    without = shown(origin)
    if fold:
        origin.session_state[f"fold-{fold}"] = True
        sound(origin.run())
    handed_over(origin, key, (name, content))
    address, answer = asked(origin), shown(origin)
    assert answer != without
    assert address[f"own-{kind}"].startswith(f"{name}~")
    other = opened(page, **address)
    is_blocked(other, name)
    assert asked(other) == address
    handed_over(other, f"missing-{kind}", (f"called otherwise{Path(name).suffix}", content))
    assert shown(other) == answer
    assert asked(other) == address
    lacking = opened(page, **address)
    sound(lacking.button(key="without-files").click().run())
    assert f"own-{kind}" not in lacking.query_params
    if kind == "measured":  # it replaced what was typed, in the address too
        assert "What was measured?" in errors(lacking)
    else:
        assert not lacking.error
        assert shown(lacking) == without


def test_a_profile_and_hardware_of_ones_own_are_asked_for_by_name(contents):
    origin = opened("trace", **TRACED)
    handed_over(origin, "trace-files", contents["trace"])
    sound(button(origin, "Calibrate on this trace").click().run())
    learned = next(b.value for b in origin.get("code") if "[" in b.value and "files" in b.value)
    assert origin.query_params["own-profile"].startswith("step-profile.toml~")
    origin.switch_page("views/hardware.py")
    origin.query_params.clear()
    sound(origin.run())
    origin.text_area(key="toml-text").set_value(spec("mine"))
    sound([each for each in origin.button if each.label == "Check and use it"][1].click().run())
    assert origin.query_params["own-specs"].startswith("mine.toml~")
    origin.switch_page("views/scale.py")
    origin.query_params.clear()
    sound(origin.run())
    sound(origin.selectbox(key="option-accelerator").set_value("mine").run())
    address = asked(origin)
    other = opened("scale", **address)
    is_blocked(other, "mine.toml", "step-profile.toml")
    handed_over(other, "missing-specs", contents["specs"])
    is_blocked(other, "step-profile.toml")
    handed_over(other, "missing-profile", ("step-profile.toml", learned.encode()))
    assert (errors(other), shown(other)) == (errors(origin), shown(origin))
    assert asked(other) == address
    sound(other.checkbox(key="use-profile").uncheck().run())
    assert not other.error
    assert other.subheader[0].value.endswith("on mine?")
    lacking = opened("scale", **address)
    sound(lacking.button(key="without-files").click().run())
    assert "'mine'" in errors(lacking) or "mine" in errors(lacking)  # an accelerator nobody knows
    assert not [name for name in lacking.query_params if name.startswith("own-")]


@pytest.mark.any_version
@pytest.mark.parametrize("page", [name for name, _ in PAGES if name in file_marks.USED])
def test_every_page_says_which_files_are_missing_and_answers_without_them(page):
    marks = {f"own-{kind}": f"my {kind}, 1.x~{ABSENT}" for kind in file_marks.USED[page]}
    test = opened(page, **JOBS.get(page, {}), **marks)
    is_blocked(test, *(f"my {kind}, 1.x" for kind in file_marks.USED[page]))
    sound(test.button(key="without-files").click().run())
    assert not test.error
    assert test.subheader
    assert not [name for name in test.query_params if name.startswith("own-")]


def test_back_and_forward_answer_with_the_files_of_their_address(contents):
    test = opened(**QUERIES["predict"])
    before = asked(test), shown(test)
    test.session_state["fold-Your own runs"] = True
    sound(test.run())
    handed_over(test, "calibration-file", contents["calibration"])
    after = asked(test), shown(test)
    assert before[1] != after[1]
    for address, answer in (before, after, before):
        test.query_params.clear()
        test.query_params.update(address)
        sound(test.run())
        assert (asked(test), shown(test)) == (address, answer)


def test_files_go_along_to_compare_and_from_page_to_page(contents):
    test = calibrated(contents)
    mark, time = test.query_params["own-calibration"], of_card(test, "iteration").partition(" (")[0]
    sound(button(test, "Add to Compare").click().run())
    sound(test.number_input(key="option-gpus").set_value(16).run())
    sound(button(test, "Add to Compare").click().run())
    sound(button(test, "Open Compare (2)").click().run())
    assert test.query_params["own-calibration"] == mark
    assert time in words(test)
    is_blocked(opened("compare", **asked(test)), "my runs.json")
    test.switch_page("views/stragglers.py")  # whose answer does not hang on it
    test.query_params.clear()
    assert "own-calibration" not in sound(test.run()).query_params
    test.switch_page("views/predict.py")
    test.query_params.clear()
    assert sound(test.run()).query_params["own-calibration"] == mark
    sound(test.button(key="forget-calibration").click().run())
    assert "own-calibration" not in test.query_params
    sound(button(test, "Add to Compare").click().run())
    assert "with other files of your own" in words(test)


def calibrated(contents) -> AppTest:
    """Predict, by a calibration of one's own."""
    test = opened(**QUERIES["predict"])
    test.session_state["fold-Your own runs"] = True
    sound(test.run())
    return handed_over(test, "calibration-file", contents["calibration"])


def test_files_outlast_the_address_of_the_page_before(contents):
    test = calibrated(contents)
    address, answer = asked(test), shown(test)
    test.switch_page("views/communication.py")
    test.query_params.clear()
    assert "own-calibration" not in sound(test.run()).query_params
    assert test.query_params
    test.switch_page("views/predict.py")  # with the address as it was, as a click in between leaves it
    sound(test.run())
    assert (asked(test), shown(test)) == (address, answer)


def test_an_address_of_what_a_page_reads_is_its_own_though_the_page_before_said_the_same(contents):
    test = calibrated(contents)
    address = asked(test)
    test.switch_page("views/scale.py")
    test.query_params.clear()
    test.query_params["gpus"] = "1,2"
    assert "own-calibration" not in sound(test.run()).query_params
    test.switch_page("views/predict.py")
    test.query_params.clear()
    test.query_params.update(address)
    sound(test.run())
    test.switch_page("views/scale.py")
    assert sound(test.run()).query_params["gpus"] == "8"
    assert test.query_params["own-calibration"] == address["own-calibration"]


def test_another_file_of_the_same_name_is_taken_where_somebody_says_so(contents):
    name, content = contents["calibration"]
    test = opened(**QUERIES["predict"], **{"own-calibration": f"{name}~{ABSENT}"})
    handed_over(test, "missing-calibration", (name, content))
    is_blocked(test, name)
    assert "another my runs.json" in words(test)
    instead = next(each for each in test.button if each.label.endswith("instead"))
    sound(instead.click().run())
    assert not test.error
    assert test.metric
    assert test.query_params["own-calibration"] == file_marks.marks_text([file_marks.mark_of(name, content)])
    junk = opened(**QUERIES["predict"], **{"own-calibration": f"{name}~{ABSENT}"})
    handed_over(junk, "missing-calibration", (name, b"{}"))
    is_blocked(junk, name)
    assert len(junk.error) == 2


@pytest.mark.any_version
@pytest.mark.parametrize(
    "text", ["mine.json", "~", "../../etc/passwd~00000000", "a~00000000,,b", "x" * 3000, "<script>~zz"]
)
def test_nonsense_for_a_file_is_a_file_that_is_missing(text):
    test = opened(gpus="8", **{"own-calibration": text})
    is_blocked(test)
    sound(test.button(key="without-files").click().run())
    assert not test.error
    assert "own-calibration" not in test.query_params


def test_a_copy_of_hardware_of_ones_own_would_not_run_by_the_built_in(tmp_path, monkeypatch, invoke):
    monkeypatch.chdir(tmp_path)
    text = spec("v100-sxm2-16gb")
    Path("v100-sxm2-16gb.toml").write_text(text, "utf-8")
    mark = file_marks.mark_of("v100-sxm2-16gb.toml", text.encode())
    test = opened(gpus="8", **{"own-specs": file_marks.marks_text([mark])})
    handed_over(test, "missing-specs", ("v100-sxm2-16gb.toml", text.encode()))
    (command,), _ = copies(test)
    assert command[-2:] == ["--specs", "v100-sxm2-16gb.toml"]
    with_it, without = (json.loads(invoke(*words, "--json").stdout) for words in (command, command[:-2]))
    assert with_it["iteration_time"] > without["iteration_time"]


def test_traces_are_asked_for_together_and_one_by_one(contents):
    (name, first), second = contents["trace"], a_trace(4)[1]
    query, marks = QUERIES["trace"], [file_marks.mark_of("a.json", first, False)]
    marks.append(file_marks.mark_of("b.json", second, False))
    test = opened("trace", **query)
    handed_over(test, "trace-files", (name, first))
    test.query_params.update(query | {"own-trace": file_marks.marks_text(marks)})
    is_blocked(sound(test.run()), "a.json and b.json")  # of the first, what it holds is kept, and no file
    handed_over(test, "missing-trace", ("other.json", second))
    is_blocked(test, "with a.json,")
    handed_over(test, "missing-trace", ("other.json", second), (name, first))
    assert "No answer yet" not in errors(test)


@pytest.mark.parametrize("content", [b"", b"[1]", b"\xff\x00", b"x = 1"])
def test_what_is_no_profile_is_refused(content):
    test = opened(gpus="8", **{"own-profile": f"p.toml~{ABSENT}"})
    handed_over(test, "missing-profile", ("p.toml", content))
    is_blocked(test, "p.toml")
    assert len(test.error) == 2
    assert "/" not in errors(test)


def test_hardware_taken_instead_is_known_to_the_address(contents):
    test = opened(gpus="8", accelerator="mine", **{"own-specs": f"mine.toml~{ABSENT}"})
    is_blocked(test, "mine.toml")
    handed_over(test, "missing-specs", contents["specs"])
    is_blocked(test, "mine.toml")
    sound(next(each for each in test.button if each.label.endswith("instead")).click().run())
    assert not test.error
    assert test.subheader[0].value == "How fast is ResNet-50 on 8\u00a0x mine?"
    assert test.selectbox(key="option-accelerator").value == "mine"
    assert test.query_params["accelerator"] == "mine"
    assert test.query_params["own-specs"] == file_marks.marks_text([file_marks.mark_of(*contents["specs"])])


def test_a_file_that_an_address_names_without_a_digest_is_one_of_that_name(contents):
    name, content = contents["calibration"]
    test = opened(**QUERIES["predict"], **{"own-calibration": name})
    handed_over(test, "missing-calibration", ("other.json", content))
    is_blocked(test, name)
    assert "other.json, not my runs.json: what was in that the address does not say" in words(test)
    handed_over(test, "missing-calibration", (name, content))
    assert not test.error
    assert test.metric
    assert test.query_params["own-calibration"] == file_marks.marks_text([file_marks.mark_of(name, content)])


def test_why_one_file_was_refused_stays_while_another_is_handed_over(contents):
    marks = {kind: f"{contents[kind][0]}~{ABSENT}" for kind in ("calibration", "specs")}
    test = opened(gpus="8", **{f"own-{kind}": mark for kind, mark in marks.items()})
    handed_over(test, "missing-calibration", ("my runs.json", b"{}"))
    why = test.error[1].value
    handed_over(test, "missing-specs", ("mine.toml", b"x = 1"))
    assert why in [error.value for error in test.error]
    assert len(test.error) == 3
    handed_over(test, "missing-specs", contents["specs"])
    assert why in [error.value for error in test.error]
    assert "another mine.toml" in words(test)
    handed_over(test, "missing-calibration", contents["calibration"])
    assert "another mine.toml" in words(test)
    assert "another my runs.json" in words(test)
    assert len(test.error) == 1


def test_the_command_of_a_trace_knows_hardware_of_ones_own(contents, tmp_path, monkeypatch, invoke):
    monkeypatch.chdir(tmp_path)
    events = {key: value for key, value in json.loads(contents["trace"][1]).items() if key == "traceEvents"}
    Path("step.json").write_text(json.dumps(events), "utf-8")  # which names no accelerator
    Path("mine.toml").write_bytes(contents["specs"][1])
    mark = file_marks.marks_text([file_marks.mark_of(*contents["specs"])])
    test = opened("trace", **TRACED, accelerator="mine", **{"own-specs": mark})
    handed_over(test, "missing-specs", contents["specs"])
    handed_over(test, "trace-files", ("step.json", Path("step.json").read_bytes()))
    assert not test.error
    (command,), _ = copies(test)
    assert command[command.index("--accelerator") + 1] == "mine"
    rows = json.loads(invoke(*command, "--json").stdout)["recommendations"]
    changes = [list(frame.value["change"]) for frame in test.dataframe if "change" in frame.value]
    assert changes == ([[row["change"] for row in rows]] if rows else [])
