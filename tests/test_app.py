"""The app's logic: every page runs, at the extremes of its widgets, and says what the library says."""

from __future__ import annotations

import doctest
import json
import os
import re
import socket
from html import unescape
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

if "CI" not in os.environ:  # there, pages nobody has looked at are a failure
    pytest.importorskip("streamlit")
from streamlit.testing.v1 import AppTest

import perfmodel
from app.menu import FIRST, PAGES, UNKNOWN
from app.options import SCENARIO, options
from app.plain import plain
from perfmodel.core.sentences import interval_80
from perfmodel.core.units import duration, per_cent, show, show_range
from perfmodel.decide.explanations import explain
from perfmodel.decide.planning import Goal, search
from perfmodel.decide.planning.plan_verdict import verdict
from perfmodel.evidence.traces.timeline import timeline
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.machine_words import several_words
from perfmodel.interfaces.api.predict import predicted
from perfmodel.interfaces.cli.app import streamlit_words
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.prediction.alone import efficiency_range

MAIN = Path(__file__).parents[1] / "app" / "main.py"
NONSENSE = {
    "gpus": "-3",
    "workload": "resnet5",
    "accelerator": "../../etc/passwd",
    "inter-link": "x" * 1000,
    "strategy": "<script>alert(1)</script>",
    "jitter": "empirical:/etc/passwd",
    "local-batch-size": "1e9",
    "anchor": "iteration_time=NaN",
    "no-such-option": "1",
}


FOLDS = {
    "predict": (
        "More options",
        "Prices, power, failures",
        "Equations behind the bars",
        "Money, energy, carbon",
        "Nearest measured runs",
    ),
    "scale": ("As a table",),
    "compare": ("B, where it differs from A",),
    "stragglers": (
        "Error against wall clock, of an example objective",
        "What staleness leaves of the learning rate",
        "How much to synchronise as the error falls",
        "As a table",
    ),
    "communication": (
        "By algorithm: message sizes, numbers of GPUs",
        "The same bytes as gradients, compressed",
        "Where parameter servers run",
    ),
    "plan": (
        "More options",
        "How it would be started",
        "Machines without a price, plans left out, what was assumed",
    ),
    "transformers": (
        "A network of your own",
        "Which layouts are listed",
        "How it would be started",
        "Money, energy, carbon",
    ),
    "validation": (
        "The report in short: errors, their limits, and the coverage of intervals",
        "What the model does not cover",
    ),
}
"""What is folded away."""


NARROW = {
    "plan": {"accelerators": "v100-sxm2-16gb", "instances": "p3.16xlarge", "epochs": "1", "max-gpus": "8"},
    "fleets": {
        "machine": "dgx-1v",
        "machines": "2",
        "add": "dgx-1v",
        "workload": "resnet50",
        "purchase-price": "dgx-1v=30000",
    },
}
"""URLs that keep a search short, and ask for nothing that is missing."""


def opened(page: str = "predict", **query: str) -> AppTest:
    """A page as a URL opens it."""
    test = AppTest.from_file(str(MAIN), default_timeout=120)
    if page != FIRST[0]:
        test.run()
        test.switch_page(f"views/{page}.py")
        test.query_params.clear()
    for name, value in query.items():
        test.query_params[name] = value
    return sound(test.run())


def sound(test: AppTest) -> AppTest:
    assert not test.exception, [error.message for error in test.exception]
    return test


def words(test: AppTest) -> str:
    """The texts of a page; the reasons listed below what a card advises as sentences behind it."""
    shown = (*test.subheader, *test.markdown, *test.caption, *test.warning, *test.info)
    texts = [str(element.value) for element in shown]
    joined = [text.replace("\n- ", " ") if text.startswith("**") else text for text in texts]
    return typed("\n".join([*joined, *cards(test)]))


def typed(text: str) -> str:
    """A text of a page as a keyboard types it, with plain spaces and hyphens in numbers with units."""
    return text.replace("\u00a0", " ").replace("\u2060-\u2060", "-")


def cards(test: AppTest) -> list[str]:
    """The texts of answer cards, a line for each row; of scripts and styles nothing."""
    bodies = [each.proto.body for each in test.get("html") if each.proto.body.startswith(("<dl", "<div"))]
    broken = [re.sub("</dd>|</div>", "\n", body.replace("</dt><dd>", ": ")) for body in bodies]
    return [typed(unescape(re.sub("<[^>]*>", "", text))) for text in broken]


