"""The answer card: one record, the same on every way out of every command that has one."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from typing import Any

import pytest

import perfmodel
from app.looks import labelled
from perfmodel.core.drawing import POINT, WIDTH, drawn
from perfmodel.decide.planning.fleets.card import advice_beside_chart as fleets_beside_chart
from perfmodel.decide.planning.fleets.result import Fleets
from perfmodel.decide.quote import check_quote, read_quote
from perfmodel.decide.quote.card import advice_beside_chart
from perfmodel.interfaces.function_names import function_name
from perfmodel.interfaces.register import command
from perfmodel.interfaces.service.application import application
from perfmodel.interfaces.service.commands import COMMANDS
from perfmodel.interfaces.service.schema import openapi
from perfmodel.model.prediction.answer_card import Card
from tests.asgi import Caller
from tests.test_app import cards, opened, words

LLAMA = {"workload": "llama-3-8b", "node": "dgx-h100"}
LORA = {"lora": 16, "frozen_weights": "nf4", "sharding": "zero3", "recompute": "full"}
V100 = {"gpus": 8, "node": "dgx-1v"}


def one_claim(scenario: dict[str, Any], **claim: Any) -> dict[str, Any]:
    """The body of a quote of one claim."""
    return {"quote": {"title": "An offer", "scenario": scenario, "claims": [claim]}}


P3 = {"epochs": 90, "instances": ["p3.16xlarge"]}
P3_WORDS = "--epochs 90 --instance p3.16xlarge"
KINDS = ("on-demand", "spot", "reserved-1y")
DOCUMENT = openapi()
DECISIONS: list[tuple[str, dict[str, Any]] | tuple[str, dict[str, Any], str]] = [
    ("predict", {"gpus": 32}),
    ("predict", {"gpus": 32, "confidence": 0.95}),
    (
        "scale",
        {"gpus": [8, 16, 64], "inter_link": "ethernet-25g-tcp"},
        "--gpus 8,16,64 --inter-link ethernet-25g-tcp",
    ),
    ("predict", {"gpus": 1, "workload": "alexnet"}),
    ("predict", {"workload": "vgg16", "gpus": 8, "precision": "fp32"}),
    ("predict", {"workload": "bert-large", "gpus": 64, "accelerator": "h100-sxm5-80gb"}),
    ("predict", {"workload": "resnet50", "gpus": 16, "strategy": "parameter-server", "servers": 4}),
    ("predict", {"gpus": 32, "inter_link": "ethernet-25g-tcp", "overlap": "none"}),
    ("predict", {"gpus": 8, "local_batch_size": 4096}),
    ("predict", {**LLAMA, "gpus": 64, "sharding": "zero3"}),
    ("predict", {**LLAMA, "gpus": 64, "tensor_parallel": 4, "global_batch_size": 128}),
    ("predict", {"workload": "llama-3-70b", "node": "dgx-h100", "gpus": 8}),
    ("predict", {"workload": "mixtral-8x7b", "node": "dgx-h100", "gpus": 32, "expert_parallel": 8}),
    ("predict", {"gpus": 32, "node": "aws-p3.16xlarge", "conditions": {"epochs": 90}}),
    (
        "predict",
        {"gpus": 64, "node": "aws-p4d.24xlarge", "confidence": 0.5}
        | {"conditions": {"epochs": 90, "pricing": "spot"}},
    ),
    ("fits", {"workload": "llama-3-8b", "accelerator": "h100-sxm5-80gb", "gpus": 8}),
    ("fits", {"workload": "llama-3-70b", "node": "dgx-h100", "gpus": 64, "tensor_parallel": 8}),
    ("fits", {**LLAMA, "gpus": 64, "sharding": "zero3", "confidence": 0.95}),
    ("fits", {"workload": "llama-2-70b", "accelerator": "rtx-4090", "gpus": 2, **LORA}),
    ("fits", {"workload": "resnet152", "accelerator": "k80", "local_batch_size": 64}),
    ("fits", {"workload": "gpt2", "accelerator": "a100-sxm4-40gb", "gpus": 4}),
    ("layouts", {**LLAMA, "gpus": 8, "global_batch_size": 64}),
    ("layouts", {**LLAMA, "gpus": 64, "global_batch_size": 256, "top": 3}),
    ("layouts", {**LLAMA, "gpus": 64, "global_batch_size": 256, "top": 3, "confidence": 0.5}),
    ("layouts", {"workload": "gpt2", "node": "dgx-h100", "gpus": 8, "global_batch_size": 64, "top": 1}),
    ("layouts", {"workload": "mixtral-8x7b", "node": "dgx-h100", "gpus": 32, "global_batch_size": 64}),
    ("layouts", {**LLAMA, "gpus": 16, "global_batch_size": 64, "lora": 16, "frozen_weights": "nf4"}),
    ("layouts", {**LLAMA, "gpus": 16, "global_batch_size": 64, "conditions": {"tokens": 1e12, "price": 98}}),
    (
        "plan",
        P3 | {"deadline": "24h", "max_gpus": 64},
        f"{P3_WORDS} --deadline 24h --max-gpus 64",
    ),
    ("plan", P3 | {"deadline": "1h", "budget": 60}, f"{P3_WORDS} --deadline 1h --budget 60"),
    ("plan", P3 | {"deadline": "2h", "confidence": 0.95}, f"{P3_WORDS} --deadline 2h --confidence 95%"),
    ("plan", P3 | {"budget": 200, "max_gpus": 16}, f"{P3_WORDS} --budget 200 --max-gpus 16"),
    (
        "plan",
        {
            "workload": "llama-3-8b",
            "tokens": 1e11,
            "deadline": "30d",
            "instances": ["p5.48xlarge"],
            "max_gpus": 64,
        },
        "--workload llama-3-8b --tokens 100G --deadline 30d --instance p5.48xlarge --max-gpus 64",
    ),
    (
        "plan",
        {"workload": "bert-large", "samples": 5e6, "instances": ["p4d.24xlarge"], "max_gpus": 16},
        "--workload bert-large --samples 5M --instance p4d.24xlarge --max-gpus 16",
    ),
    (
        "plan",
        {"have": "8 x dgx-a100-80gb", "buy": ["4 x dgx-a100-80gb"], "workload": "bert-large", "samples": 1e9},
        '--have "8 x dgx-a100-80gb" --buy "4 x dgx-a100-80gb" --workload bert-large --samples 1e9',
    ),
    ("diagnose", {"gpus": 32, "measured": "400ms"}),
    ("diagnose", {"gpus": 32, "measured": "19000 images/s"}),
    ("check-quote", {"quote": "dgx-a100-petaflops"}),
    ("check-quote", {"quote": "horovod-512-gpus"}),
    ("check-quote", {"quote": "six-impossible-claims"}),
    ("check-quote", one_claim(V100, quantity="images_per_second", value=1e6)),
    ("check-quote", one_claim({"gpus": 32}, quantity="time_to_train", value="3h", epochs=90)),
    (
        "check-quote",
        one_claim(LLAMA | {"gpus": 64}, quantity="flops", per="accelerator", value="1.2PFLOP/s"),
    ),
    (
        "compare",
        {
            "scenarios": [{**V100, "gpus": 16}, {"gpus": 16, "node": "dgx-a100-80gb"}],
            "names": ["NVIDIA DGX-1", "NVIDIA DGX A100 80 GB"],
        },
        "--node dgx-1v,dgx-a100-80gb --gpus 16",
    ),
    (
        "compare",
        {
            "scenarios": [{"gpus": 32, "inter_link": f"ethernet-{rate}g-tcp"} for rate in (25, 100)],
            "names": ["25 Gbit/s Ethernet with TCP", "100 Gbit/s Ethernet with TCP"],
        },
        "--gpus 32 --inter-link ethernet-25g-tcp,ethernet-100g-tcp",
    ),
    (
        "compare",
        {
            "scenarios": [{"gpus": 64, "node": "aws-p4d.24xlarge", "pricing": k} for k in KINDS],
            "names": ["on demand", "spot", "reserved for 1 year"],
            "conditions": {"epochs": 90},
            "confidence": 0.95,
        },
        f"--gpus 64 --node aws-p4d.24xlarge --pricing {','.join(KINDS)} --epochs 90 --confidence 95%",
    ),
]
"""Commands with the bodies of their requests, each a decision of somebody; and what a shell is told, where it
does not take the names and values of the body as options."""


@pytest.fixture(scope="module")
def service() -> Caller:
    return Caller(application())


def typed(name: str, body: dict[str, Any], folder: Any) -> list[str]:
    """The words of the shell that ask what a body asks; a quote as a table is written to a file."""
    if name == "check-quote":
        quote = body["quote"]
        if isinstance(quote, str):
            return [name, quote]
        from app.quotes import as_toml
        from perfmodel.decide.quote.file import quote_of

        (folder / "quote.toml").write_text(as_toml(quote_of(quote)), "utf-8")
        return [name, str(folder / "quote.toml")]
    flat = {key: value for key, value in body.items() if key != "conditions"} | body.get("conditions", {})
    return [
        name,
        *(part for key, value in flat.items() for part in (f"--{key.replace('_', '-')}", str(value))),
    ]


def rows_of(card: dict[str, str]) -> list[tuple[str, str]]:
    return Card(**card).rows


def in_one_line(text: str) -> str:
    """Return what a terminal shows as one line, a list of sentences as sentences."""
    return " ".join(re.sub(r"^- ", "", text, flags=re.MULTILINE).split())


@pytest.mark.parametrize(
    "decision", DECISIONS, ids=[f"{index}-{name}" for index, (name, *_) in enumerate(DECISIONS)]
)
def test_a_decision_has_one_card_on_every_way_out(decision, invoke, service, tmp_path):
    name, body, *told = decision
    record = command(name)
    card = service.post(f"/v1/{name}", json=body).json()["card"]
    assert card["advice"]
    assert len(rows_of(card)) >= 3
    line = [name, *shlex.split(*told)] if told else typed(name, body, tmp_path)
    assert json.loads(invoke(*line, "--json").stdout)["card"] == card
    if name != "predict" or "conditions" not in body:  # the function predicts, and costs nothing
        given = {key: value for key, value in body.items() if key != "scenarios"}
        answer = getattr(perfmodel, function_name(name))(*body.get("scenarios", ()), **given)
        assert answer.card.model_dump() == card
    printed = in_one_line(invoke(*line).stdout)
    assert card["advice"] in printed
    assert all(value in printed for label, value in rows_of(card) if label != "machines")
    texts = [invoke(*line, "--markdown").stdout] if "markdown" in record.forms else []
    if "report" in record.writes:
        invoke(*line, "--report", tmp_path / "page.md")
        texts.append((tmp_path / "page.md").read_text("utf-8"))
    for text in texts:
        assert card["advice"] in text
        assert all(f"| {label} | {value} |" in text for label, value in rows_of(card))
    if "csv" in record.forms:
        (first, *_) = csv.DictReader(io.StringIO(invoke(*line, "--csv").stdout))
        kept = {key: value for key, value in first.items() if key.startswith("card.")}
        assert kept == {f"card.{key}": value for key, value in card.items()}


def test_every_command_whose_answer_has_a_card_is_held_to_it():
    assert {name for name in COMMANDS if has_card(answer_schema(name))} == {name for name, *_ in DECISIONS}


def answer_schema(name: str) -> dict[str, Any]:
    responses = DOCUMENT["paths"][f"/v1/{name}"]["post"]["responses"]
    return responses["200"]["content"]["application/json"]["schema"]


def has_card(schema: dict[str, Any]) -> bool:
    """Whether answers of a schema, or of one of several, have a card."""
    if "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    kinds = (*schema.get("anyOf", ()), *schema.get("oneOf", ()))
    return "card" in schema.get("properties", {}) or any(map(has_card, kinds))


PAGES = [
    ("predict", {"gpus": "32"}, ("predict", {"gpus": 32})),
    (
        "predict",
        {"gpus": "8", "local-batch-size": "9999"},
        ("predict", {"gpus": 8, "local_batch_size": 9999}),
    ),
    (
        "transformers",
        {"workload": "llama-3-8b", "node": "dgx-h100", "gpus": "8", "global-batch-size": "64"},
        ("layouts", {**LLAMA, "gpus": 8, "global_batch_size": 64}),
    ),
    (
        "plan",
        {"epochs": "90", "deadline": "24h", "instance": "p3.16xlarge", "max-gpus": "64"},
        ("plan", P3 | {"deadline": "24h", "max_gpus": 64}),
    ),
    ("diagnose", {"gpus": "32", "measured": "400ms"}, ("diagnose", {"gpus": 32, "measured": "400ms"})),
    ("quote", {"quote": "horovod-512-gpus"}, ("check-quote", {"quote": "horovod-512-gpus"})),
    (
        "fleets",
        {"machine": "dgx-1v", "machines": "2", "how-many": "4", "add": "same", "workload": "resnet50"}
        | {"run-time": "18h", "purchase-price": "dgx-1v=30000"},
        (
            "plan",
            {"have": "2 x dgx-1v", "buy": ["4 x dgx-1v"], "workload": "resnet50"}
            | {"run_time": "18h", "purchase_prices": {"dgx-1v": 30000}},
        ),
    ),
    (
        "fits",
        {"workload": "llama-3-8b", "accelerator": "h100-sxm5-80gb", "gpus": "8"},
        ("fits", {"workload": "llama-3-8b", "accelerator": "h100-sxm5-80gb", "gpus": 8}),
    ),
]


@pytest.mark.parametrize(("page", "query", "decision"), PAGES, ids=[page for page, *_ in PAGES])
def test_a_page_shows_and_copies_the_card_of_the_command(page, query, decision, service):
    name, body = decision
    card = service.post(f"/v1/{name}", json=body).json()["card"]
    test = opened(page, **query)
    assert not test.error
    (copied,) = (block.value for block in test.get("code") if block.value.startswith(card["advice"]))
    advice = card["advice"]
    if page == "quote":  # whose figures and chart show the rest
        advice, runs = advice_beside_chart(check_quote(read_quote("horovod-512-gpus")[0]))
        assert card["advice"].startswith(advice)
        assert all(each in card["advice"] for each in runs.values())
    if page == "fleets":  # whose table has the rest next to it
        advice, rest = fleets_beside_chart(Fleets(**service.post(f"/v1/{name}", json=body).json()))
        assert card["advice"] == " ".join([advice, *rest])
    assert labelled(advice) in re.sub(r"\\(.)", r"\1", words(test)).replace("**", "")
    figures, *_, whole = cards(test)  # the last is in the fold
    assert whole.splitlines() == [f"{label}: {labelled(value)}" for label, value in rows_of(card)]
    lines, rows = [line for line in figures.splitlines() if line], dict(rows_of(card))
    if page != "quote":  # several claims have no figure in common
        assert len(lines) >= 6
        for label, value, rest in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
            if label not in rows:  # a figure of the page's own
                continue
            assert re.sub(r"^([ ;,:]*)", "", labelled(rows[label]).removeprefix(value)) == rest
    assert all(f"{label}: {value}" in copied for label, value in rows_of(card))
    assert "$ perfmodel " in copied


def test_run_and_cost_are_on_the_card_where_they_were_asked_for(invoke):
    asked = ("predict", "--gpus", "32", "--node", "aws-p3.16xlarge", "--cost")
    told = json.loads(invoke(*asked, "--epochs", "90", "--json").stdout)["card"]
    assert told["run"].startswith("2.")
    assert told["run"].endswith(" for 90 epochs")
    assert "24.48 an hour" in told["cost"]
    hourly = json.loads(invoke(*asked, "--json").stdout)["card"]
    assert hourly["cost"].startswith(f"${4 * 24.48:.2f} an hour")
    assert hourly["run"] == perfmodel.predict(gpus=32).card.cost == ""


def test_an_answer_fits_on_one_screen_and_verbose_has_the_rest(invoke):
    short, whole = (invoke("predict", "--gpus", "32", *more).stdout for more in ((), ("--verbose",)))
    assert len(short.splitlines()) <= 36 < len(whole.splitlines())
    assert "9 more (--verbose)" in short
    assert "start-up" in whole
    assert "start-up" not in short


def test_an_interval_is_drawn_on_its_axis():
    line = drawn((0.25, 1.0), [(0.5, POINT)])
    assert (line.index("─"), line.index(POINT), line.rindex("─")) == (10, 20, WIDTH - 1)
    assert drawn(None, [(None, POINT)]) == "·" * WIDTH
