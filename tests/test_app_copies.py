"""What the pages offer to copy runs, as it stands, and gives what the page shows."""

from __future__ import annotations

import io
import json
import re
import shlex
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from app import cases, file_marks, quotes, samples
from app.layout import sentence
from app.looks import labelled
from app.plain import plain
from perfmodel.core.files.resources import folder
from perfmodel.core.sentences import sentences_in
from perfmodel.core.units import percent, show
from perfmodel.decide.diagnosis.chances import LEAST
from perfmodel.decide.planning.fleets import Fleets
from perfmodel.decide.planning.fleets.verdict import startable
from perfmodel.decide.sensitivity import input_words
from perfmodel.decide.sensitivity.levers import decision
from perfmodel.decide.sensitivity.per_sample import effects
from perfmodel.hardware.catalogue.store import Catalogue
from tests.test_app import TRACED, a_trace, button, of_card, opened, sound, typed, words
from tests.test_app_trace import handed_over

FOR_HIRE = {"instance": "p3.16xlarge", "epochs": "1", "price": "p3.16xlarge=12", "host-power": "2kW"}
ASKED: dict[str, tuple[str, dict[str, str]]] = {
    "predict": ("predict", {"gpus": "8", "jitter": "lognormal:cv=0.1", "local-aggregation": "no"}),
    "predict, priced": ("predict", {"gpus": "8", "node": "dgx-1v", "price": "12"}),
    "predict, for hire": ("predict", {"gpus": "16", "node": "aws-p3.16xlarge"}),
    "predict, to target": ("predict", {"gpus": "16", "recipe": "stock", "jitter": "none"}),
    "scale": ("scale", {"gpus": "1-16", "networks": "ethernet-25g-tcp", "show": "cost", "price": "3"}),
    "scale, servers": (
        "scale",
        {"gpus": "8,16", "strategy": "parameter-server", "servers": "4", "strategies": "all-reduce"},
    ),
    "plan": ("plan", FOR_HIRE),
    "transformers": (
        "transformers",
        {"workload": "llama-3-8b", "gpus": "16", "global-batch-size": "64", "node": "dgx-h100", "lora": "8"},
    ),
    "transformers, priced": (
        "transformers",
        {
            "workload": "llama-3-8b",
            "gpus": "16",
            "global-batch-size": "64",
            "node": "dgx-h100",
            "framework": "torchtitan",
            "tokens": "300B",
            "price": "98.5",
        },
    ),
    "compare": ("compare", {"gpus": "8", "price": "3", "b-gpus": "16", "c-local-batch-size": "32"}),
    "sensitivity": ("sensitivity", {"gpus": "8", "inter-link": "ethernet-25g-tcp", "price": "12"}),
    "communication": ("communication", {"ranks": "16", "node": "dgx-1v", "size": "1MB"}),
    "stragglers": (
        "stragglers",
        {
            "workers": "8",
            "k": "3",
            "communication-time": "0.5s",
            "distribution": "pareto",
            "local-steps": "4",
        },
    ),
    "trace": ("trace", {"gpus": "8"}),
    "quote": ("quote", {"gpus": "8", "quantity": "images_per_second", "value": "4000"}),
    "quote, public": ("quote", {"quote": "horovod-512-gpus"}),
    "fleets": (
        "fleets",
        {
            "machine": "dgx-a100-80gb",
            "machines": "8",
            "how-many": "4",
            "workload": "bert-large",
            "precision": "bf16",
            "samples": "1e9",
            "purchase-price": "dgx-a100-80gb=150000,dgx-h100=350000",
            "service-years": "5",
        },
    ),
    "fleets, as typed": ("fleets", {"have": "2 x dgx-1v + 1 x dgx-1v-32gb", "buy": "2 x dgx-1v"}),
    "fits": ("fits", {"gpus": "8", "confidence": "0.9"}),
    "fits, of a transformer": (
        "fits",
        {
            "workload": "llama-2-70b",
            "accelerator": "rtx-4090",
            "gpus": "2",
            "framework": "axolotl",
            "lora": "16",
            "frozen-weights": "nf4",
            "sharding": "zero3",
            "recompute": "full",
            "sequence-length": "1024",
        },
    ),
    "diagnose": ("diagnose", {"gpus": "8", "measured": "400ms"}),
    "runs": ("runs", {}),
    "hardware": ("hardware", {"id": "ib-edr-100g"}),
    "validation": ("validation", {"mode": "specs"}),
}