def large_figures(test: AppTest) -> list[str]:
    """The values of the large figures of answer cards, without what stands below them."""
    found = re.findall(r'class="answer-(?:value|words)">(.*?)</div>', "".join(map(_body, test.get("html"))))
    return [typed(unescape(re.sub("<[^>]*>", "", value))) for value in found]


def _body(element: Any) -> str:
    return str(element.proto.body)


def of_card(test: AppTest, label: str) -> str:
    """The text of a row of a page's answer card."""
    return next(line for line in cards(test)[-1].splitlines() if line.startswith(label)).split(": ", 1)[1]


def errors(test: AppTest) -> str:
    return typed("\n".join(error.value for error in test.error))


@pytest.mark.parametrize("page", [name for name, _ in (FIRST, *PAGES)])
def test_every_page_opens_with_a_plain_sentence_on_top(page):
    test = opened(page)
    assert not test.error
    assert test.subheader
    assert any(element.value.startswith("**") for element in test.markdown)
    for value in large_figures(test):
        assert value.count("(") == value.count(")"), value


def test_numbers_are_the_librarys_own():
    test = opened(gpus="16", workload="vgg16")
    answer = predict(Scenario(workload="vgg16", world_size=16))
    found = {metric.label: metric.value for metric in test.metric}
    assert of_card(test, "iteration") == answer.time_words
    assert found["Efficiency (weak scaling)"] == f"{100 * answer.scaling_efficiency:.1f} %"
    ends = efficiency_range(answer, predict(Scenario(workload="vgg16", world_size=1)))
    below = next(metric.delta for metric in test.metric if metric.label.startswith("Efficiency"))
    assert typed(below) == f"80 %: {' to '.join(per_cent(end, 0) for end in ends)}"
    assert answer.verdict[1:] in words(test)
    downloads = {button.proto.label for button in test.get("download_button")}
    assert downloads == {"Download CSV", "Download JSON", "Download report"}


@pytest.mark.parametrize(("name", "value"), NONSENSE.items())
def test_nonsense_in_a_url_is_told_and_kept(name, value):
    test = opened(**{name: value})
    named = name != "anchor" and name in options()
    assert (f"“{plain(options()[name].label)}”" if named else name) in errors(test)
    assert test.query_params[name] == value
    assert not test.metric
    if name == "anchor":  # can be read; it is the answer that cannot be given
        return
    sound(test.button(key="forgive").click().run())
    assert not test.error
    assert name not in test.query_params


def test_a_url_is_what_its_widgets_say():
    query = {"workload": "bert-base", "gpus": "64", "sequence-length": "128", "jitter": "lognormal:cv=0.1"}
    test = opened(**query)
    test.session_state["fold-More options"] = True
    sound(test.run())
    assert test.selectbox(key="option-workload").value == "bert-base"
    assert test.number_input(key="option-gpus").value == 64
    assert test.text_input(key="option-jitter").value == "lognormal:cv=0.1"
    assert dict(test.query_params) == query
    sound(test.number_input(key="option-gpus").set_value(8).run())
    assert test.query_params["gpus"] == "8"
    assert test.subheader[0].value == "How fast is BERT base on 8 V100s?"


def test_a_scenario_goes_along_to_the_next_page():
    test = opened(workload="alexnet")
    test.switch_page("views/scale.py")
    test.query_params.clear()
    sound(test.run())
    assert test.subheader[0].value.startswith("How far does AlexNet scale on ")
    assert test.query_params["workload"] == "alexnet"


SHARED = {f"option-{name}" for name in SCENARIO}
"""Widgets of every page of a scenario, tried on one of them."""


