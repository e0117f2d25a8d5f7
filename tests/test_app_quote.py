"""The page of a quote of many claims: checked in a process of its own, and the worst drawn."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from app import bounded, quote_work, quotes
from app.quote_chart import claims_chart
from perfmodel.core.files.resources import folder
from perfmodel.core.units import per_cent
from perfmodel.decide.quote import Claim, Quote, check_quote, example_names, read_quote
from perfmodel.decide.quote.card import advice_beside_chart, card_of_quote
from perfmodel.decide.quote.listing import worst_first
from perfmodel.decide.quote.sentence import expected_words, shown_verdict
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.reports.quoted import DRAWN, page_of_quote
from tests.test_app import errors, opened, sound, words
from tests.test_app_bounded import noted

CATALOGUE = Catalogue.built_in()
MANY = 40
LLAMA = {"workload": "llama-3-8b", "node": "dgx-h100"}


def a_quote(claims: int, **scenario: Any) -> Quote:
    """Claims each of which is better than the one before, up to an impossible one."""
    each = tuple(
        Claim(quantity="mfu", value=0.2 + 2 * index / claims, text=f"number {index + 1}")
        for index in range(claims)
    )
    return Quote(title="Many", scenario={"gpus": 65536} | scenario, claims=each)


def handed_over(quote: Quote) -> AppTest:
    test = opened("quote")
    test.file_uploader(key="quote-file").set_value(
        ("many.toml", quotes.as_toml(quote).encode(), "application/toml")
    )
    return sound(test.run())


def plainly(test: AppTest) -> str:
    """Return the words of a page without escapes, and with plain spaces."""
    return words(test).replace("\\", "").replace("\u00a0", " ")


def sentences(test: AppTest) -> list[str]:
    """Those for a mail, of the claims that are drawn."""
    return [code.value for code in test.code if code.value.startswith("The quote claims")]


def clicked(row: int) -> Callable[..., SimpleNamespace]:
    """A table of which somebody has clicked a row."""
    return lambda *given, **more: SimpleNamespace(selection={"rows": [row]})


@pytest.fixture
def started(monkeypatch) -> list[Any]:
    """Processes of work."""
    return noted(monkeypatch)


def is_quick(quote: Quote) -> bool:
    return quote_work.work(quote, CATALOGUE, None).is_quick


@pytest.mark.any_version
def test_a_process_checks_many_claims_once_and_the_worst_are_drawn(started, monkeypatch):
    quote = a_quote(MANY)
    test = handed_over(quote)
    assert len(started) == 1
    checked = check_quote(quote)
    order = worst_first(checked)
    assert checked[order[0]].verdict == "impossible"
    assert checked[order[0]].value == max(claim.value for claim in checked)
    assert f"The 10 worst of {MANY} claims are drawn" in words(test)
    assert f"(claim {order[0] + 1}, the worst of {MANY})" in words(test)
    assert sentences(test) == [checked[index].sentence for index in order[:10]]
    (table,) = test.dataframe
    assert list(table.value["claim"]) == [index + 1 for index in order]
    assert list(table.value["verdict"]) == [shown_verdict(checked[index]) for index in order]
    monkeypatch.setattr(bounded.st, "dataframe", clicked(MANY - 1))
    assert sentences(sound(test.run())) == [checked[index].sentence for index in (order[-1], *order[:10])]
    assert len(started) == 1


def test_few_claims_are_checked_here_and_all_are_drawn(started):
    test = handed_over(a_quote(10))
    assert not started
    assert not test.dataframe
    assert len(sentences(test)) == 10


@pytest.mark.parametrize(
    ("quote", "quick"),
    [
        (a_quote(quote_work.FEW_CLAIMS), True),
        (a_quote(quote_work.FEW_CLAIMS + 1, gpus=8), False),
        (a_quote(10, **LLAMA, gpus=2048), True),  # one job, which is searched once
        (a_quote(1, **LLAMA), False),
        (a_quote(1, workload="no-such-network"), True),  # refused at once
    ],
)
def test_what_is_handed_to_a_process_goes_by_claims_and_by_accelerators_searched(quote, quick):
    assert is_quick(quote) == quick


def test_a_claim_that_is_refused_makes_those_before_it_no_quicker():
    quote = a_quote(1, **LLAMA)
    (large,) = quote.claims
    refused = large.model_copy(update={"scenario": {"workload": "no-such-network"}})
    assert is_quick(quote.model_copy(update={"claims": (refused,)}))
    assert not is_quick(quote.model_copy(update={"claims": (large, refused)}))


@pytest.mark.parametrize("name", example_names())
def test_public_quotes_are_checked_at_once(name):
    assert is_quick(read_quote(name)[0])


def test_what_is_wrong_with_a_claim_comes_back_from_the_process(started):
    quote = a_quote(30)
    wrong = Claim(quantity="sequences_per_second", value=100.0)
    test = handed_over(quote.model_copy(update={"claims": (*quote.claims, wrong)}))
    assert "claim 31: " in errors(test)
    assert "is no sequence" in errors(test)
    assert not test.dataframe
    assert len(started) == 1


def test_hardware_of_ones_own_goes_along_to_the_process(tmp_path):
    template = folder("docs") / "templates" / "accelerator.toml"
    (tmp_path / "example-gpu.toml").write_text(template.read_text("utf-8"), "utf-8")
    work = quote_work.work(a_quote(1, accelerator="example-gpu", gpus=8), Catalogue([tmp_path]), None)
    given, size = bounded.by_a_process(work, lambda text: None)
    assert given == work.call(*work.arguments)
    assert "Example GPU 80 GB" in given[0].scenario
    assert size * quotes.MOST < bounded.MOST_KEPT


def test_a_file_of_more_claims_than_a_page_takes_is_refused(started):
    test = handed_over(a_quote(quotes.MOST + 1))
    assert errors(test).startswith("many.toml: 501 claims; this page takes up to 500")
    assert not started


def test_the_page_to_hand_on_draws_the_worst_and_lists_all():
    quote = a_quote(30)
    checked = check_quote(quote)
    page = page_of_quote(quote, checked, None)
    assert len(page.charts[0].spans) == DRAWN
    assert "the 20 worst of 30 claims; the tables below have all" in page.charts[0].caption
    assert len(page.answer) == 2 + DRAWN
    assert len(page.tables[1].rows) == 30
    few = page_of_quote(quote, checked[:3], None)
    assert len(few.charts[0].spans) == 3
    assert "worst" not in few.charts[0].caption


def test_a_claim_beyond_the_axis_of_the_chart_says_how_far():
    job = {"workload": "llama-3-70b", "node": "dgx-h100", "gpus": 64}
    claim = Claim(quantity="tokens_per_second", value=4e5)
    (found,) = check_quote(Quote(title="a quote", scenario=job, claims=(claim,)))
    notes = [note["text"] for note in claims_chart({1: ("a claim", found)}).layout["annotations"]]
    assert f"{per_cent(found.value / found.limit, 0)} →" in notes


def test_what_the_page_opens_with_is_an_example_until_it_is_changed():
    test = opened("quote")
    assert "Will this hold? An example: 40,000 images/s of ResNet-50 on 32 V100s" in plainly(test)
    assert "This is an example" in words(test)
    own = opened("quote", gpus="32", quantity="images_per_second", value="30000")
    assert "Will this hold? 30,000 images/s of ResNet-50 on 32 V100s" in plainly(own)
    assert "This is an example" not in words(own)


def test_a_file_leaves_nothing_of_the_example_in_the_address():
    test = opened("quote")
    assert test.query_params["value"] == "40000"
    test.file_uploader(key="quote-file").set_value(
        ("two.toml", quotes.as_toml(a_quote(2)).encode(), "application/toml")
    )
    sound(test.run())
    assert not {"value", "gpus", "quantity"} & set(test.query_params)
    assert "own-quote" in test.query_params


def test_the_fold_of_a_claim_says_what_the_command_says():
    query = {"workload": "llama-3-70b", "gpus": "64", "quantity": "tokens_per_second", "value": "400000"}
    test = opened("quote", **query, node="dgx-h100")
    (fold,) = [each.label for each in test.expander if each.label.startswith("1")]
    assert fold.replace("\\", "").replace("\u00a0", " ") == "1. Impossible: Llama 3 70B, 400,000 tokens/s"
    said = words(test).replace("\\", "")
    assert re.search(r"is impossible\. Physics allows at most [\d,]+ tokens/s\. A measured run like it", said)
    assert re.search(r"\* model: [\d,]+ tokens/s \(80 %", said)
    assert re.search(r"\* from runs: [\d,]+ tokens/s .* more certain than the model alone", said)
    assert "none: physics does not allow it" in said


def test_each_claim_has_a_figure_and_the_chart_stands_before_the_fields():
    test = opened("quote", quote="horovod-512-gpus")
    expected = r"likely; expected [\d.]+ % \(80 %: [\d.]+ to 100 %\)"
    said = words(test).replace("\u00a0", " ")
    assert re.search(rf"claim 1: Inception v3, scaling efficiency of 90 %\n52 %\n{expected}", said)
    drawn = json.loads(test.get("plotly_chart")[0].proto.spec)
    marks = {trace["name"]: trace for trace in drawn["data"]}
    assert marks["expected"]["text"][0] == "92.8 %"
    names = [note["text"].replace("<br>", " ") for note in drawn["layout"]["annotations"]]
    assert names[0] == "<b>1</b> Inception v3, scaling efficiency of 90 %"
    assert names[3] == "<b>4</b> ResNet-101, 1,657 images/s: 36 % of 4,645 images/s possible"
    assert " As likely as not (52 %): Inception v3, " in test.expander[1].label.replace("\u00a0", " ")
    assert re.search(rf"claim 2: ResNet-101, scaling efficiency of 90 %\n51 %\n{expected}", said)
    assert said.count("92.8 %") == 2  # of the figure, and of the claim's fold
    assert "Claim 1: measured runs come to 98.1 to 98.3 %, better than claimed" in plainly(test)
    drawn = [getattr(each, "label", "") or each.type for each in test.main]
    assert drawn.index("plotly_chart") < drawn.index("Quote")
    (field,) = [each for each in test.selectbox if each.label == "Quote"]
    assert "Horovod: scaling of three networks to 512 GPUs" in field.options


@pytest.mark.parametrize(
    ("claim", "title"),
    [
        (
            {
                "quantity": "tokens_per_second",
                "value": "400000",
                "workload": "llama-3-8b",
                "node": "dgx-h100",
            },
            "400,000 tokens/s of Llama 3 8B on 64 H100s",
        ),
        (
            {"quantity": "bus_bandwidth", "value": "400GB/s", "node": "dgx-h100"},
            "Bus bandwidth of 400 GB/s for 64 H100s",
        ),
        (
            {"quantity": "time_to_train", "value": "8h", "epochs": "90", "node": "dgx-1v"},
            "Time to train of 8 h for ResNet-50 on 64 V100s",
        ),
    ],
)
def test_a_claim_of_ones_own_names_its_quote(claim, title):
    quote = quotes.filled_in({"gpus": 64, **claim})
    named = quotes.named(quote, check_quote(quote)[0])
    assert named.title == title
    assert quotes.as_toml(named).startswith(f'title = "{title}"\n')


def test_a_cautious_claim_is_called_so_wherever_it_is_said():
    test = opened("quote", **LLAMA, gpus="64", quantity="tokens_per_second", value="400000")
    said = plainly(test).replace("**", "")
    assert "Will this hold? 400,000 tokens/s of Llama 3 8B on 64 H100s" in said
    assert "Cautious: 400,000 tokens/s is over 99 % likely to be reached; expect 6" in said
    folds = [each.label.replace("\u00a0", " ") for each in test.expander]
    assert [each for each in folds if "Cautious (over 99 %): Llama 3 8B, 400,000 tokens/s" in each]
    assert said.count("over 99 %") == 3  # of the advice, the fold of the card and the fold of the claim
    (mail,) = sentences(test)
    assert "So it is cautious (over 99 % likely to be reached)." in mail


def test_what_no_figure_shows_is_in_the_advice():
    many, few = (check_quote(read_quote(name)[0]) for name in ("six-true-claims", "dgx-a100-petaflops"))
    worst = many[worst_first(many)[0]]
    assert f"Expect {expected_words(worst)}, " in advice_beside_chart(many)[0]
    assert "Physics allows" not in advice_beside_chart(few)[0]
    assert "Physics allows" in card_of_quote(few).advice


def test_the_line_of_the_limit_crosses_no_title():
    checked = check_quote(read_quote("dgx-a100-petaflops")[0])
    (limit,) = (
        each
        for each in claims_chart({n: ("a claim", one) for n, one in enumerate(checked, 1)}).data
        if each["name"] == "most possible"
    )
    assert list(limit["y"]).count(None) == len(checked)