def copies(test: Any) -> tuple[list[list[str]], str]:
    """The commands of a page, as words after the program's name, and its Python."""
    blocks = [str(block.value) for block in test.get("code")]
    commands = [line for block in blocks for line in block.splitlines() if line.startswith("perfmodel ")]
    (python,) = (block for block in blocks if block.startswith(("import perfmodel", "from ")))
    return [shlex.split(line)[1:] for line in commands], python


def run(python: str) -> str:
    """What a copy prints."""
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(python, "the page", "exec"), {})
    return printed.getvalue()


def predicted(test: Any, answers: list[Any], printed: str) -> None:
    (answer,) = answers
    assert of_card(test, "iteration").startswith(show(answer["iteration_time"], "s"))
    assert str(answer["iteration_time"]) in printed


def scaled(test: Any, answers: list[Any], printed: str) -> None:
    """A command for each curve, whose last points the heading names."""
    ends = [f"{answer['rows'][-1]['samples_per_second']:,.0f} images/s" for answer in answers]
    assert len(ends) == 2
    assert [word in words(test) for word in ends] == [True, True]
    assert printed.count("GPUs") == len(ends)


def shared_out(test: Any, answers: list[Any], printed: str) -> None:
    """The layouts, then the prediction and the explanation of the one whose details are shown."""
    found, prediction, explanation = answers
    first, taken, card = found["layouts"][0], found["ties"]["preferred"], found["card"]
    (shown,) = (table.value for table in test.dataframe if "layout" in table.value)
    assert shown["step [s]"][0] == first["iteration_time"]
    assert prediction["iteration_time"] == pytest.approx(taken["iteration_time"], rel=1e-9)
    assert explanation["iteration_time"] == prediction["iteration_time"]
    assert f"iteration: {card['time']}" in words(test)
    assert show(first["iteration_time"], "s") in printed
    if "tokens" in test.query_params:
        run = prediction["economics"]["run"]
        assert found["economics"]["run"] == pytest.approx({**run, "tokens": 300e9})
        assert f"run: {card['run']}" in words(test)
        assert f"cost: {card['cost']}" in words(test)


def planned(test: Any, answers: list[Any], printed: str) -> None:
    (answer,) = answers
    assert f"**{typed(plain(answer['verdict'][0]))}**" in words(test)
    assert answer["verdict"][0] in " ".join(printed.split())


def compared(test: Any, answers: list[Any], printed: str) -> None:
    (answer,) = answers
    said = cases.by_letters(sentence(printed.strip()), answer["names"])
    assert said in plain_words(test)
    first, *others = (
        show(time, "s")
        for row in answer["rows"]
        for time in row["values"]
        if row["quantity"] == "iteration_time"
    )
    (line,) = re.findall(r"\| iteration time \| (.*) \|", words(test))
    assert [cell.partition(" (")[0] for cell in line.split(" | ")] == [first, *others]


def collective(test: Any, answers: list[Any], printed: str) -> None:
    (answer,) = answers
    assert f"takes {show(answer['time'], 's')}" in words(test)
    assert show(answer["time"], "s") in printed


def straggled(test: Any, answers: list[Any], printed: str) -> None:
    every = next(row for row in answers[0] if row["variant"] == "sync")
    assert f"; {show(every['time_per_gradient'], 's')} where all wait\n" in words(test)
    assert all(show(row["update_time"], "s") in printed for row in answers[0])


def quoted(test: Any, answers: list[Any], printed: str) -> None:
    sentences = [block.value for block in test.get("code")]
    assert all(claim["sentence"] in sentences for claim in answers[0]["claims"])
    assert all(claim["verdict"] in printed for claim in answers[0]["claims"])