@pytest.mark.any_version  # every page opens with the lowest versions; what a widget's extreme does is ours
@pytest.mark.parametrize("page", [name for name, _ in PAGES])
def test_the_extremes_of_every_widget(page):
    test = opened(page, **NARROW.get(page, {}))
    for key in FOLDS.get(page, ()):
        test.session_state[f"fold-{key}"] = True
    sound(test.run())
    tried = {"option-id"} | (SHARED if page != "predict" else set())
    extremes = [
        *(
            ("selectbox", box.key, box.options[-1], box.value if "form" not in box.key else box.options[0])
            for box in test.selectbox
        ),
        *(("number_input", number.key, number.max, number.value) for number in test.number_input),
        *(("text_input", field.key, "1e400", field.value) for field in test.text_input),
        *(("multiselect", several.key, several.options[:6], several.value) for several in test.multiselect),
    ]
    for kind, key, extreme, usual in extremes:
        if key in tried:
            continue
        if not shows(test, kind, key):  # what the extreme before took from the page comes back
            sound(test.run())
        sound(getattr(test, kind)(key=key).set_value(extreme).run())
        getattr(test, kind)(key=key).set_value(usual)  # in the run that tries the next
    for slider in list(sound(test.run()).slider):
        for value in (slider.min, slider.max):
            sound(test.slider(key=slider.key).set_value(value).run())


def shows(test: AppTest, kind: str, key: str) -> bool:
    return any(widget.key == key for widget in getattr(test, kind))


@pytest.mark.parametrize("asked", [{}, {"strategy": "parameter-server"}])
def test_equations_behind_the_bars_are_those_that_ran(asked):
    test = opened(gpus="8", **asked)
    test.session_state["fold-Equations behind the bars"] = True
    sound(test.run())
    scenario = Scenario(workload="resnet50", accelerator="v100-sxm2-16gb", world_size=8, **asked)
    found = explain(scenario).equations
    assert [element.value.strip("$\n ") for element in test.latex] == [each.latex for each in found]
    shown = words(test)
    for each in found:
        assert typed(plain(f"({each.number}) {each.title}")) in typed(shown)


def test_what_cannot_be_is_told_where_the_answer_would_stand():
    test = opened(accelerator="k80", precision="bf16")
    assert "bf16" in errors(test)
    assert not test.metric


@pytest.mark.parametrize(
    "module",
    [
        "options",
        "layout",
        "plan_form",
        "looks",
        "axes",
        "no_effect",
        "layout_search",
        "menu",
        "titles",
        "assumed",
        "answer_card",
    ],
)
def test_worked_examples(module):
    assert doctest.testmod(import_module(f"app.{module}")).failed == 0


def test_the_app_listens_on_loopback_and_reports_to_nobody(invoke):
    told = json.loads(invoke("app", "--check", "--json").stdout)
    assert told["url"] == "http://127.0.0.1:8501"
    assert told["ready"] or told["reason"]
    settings = dict(zip(told["command"][3::2], told["command"][4::2], strict=True))
    assert settings["--browser.gatherUsageStats"] == "false"
    assert settings["--server.address"] == "127.0.0.1"
    assert "0.0.0.0" in streamlit_words("0.0.0.0", 80)


def test_an_address_that_is_taken_or_nobodys_is_told(invoke):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        for words in (
            ["--port", taken.getsockname()[1]],
            ["--host", "no such host"],
            ["--host", "192.0.2.1"],
        ):
            done = invoke("app", *words)
            assert done.exit_code == 2
            assert "cannot listen on" in done.stderr
            assert invoke("app", "--check", *words).exit_code == 1


def test_without_streamlit_the_command_says_what_to_install(invoke, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    done = invoke("app", "--check")
    assert done.exit_code == 2
    assert "perfmodel[app]" in done.stderr
    assert "Traceback" not in done.output


def test_an_accelerator_of_ones_own_is_offered_everywhere_in_this_session_alone():
    test = opened("hardware")
    test.text_input(key="form-id").set_value("mine")
    test.text_input(key="form-memory_bandwidth").set_value("1.8TB/s")
    sound(submitted(test, 0).run())
    assert "mine is checked" in "\n".join(element.value for element in test.success)
    test.switch_page("views/predict.py")
    test.query_params.clear()
    sound(test.run())
    assert "mine" in test.selectbox(key="option-accelerator").options
    test.selectbox(key="option-accelerator").set_value("mine").run()
    assert "mine has no usual machine" in errors(test)  # of 32, whose network nobody names
    sound(test.selectbox(key="option-node").set_value("pcie-workstation-8gpu").run())
    assert typed(test.subheader[0].value) == "How fast is ResNet-50 on 32 x mine?"
    assert "mine" in errors(opened(accelerator="mine"))


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "id"),
        ("id = ", "not TOML"),
        ('id = "../x"', "id"),
        ('id = "x"\nbandwidth = 1', "x.toml"),
        ("x" * 200_000, "characters"),
        ('id = "k80"\npeak_flops = {}\ncolour = "red"', "name: the key is missing"),
    ],
)
def test_a_spec_of_ones_own_is_checked_as_strictly_as_the_files(text, wrong):
    test = opened("hardware")
    test.text_area(key="toml-text").set_value(text)
    sound(submitted(test, 1).run())
    assert wrong in errors(test)
    assert not test.success
    assert "/" not in errors(test).replace("../", "").split(":")[0]


def submitted(test: AppTest, index: int) -> AppTest:
    """Press the button of one of a page's forms."""
    [button for button in test.button if button.label == "Check and use it"][index].click()
    return test


def test_times_of_ones_own_are_a_law(tmp_path):
    test = opened("stragglers")
    test.file_uploader(key="times-file").set_value(("times.csv", b"1.0\n1.1\n1.0\n3.0\n", "text/csv"))
    sound(test.run())
    assert "empirical" in words(test)
    test.file_uploader(key="times-file").set_value(("times.csv", b"\x00\xff\x00", "text/csv"))
    sound(test.run())
    assert "times.csv" in errors(test)
    assert "/" not in errors(test)


TRACED = {"gpus": "2", "workload": "resnet50", "precision": "amp", "local-batch-size": "32"}
"""The job of ``a_trace``, as a URL says it."""


def a_trace(ranks: int = 2) -> tuple[str, bytes, str]:
    answer = predict(Scenario(world_size=ranks, local_batch_size=32))
    return "step.json", json.dumps(timeline(answer)).encode(), "application/json"


def test_a_trace_is_seen_calibrated_on_and_carried_to_the_other_pages():
    test = opened("trace", **TRACED)
    test.file_uploader(key="trace-files").set_value([a_trace()])
    sound(test.run())
    assert "step.json" in of_card(test, "machines")
    button(test, "Calibrate on this trace").click()
    sound(test.run())
    assert "resnet50 on v100-sxm2-16gb" in test.success[0].value
    plain = opened(**TRACED).metric[0].value
    test.switch_page("views/predict.py")
    test.query_params.clear()
    sound(test.run())
    assert test.checkbox(key="use-profile").value
    carried = test.metric[0].value
    assert "--profile step-profile.toml" in "\n".join(code.value for code in test.code)
    sound(test.checkbox(key="use-profile").uncheck().run())
    assert test.metric[0].value == plain
    sound(test.checkbox(key="use-profile").check().run())
    assert test.metric[0].value == carried


def test_a_trace_shows_what_profilers_show_and_what_would_save_time():
    size = {"device": 0, "blocks per SM": 0.5, "est. achieved occupancy %": 40}
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    held = {"Device Type": 1, "Device Id": 0, "Bytes": 1 << 30, "Addr": 1, "Total Allocated": 2 << 30}
    events = [
        {"ph": "X", "name": name, "cat": category, "ts": start, "dur": long, "pid": 1, "args": arguments}
        for name, category, start, long, arguments in (
            ("ProfilerStep#1", "user_annotation", 0, 2000, {}),
            (loader, "user_annotation", 0, 900, {}),
            ("sgemm", "kernel", 1000, 900, size),
        )
    ]
    events.append({"ph": "i", "name": "[memory]", "ts": 500, "args": held})
    test = opened("trace", **{"local-batch-size": "32"})
    file = ("own.json", json.dumps({"traceEvents": events}).encode(), "application/json")
    test.file_uploader(key="trace-files").set_value([file])
    sound(test.run())
    shown = [table.value.to_string() for table in test.dataframe]
    assert "1 loader worker in place" in words(test)
    assert any("22.5 %" in text and "40.0 %" in text for text in shown)
    assert any("held before the trace began" in text for text in shown)
    assert any("user_annotation" not in text and "ProfilerStep#" in text for text in shown)


def test_leaving_every_step_of_a_trace_out_is_refused():
    test = opened("trace", skip="9")
    test.file_uploader(key="trace-files").set_value([a_trace()])
    sound(test.run())
    assert "--skip 9 leaves none" in errors(test)