def sensitive(test: Any, answers: list[Any], printed: str) -> None:
    (answer,) = answers
    rows = effects(answer["inputs"], answer["iteration_time"])
    (drawn,) = (json.loads(chart.proto.spec) for chart in test.get("plotly_chart"))
    names = [label.partition(":")[0] for trace in drawn["data"] for label in trace["customdata"]]
    assert len(names) > 5
    inputs = (input_words.words_of(each.row["name"]).partition(" (")[0] for each in rows)
    assert set(names) <= {sentence(name).removesuffix(".") for name in inputs}
    assert all(row["name"] in printed for row in answer["inputs"])
    assert all(each["words"][1:] in plain_words(test) for each in answer["crossovers"])
    assert decision(rows) in plain_words(test)


def plain_words(test: Any) -> str:
    """The words of a page without what keeps them from being Markdown."""
    return words(test).replace("\\", "").replace("**", "")


def listed(test: Any, answers: list[Any], printed: str) -> None:
    assert "ib-edr-100g" in answers[0]
    assert "ib-edr-100g" in printed
    assert Catalogue.built_in().link("ib-edr-100g").name in words(test)


def fitted(test: Any, answers: list[Any], printed: str) -> None:
    (answer,) = answers
    assert f"memory: {answer['card']['memory']}" in words(test)
    for change in answer["changes"]:
        row = f" | {change['bytes'] / 2**30:.1f} GiB | {percent(change['fits_probability'])} | "
        assert row in plain_words(test)
    lines = [str(block.value) for block in test.get("code")]
    fits = answer["fits_probability"] >= answer["confidence"]
    started = answer["starts" if fits else "change_starts"]
    assert all("\n".join(known) in lines for known in started.values())
    assert answer["verdict"] in printed
    assert all(
        words in plain_words(test) for words in (answer["headline"], labelled(answer["card"]["advice"]))
    )


def diagnosed(test: Any, answers: list[Any], printed: str) -> None:
    (answer,) = answers
    assert labelled(answer["card"]["advice"]) in plain_words(test)
    assert answer["card"]["advice"] in printed
    assert all(
        cause["name"] in plain_words(test) for cause in answer["causes"] if cause["probability"] >= LEAST
    )


def enlarged(test: Any, answers: list[Any], printed: str) -> None:
    (answer,) = answers
    assert all(each in plain_words(test) for each in sentences_in(labelled(answer["card"]["advice"])))
    assert [line in printed for line in answer["words"]] == [True] * len(answer["words"])
    fleets = Fleets.model_validate(answer)
    options = [fleets.have, *startable(fleets)]
    rows = re.findall(r"^\| (.*?)(?:, .*?)? \| ", plain_words(test), re.MULTILINE)
    assert rows[2:] == [one.words for one in options]


def learned(test: Any, answers: list[Any], printed: str) -> None:
    assert samples.RUNS.partition("\n")[0] in plain_words(test).replace("<wbr>", "")
    assert f"predictions of your {len(answers[0]['rows'])} runs were off by " in printed


def traced(test: Any, answers: list[Any], printed: str) -> None:
    (change, *_) = answers[0]["recommendations"]
    assert change["change"] in plain_words(test).lower()
    assert "compute-bound" in printed


SHOWN = {
    "fleets": enlarged,
    "runs": learned,
    "diagnose": diagnosed,
    "fits": fitted,
    "predict": predicted,
    "trace": traced,
    "scale": scaled,
    "plan": planned,
    "transformers": shared_out,
    "compare": compared,
    "communication": collective,
    "sensitivity": sensitive,
    "stragglers": straggled,
    "quote": quoted,
    "hardware": listed,
}


@pytest.mark.parametrize("name", ASKED)
def test_what_a_page_copies_runs_and_gives_what_it_shows(name, invoke, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page, query = ASKED[name]
    copied(opened(page, **query), name, invoke)


def copied(test: Any, name: str, invoke: Any) -> list[list[str]]:
    """Run what a page copies, which gives what it shows; return the commands."""
    page, query = ASKED[name]
    assert not test.error
    if name == "quote":
        picked = {**query, "gpus": 8}
        Path("quote.toml").write_text(quotes.as_toml(quotes.filled_in(picked)), "utf-8")  # as downloaded
    if page == "runs":
        Path(samples.RUNS_NAME).write_text(samples.RUNS, "utf-8")  # as downloaded
    if page == "trace":
        Path(samples.TRACE_NAME).write_bytes(samples.trace())  # as downloaded
    commands, python = copies(test)
    printed = run(python)
    assert printed.strip()
    if page == "validation":  # forty seconds of fits
        assert commands == [["validate", "--out-of-sample", "--mode", "specs"]]
        return commands
    answers = []
    for command in commands:
        done = invoke(*command, *([] if page == "hardware" else ["--json"]))
        assert done.exit_code == 0 or page in ("quote", "fits"), done.stderr
        answers.append(done.stdout if page == "hardware" else json.loads(done.stdout))
    SHOWN[page](test, answers, printed)
    return commands


OWN = {
    "accelerators/v100-sxm2-16gb": ("[memory_bandwidth]\nvalue = 900e9", "[memory_bandwidth]\nvalue = 700e9"),
    "accelerators/h100-sxm5-80gb": ("value = 3.35e12", "value = 2e12"),
    "links/ib-edr-100g": ("[bandwidth]\nvalue = 12.5e9", "[bandwidth]\nvalue = 5e9"),
}
"""Built-in specs -> what a file of one's own of the same id says otherwise."""
WITH_OWN_SPECS = [
    name for name, (page, _) in ASKED.items() if file_marks.USED.get(page) not in (None, ("times",))
]


@pytest.mark.any_version
@pytest.mark.parametrize("name", [each for each in WITH_OWN_SPECS if ", " not in each])
def test_copies_take_hardware_of_ones_own_along(name, invoke, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for id, (number, other) in OWN.items():
        text = (folder("hardware_specs") / f"{id}.toml").read_text("utf-8")
        assert number in text
        Path(f"{id.partition('/')[2]}.toml").write_text(text.replace(number, other), "utf-8")
    files = {path.name: path.read_bytes() for path in sorted(tmp_path.iterdir())}
    marks = file_marks.marks_text(file_marks.mark_of(*file) for file in files.items())
    page, query = ASKED[name]
    test = opened(page, **query, **{"own-specs": marks})
    uploads = [(name, content, "application/toml") for name, content in files.items()]
    sound(test.file_uploader(key="missing-specs").set_value(uploads).run())
    commands = copied(test, name, invoke)
    assert all(command.count("--specs") == len(OWN) for command in commands)
    assert ("Catalogue([" in copies(test)[1]) == (page != "trace")  # its Python sums up the file alone


def test_what_the_page_of_a_trace_copies_runs_on_the_file(invoke, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, content, kind = a_trace()
    Path("my step.json").write_bytes(content)
    test = handed_over(("my step.json", content, kind), **{"gpus": "2", "local-batch-size": "32"})
    (command,), python = copies(test)
    answer = json.loads(invoke(*command, "--json").stdout)
    device = answer["devices"][0]
    assert f"{show(device['iteration_time'], 's')} a step" in words(test)
    assert f"'iteration_time': {device['iteration_time']}" in run(python)


@pytest.mark.parametrize("described", [True, False])
def test_a_trace_is_advised_on_as_its_command_does(invoke, tmp_path, monkeypatch, described):
    monkeypatch.chdir(tmp_path)
    name, content, _ = a_trace()
    Path(name).write_bytes(content)
    test = handed_over(a_trace(), **(TRACED if described else {"gpus": "2"}))
    (command,), _ = copies(test)
    assert ("--workload resnet50" in " ".join(command)) is described
    rows = json.loads(invoke(*command, "--json").stdout)["recommendations"]
    shown = [frame.value for frame in test.dataframe if "change" in frame.value]
    assert [list(frame["change"]) for frame in shown] == ([[row["change"] for row in rows]] if rows else [])


def test_a_profile_goes_only_with_commands_that_take_one():
    test = handed_over(a_trace(), **TRACED)
    button(test, "Calibrate on this trace").click()
    sound(test.run())
    for page, takes in (("scale", True), ("hardware", False)):
        test.switch_page(f"views/{page}.py")
        test.query_params.clear()
        sound(test.run())
        assert all(("--profile" in command) is takes for command in copies(test)[0])