def test_a_long_line_of_a_file_makes_no_long_error():
    test = opened("stragglers")
    test.file_uploader(key="times-file").set_value(
        [("mine.csv", b"1.0\n2.0," + b"y" * 3_000_000, "text/csv")]
    )
    sound(test.run())
    assert "mine.csv, line 2, column 5 must be a finite number" in errors(test)
    assert len(errors(test)) < 500


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[[[[", b"\x00" * 5000, b"SQLite format 3\x00", b"\x1f\x8b\x08junk", b"hello\n" * 99],
)
def test_junk_is_refused_as_a_trace(content):
    test = opened("trace")
    test.file_uploader(key="trace-files").set_value([("../../junk.json", content, "application/json")])
    sound(test.run())
    assert "junk.json" in errors(test)
    assert "/" not in errors(test).split(":")[0]


def button(test: AppTest, label: str) -> Any:
    return next(button for button in test.button if button.label == label)


def test_a_plan_to_a_target_is_predicted_with_the_targets_samples():
    test = opened("plan", workload="bert-large", instances="p3.16xlarge", deadline="9d", **{"max-gpus": "8"})
    button(test, "Predict the chosen plan").click()
    test.run()
    assert test.query_params["sequence-length"] == "256"


def test_the_time_to_train_by_a_recipe_stands_on_the_page_with_its_framework():
    query = {"gpus": "64", "accelerator": "v100-sxm2-16gb", "recipe": "mlperf"}
    page = opened("predict", **query)
    shown = {metric.label: metric.value for metric in page.metric}
    answer = predicted(Scenario(gpus=64, accelerator="v100-sxm2-16gb"), Catalogue.built_in(), recipe="mlperf")
    assert shown["Time to target"] == duration(answer.time_to_target["time"])
    assert "recipe mlperf with framework mxnet-ngc" in words(page)
    assert "--recipe" not in words(page)
    (below,) = [metric.delta for metric in page.metric if metric.label == "Time to target"]
    spread, time = answer.prediction.interval, answer.time_to_target["time"]
    ends = [time * end / answer.prediction.iteration_time for end in (spread.low_80, spread.high_80)]
    assert below == f"80 %: {show_range(*ends, 's')}"
    assert "does not predict the next token" in errors(opened("predict", **(query | {"recipe": "tokens"})))


def test_a_plan_is_what_the_search_finds_and_leads_to_its_prediction():
    test = opened("plan", **NARROW["plan"])
    found = search(Goal(accelerators=("v100-sxm2-16gb",), instances=("p3.16xlarge",), epochs=1.0, max_gpus=8))
    assert test.markdown[0].value == f"**{plain(verdict(found)[0])}**"
    button(test, "Predict the chosen plan").click()
    sound(test.run())
    chosen = found.chosen
    assert (
        test.subheader[0].value == f"How fast is ResNet-50 on {several_words(chosen['world_size'], 'V100')}?"
    )
    assert of_card(test, "iteration").startswith(show(chosen["iteration_time"], "s"))


def test_a_claim_is_judged_as_the_command_line_does():
    query = {"accelerator": "v100-sxm2-16gb", "gpus": "8", "quantity": "scaling_efficiency", "value": "150%"}
    page = opened("quote", **query)
    assert "impossible" in words(page)
    assert any(
        code.value.startswith("The quote claims scaling efficiency of 150 % for ") for code in page.code
    )
    days = {"gpus": "64", "node": "dgx-h100", "workload": "llama-3-8b", "quantity": "days_to_train"}
    page = opened("quote", **days, value="0.5", tokens="1T")
    assert any("Physics needs at least" in code.value for code in page.code)
    assert "impossible" in words(page)
    assert "'fast'" in errors(opened("quote", **(query | {"value": "fast"})))
    assert "from_gpus" not in errors(opened("quote", **(query | {"quantity": "mfu", "from-gpus": "4"})))


def test_a_quote_that_was_handed_over_is_checked():
    test = opened("quote")
    text = 'title = "Mine"\n[[claims]]\nquantity = "mfu"\nvalue = "330%"\n'
    test.file_uploader(key="quote-file").set_value(("mine.toml", text.encode(), "application/toml"))
    sound(test.run())
    assert test.subheader[0].value == "Will this hold? Mine"
    assert "impossible" in words(test)
    for wrong in ("title = 3", f"{text}[scenario]\nworkload = '/etc/passwd'"):
        test.file_uploader(key="quote-file").set_value(("mine.toml", wrong.encode(), "application/toml"))
        sound(test.run())
        assert "mine.toml" in errors(test) or "unknown workload" in errors(test)


def test_the_apps_modules_stay_readable():
    modules = [*MAIN.parent.glob("*.py"), *MAIN.parent.glob("views/*.py")]
    assert {path.stem for path in MAIN.parent.glob("views/*.py")} == {name for name, _ in (FIRST, *PAGES)} | {
        UNKNOWN
    }
    assert all(path.read_text().startswith('"""') for path in modules)
    assert max(len(path.read_text().splitlines()) for path in modules) <= 400


def test_a_flag_is_said_or_denied_as_on_the_command_line():
    query = {"strategy": "parameter-server", "gpus": "32", "workload": "vgg16"}
    shown = {}
    for said, flag in ((None, ""), ("yes", "--local-aggregation"), ("no", "--no-local-aggregation")):
        test = opened(**(query if said is None else query | {"local-aggregation": said}))
        wanted = predict(
            Scenario(
                workload="vgg16", world_size=32, strategy="parameter-server", local_aggregation=said != "no"
            )
        )
        assert of_card(test, "iteration") == wanted.time_words
        commands = " ".join(code.value for code in test.code).split()
        said_of_it = {word for word in commands if "aggregation" in word and "=" not in word}
        assert said_of_it == ({flag} if flag else set())
        shown[said] = of_card(test, "iteration")
    assert shown[None] == shown["yes"] != shown["no"]
    assert "local-aggregation" in errors(opened(**(query | {"local-aggregation": "maybe"})))


def test_servers_stay_with_the_strategy_that_has_them():
    query = {"strategy": "parameter-server", "servers": "4", "strategies": "all-reduce", "gpus": "8,16"}
    test = opened("scale", **query)
    assert not test.error
    figure = json.loads(test.get("plotly_chart")[0].proto.spec)
    assert "parameter-server (chosen)" in {trace.get("name") for trace in figure["data"]}
    assert re.search(r"all-reduce: [\d,]+ images/s \(80 %: ", words(test))


def test_text_of_others_is_shown_and_never_read_as_markdown():
    test = opened("predict", **{"workload": "![x](http://192.0.2.1/x.png)", "[free](http://192.0.2.1/)": "1"})
    shown = errors(test)
    assert "\\!\\[x\\](http:\u2060//192.0.2.1/x.png)" in shown
    assert "\\[free\\]" in shown
    assert "http://" not in shown


def test_collectives_stand_beside_measured_ones_and_take_an_accelerator():
    test = opened("communication", accelerator="h100-sxm5-80gb", ranks="64", size="1GB")
    assert not test.error
    assert "machines: 64 x H100 SXM5 80 GB on 8 machines, 8 x InfiniBand NDR 400 Gbit/s" in words(test)
    figure = json.loads(test.get("plotly_chart")[0].proto.spec)
    names = [trace["name"] for trace in figure["data"]]
    answer = perfmodel.collective(ranks=64, size="1GB", accelerator="h100-sxm5-80gb")
    assert f"1 GB: {show(answer.time, 's')}, {show(answer.bus_bandwidth, 'B/s')}" in names
    assert {"predicted", "80 % interval"} <= set(names)
    assert len({name for name in names if name.startswith("measured by ")}) == 3
    commands = [code.value for code in test.code]
    assert any("collective" in line and "--accelerator h100-sxm5-80gb" in line for line in commands)
    (python,) = (line for line in commands if "perfmodel.collective(" in line)
    exec(compile(python, "the page", "exec"), {"print": lambda found: commands.append(found)})
    assert commands[-1].nodes == 8


def test_the_page_of_collectives_takes_a_machine_and_racks():
    where = {"node": "dgx-a100-80gb", "rack-nodes": "4", "oversubscription": "8", "placement": "random"}
    test = opened("communication", ranks="64", size="1GB", **where)
    assert not test.error
    test.session_state["fold-What was assumed"] = True
    assert "acks of 4 machines, filled in random order" in words(test.run())
    (line,) = (code.value for code in test.code if code.value.startswith("perfmodel collective"))
    assert all(f"--{option} {value}" in line for option, value in where.items())
    assert "--accelerator" not in line
    (python,) = (code.value for code in test.code if "perfmodel.collective(" in code.value)
    answers: list[Any] = []
    exec(compile(python, "the page", "exec"), {"print": answers.append})
    assert "racks of 4 nodes" in answers[0].warnings[-1]


def test_collectives_begin_with_the_usual_accelerator_and_say_so():
    test = opened("communication")
    test.session_state["fold-What was assumed"] = True
    test.run()
    assert "* “Accelerator” V100 SXM2 16 GB, by default." in words(test)
    assert re.search(r"\* “Machine” .*DGX-1.*, the usual machine of V100 SXM2 16 GB", words(test))
    assert any("--accelerator v100-sxm2-16gb" in code.value for code in test.code)
    assert re.search(r"It takes [\d.]+ m?s \(80 %: [\d.]+ m?s to [\d.]+ m?s\), at", words(test))
    other = words(opened("communication", ranks="32"))
    assert "The dotted curves were measured on other hardware (A100 SXM4 40 GB" in other


def by_algorithm(**query: str) -> Any:
    """The page of collectives with the charts of all algorithms."""
    test = opened("communication", **query)
    test.session_state["fold-By algorithm: message sizes, numbers of GPUs"] = True
    return sound(test.run())


@pytest.mark.parametrize(
    "query",
    [
        {"ranks": "12", "nodes": "2", "node": "dgx-1v"},
        {"ranks": "12", "intra-link": "pcie3-x16", "inter-link": "ib-edr-100g"},
        {"ranks": "72", "node": "gcp-a4x-highgpu-4g"},
        {"ranks": "3", "intra-link": "nvlink3-quad-mesh"},
    ],
)
def test_any_number_of_ranks_that_spreads_evenly_is_drawn(query):
    test = by_algorithm(**query)
    assert not test.error
    assert len(test.get("plotly_chart")) == 3


@pytest.mark.parametrize(
    ("shown", "title"), [("time", "time of one exchange"), ("bus-bandwidth", "bus bandwidth")]
)
def test_one_chart_of_a_collective_has_room_for_its_labels(shown, title):
    test = opened("communication", accelerator="h100-sxm5-80gb", ranks="64", size="1GB", show=shown)
    figure = json.loads(test.get("plotly_chart")[0].proto.spec)
    assert figure["layout"]["yaxis"]["title"]["text"] == title
    assert len(figure["layout"]["xaxis"]["ticktext"]) <= 5
    lines = [line for trace in figure["data"] for line in trace["name"].split("<br>")]
    assert max(map(len, lines)) <= 54  # of a legend that begins at the left edge of a phone
    assert len(lines) == len(figure["data"])  # each a line, so that the legend is no higher than the chart
    assert figure["layout"]["legend"]["xref"] == "container"
    assert len(figure["layout"]["xaxis"]["minor"]["tickvals"]) == 8  # a line at each power of ten
    card = words(test)
    assert "; the links allow at most " in card
    assert "the bandwidth of the links; latency alone takes " in card


def test_where_the_fastest_changes_is_labelled_at_the_place():
    test = by_algorithm()
    layout = json.loads(test.get("plotly_chart")[1].proto.spec)["layout"]
    marked = [shape["x0"] for shape in layout["shapes"]]
    assert marked
    assert [10 ** note["x"] for note in layout["annotations"]] == pytest.approx(marked)


def test_an_unmeasured_network_is_named_on_the_page():
    test = opened("communication", **{"intra-link": "pcie3-x16", "inter-link": "cray-aries", "ranks": "16"})
    assert "wider: fewer than two sources measured collectives over aries" in words(test)


def test_what_staleness_leaves_of_a_learning_rate_is_listed_by_variant():
    test = opened("stragglers")
    test.session_state["fold-What staleness leaves of the learning rate"] = True
    sound(test.run())
    shown = next(table.value for table in test.dataframe if "mean staleness" in table.value)
    rates = shown.set_index("variant")
    assert rates.loc["sync", "mean staleness"] == rates.loc["sync", "own staleness"] == "100.0 %"
    assert rates.loc["async", "mean staleness"] == f"{100 / 15:.1f} %"  # of sixteen workers


def test_gradients_of_a_message_are_compressed_as_the_command_does():
    test = opened("communication", ranks="16", size="100MB")
    test.session_state["fold-The same bytes as gradients, compressed"] = True
    sound(test.run())
    shown = next(table.value for table in test.dataframe if "scheme" in table.value)
    assert [*shown["scheme"]][:2] == ["fp16", "topk:0.01"]
    answer = perfmodel.compression(gpus=16, size=100e6, accelerator="v100-sxm2-16gb")
    assert list(shown["in all"]) == [show(row.time, "s") for row in answer.rows]


def test_placements_of_servers_are_those_of_the_command():
    test = opened("communication", ranks="64", size="100MB", servers="4", node="dgx-1v")
    test.session_state["fold-Where parameter servers run"] = True
    sound(test.run())
    shown = next(table.value for table in test.dataframe if "where they run" in table.value)
    answer = perfmodel.servers(workers=8, servers=4, gradient_size=100e6, inter_link="ib-edr-100g")
    assert list(shown["push and pull"]) == [show(row.time, "s") for row in answer.rows]
    alone = opened("communication", ranks="8", size="100MB", node="dgx-1v")
    alone.session_state["fold-Where parameter servers run"] = True
    assert any("All GPUs lie in one machine" in each.value for each in sound(alone.run()).info)


def test_grids_and_racks_are_drawn_where_they_are_chosen():
    chosen = {"algorithms": "torus,multi-ring,ring", "rack-nodes": "2", "oversubscription": "4"}
    test = by_algorithm(ranks="64", node="dgx-1v", **chosen)
    names = {line["name"] for line in json.loads(test.get("plotly_chart")[1].proto.spec)["data"]}
    assert {"torus", "multi-ring", "ring"} <= names


def test_adaptive_synchrony_is_that_of_the_command():
    test = opened("stragglers", workers="8", **{"communication-time": "0.5s"})
    test.session_state["fold-How much to synchronise as the error falls"] = True
    sound(test.run())
    shown = next(table.value for table in test.dataframe if "K of K-sync" in table.value)
    answer = perfmodel.adaptive_synchrony(workers=8, communication_time="0.5s")
    assert list(shown["K of K-sync"]) == [each.k_sync for each in answer.choices]
    assert list(shown["local steps of local SGD"]) == [each.local_steps for each in answer.choices]


def test_stragglers_say_which_strategy_to_take_what_it_gains_and_what_it_costs():
    rows = {row.variant: row for row in perfmodel.stragglers(workers=16, k=8).rows}
    said = words(opened("stragglers"))
    every, fastest = rows["sync"].time_per_gradient, rows["async"].time_per_gradient
    lost = f"{100 * (1 - fastest / every):.0f}"
    assert f"Waiting for the slowest costs 16 workers {lost} % of their time, by the example" in said.replace(
        "\\", ""
    )
    assert f"Average the parameters after 10 local steps (local-sgd): {every / 0.1646:.2f} x as many" in said
    assert "so they have no interval; with a grey line, they are proven to lie between its ends" in said
    assert every / rows["local-sgd"].time_per_gradient == pytest.approx(every / 0.1646, abs=0.005)
    assert f"{lost} %\nof the workers' time" in said
    assert "those of waiting for all: averages local steps (local\u2011sgd)" in said
    own = words(opened("stragglers", distribution="exponential", param="rate=2"))
    assert "example distribution" not in own
    assert (
        f"from parameters {rows['async'].mean_staleness:.0f} updates old" in said
    )  # faster, and not what to take
    alike = words(opened("stragglers", distribution="uniform", param="low=1,high=1.001"))
    assert "waiting for fewer of them gains nothing" in alike


def test_an_exchange_is_told_by_its_time_and_its_limit():
    where = {"node": "dgx-1v", "inter_link": "ethernet-100g-tcp"}
    answer = perfmodel.collective(ranks=32, size="100MB", **where)
    said = words(opened("communication", ranks="32", node="dgx-1v", **{"inter-link": "ethernet-100g-tcp"}))
    ends = interval_80(answer.interval.low_80, answer.interval.high_80, "s")
    assert f"**It takes {show(answer.time, 's')} ({ends}), at a bus bandwidth of " in said
    assert "limit: the kernel's TCP (" in said
