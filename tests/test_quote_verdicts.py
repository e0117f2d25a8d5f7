"""Quotes of sharded jobs, costs and bandwidths; tricks that are named; public figures judged right."""

from __future__ import annotations

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import perfmodel
from perfmodel.core.errors import InputError
from perfmodel.core.files.resources import folder
from perfmodel.core.units import percent
from perfmodel.decide.planning import Goal, search
from perfmodel.decide.quote import Claim, Quote, check_quote, read_quote
from perfmodel.decide.quote.card import card_of_quote, chance_figures
from perfmodel.decide.quote.claim_judgement import DOUBTFUL, probability_of
from perfmodel.decide.quote.completed_job import completed_job
from perfmodel.decide.quote.sentence import expected_words, judgement_words, shown_verdict
from perfmodel.evidence.accuracy.source_titles import short_title
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.layout import DEGREES
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.prediction.training.target import time_to_target
from perfmodel.model.transformers.usual_batch import TOKENS_OF_A_STEP, usual_batch
from perfmodel.workloads import workload
from perfmodel.workloads.recipes.recipes import recipe
from perfmodel.workloads.recipes.token_recipes import token_recipe

CATALOGUE = Catalogue.built_in()
LLAMA = {"workload": "llama-3-8b", "gpus": 64, "node": "dgx-h100", "global_batch_size": 512}
H100 = {"node": "dgx-h100", "gpus": 8}
TRUE, IMPOSSIBLE = "six-true-claims", "six-impossible-claims"


def checked(scenario, **claim):
    return check_quote(Quote(title="a quote", scenario=scenario, claims=(Claim(**claim),)))[0]


def names(found):
    return [trick.name for trick in found.tricks]


# --- public figures


@pytest.mark.any_version
@pytest.mark.published(
    "Llama 2, Nemotron-4 and DeepSeek-V3 reports; MosaicML on MPT-7B; MLPerf Training 3.0; nccl-tests 212"
)
def test_six_public_figures_that_were_reached_are_possible():
    found = check_quote(read_quote(TRUE)[0])
    assert len(found) == 6
    assert {each.judgement for each in found} == {"possible", "cautious"}
    assert all(each.probability > DOUBTFUL and not each.tricks for each in found)
    assert {each.quantity for each in found} == {
        *("tokens_per_second", "mfu", "time_to_train", "cost_per_token", "algorithm_bandwidth")
    }


def test_a_figure_within_its_interval_is_no_accusation_and_runs_of_other_accelerators_are_said():
    """DeepSeek-V3's days are better than expected, by runs on H100 for one on H800."""
    found = check_quote(read_quote(TRUE)[0])
    calm, other = "no sign that it is false", "similar measured runs are all of other accelerators"
    (deepseek,) = (each for each in found if "DeepSeek" in each.text)
    assert deepseek.probability < 0.5
    said = card_of_quote([deepseek])
    for words in (deepseek.sentence, said.advice):
        assert calm in words
        assert other in words
    assert other in said.rests_on
    (nemotron,) = (each for each in found if "Nemotron" in each.text)  # likelier than not, by runs on H100
    assert calm not in nemotron.sentence
    assert other not in nemotron.sentence


@pytest.mark.published("data sheets and pages on H100, B200 and AWS P5, each named in the file")
def test_six_public_figures_that_no_job_reaches_are_impossible_and_the_trick_is_named():
    found = check_quote(read_quote(IMPOSSIBLE)[0])
    assert [each.verdict for each in found] == ["impossible"] * 6
    for each, trick in zip(
        found,
        (
            *("sparse FLOPs", "sparse fp8 peak for bf16 work", "up to"),
            *("both directions", "per node, not per GPU", "Gbit for GByte"),
        ),
        strict=True,
    ):
        assert trick in names(each), each.text


def test_the_manual_lists_the_twelve_with_their_verdicts():
    manual = (folder("validation") / "quotes" / "README.md").read_text()
    assert table_of_twelve() in manual


def table_of_twelve():
    rows = ["| figure | our verdict | what makes it larger |", "| --- | --- | --- |"]
    for name in (TRUE, IMPOSSIBLE):
        found = check_quote(read_quote(name)[0])
        rows += [f"| {each.text} | {each.judgement} | {'; '.join(names(each))} |" for each in found]
    return "\n".join(rows)


# --- targets


def test_a_time_to_train_without_epochs_takes_a_known_target_and_says_which():
    job = {"workload": "resnet50-v1.5", "gpus": 8, "accelerator": "a100-sxm4-80gb", "framework": "mxnet-ngc"}
    found = checked(job | {"local_batch_size": 256}, quantity="time_to_train", value="30min")
    epochs = recipe("resnet50", "mlperf").fit.epochs(2048)
    stated = checked(job | {"local_batch_size": 256}, quantity="time_to_train", value="30min", epochs=epochs)
    assert found.expected == pytest.approx(stated.expected)
    assert found.high_80 > stated.high_80  # what is not known of the epochs widens it
    assert "recipe mlperf with framework mxnet-ngc@2022: top-1 0.759" in found.target
    assert found.target in found.sentence
    stock = checked(job, quantity="time_to_train", value="30min", recipe="stock")
    assert "90 epochs" in stock.target
    assert stock.limit < stock.expected * 36 / 90  # the limit counts on the fewest epochs of any recipe
    bert = checked({"workload": "bert-large", "gpus": 8}, quantity="time_to_train", value="1h")
    assert "masked-LM accuracy" in bert.target
    assert "256 tokens" in bert.target


def test_a_quote_of_bert_takes_the_recipe_that_its_framework_implies_and_says_which():
    job = {"workload": "bert-large", "gpus": 64, "accelerator": "a100-sxm4-80gb"}
    claim = {"quantity": "time_to_train", "value": "30h"}
    scratch, tuned = (checked(job | {"framework": name}, **claim) for name in ("pytorch", "pytorch-ngc"))
    assert "recipe stock with framework pytorch@2022: pre-training from scratch" in scratch.target
    assert "recipe mlperf with framework pytorch-ngc@2022: masked-LM accuracy" in tuned.target
    assert checked(job, **claim).target == tuned.target
    whole = time_to_target(predict(Scenario(**job, framework="pytorch")), "stock")
    assert scratch.expected == pytest.approx(whole["time"])  # both phases, each at its own pace
    assert scratch.limit < scratch.expected
    assert scratch.expected > 50 * tuned.expected
    tokens = checked(LLAMA, quantity="time_to_train", value="1h", recipe="tokens")
    stated = checked(LLAMA, quantity="time_to_train", value="1h", tokens=published_tokens(LLAMA["workload"]))
    assert tokens.expected == pytest.approx(stated.expected)
    assert tokens.target.startswith("recipe tokens with framework megatron-core")


def published_tokens(name):
    return token_recipe(workload(name)).tokens


@pytest.mark.parametrize(
    ("claim", "told"),
    [
        ({"quantity": "time_to_train", "value": "1h"}, "needs epochs.*tokens = '1T'.*resnet50"),
        (
            {"quantity": "time_to_train", "value": "1h", "recipe": "mlpref"},
            "unknown recipe 'mlpref'; nearest: mlp",
        ),
        (
            {"quantity": "time_to_train", "value": "1h", "epochs": 1, "tokens": "1T"},
            "epochs and tokens: give one",
        ),
        ({"quantity": "time_to_train", "value": "1h", "tokens": "1TB"}, "tokens = '1TB' is not"),
        ({"quantity": "cost_per_million_tokens", "value": "cheap"}, "value = 'cheap' is not"),
        ({"quantity": "cost_per_token", "value": 1e-6}, "no known price of dgx-h100: give price"),
        ({"quantity": "mfu", "value": "50%", "price": 20}, "price goes with cost_per_token"),
        ({"quantity": "model_flops_per_gpu", "value": 1e12, "per": "job"}, "is of one accelerator"),
        ({"quantity": "tokens_per_second_per_gp", "value": 1}, "nearest: tokens_per_second_per_gpu"),
        (
            {"quantity": "throughput_tokens", "value": 1},
            "nearest: tokens_per_second, tokens_per_second_per_gpu; docs/quote-format.md has all",
        ),
        ({"quantity": "xyz", "value": 1}, "known: samples_per_second, .*, cost_to_train, "),
    ],
)
def test_mistakes_are_named(claim, told, tmp_path, invoke):
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in claim.items())
    path = tmp_path / "quote.toml"
    scenario = "".join(f"{key} = {json.dumps(value)}\n" for key, value in LLAMA.items())
    path.write_text(f'title = "x"\n[scenario]\n{scenario}[[claims]]\n{lines}')
    result = invoke("check-quote", path)
    assert result.exit_code == 2, result.output
    assert re.search(told, result.stderr), result.stderr
    assert len(result.stderr.splitlines()) == 1


# --- sharded jobs


def test_a_layout_that_is_not_stated_is_the_best_that_layouts_finds():
    found = checked(LLAMA, quantity="tokens_per_second", value=6e5)
    best = perfmodel.layouts("llama-3-8b", gpus=64, node="dgx-h100", global_batch_size=512, top=1).rows[0]
    assert found.expected == pytest.approx(best.tokens_per_second, rel=1e-6)
    assert found.layout == best.words
    assert "the fastest layout that fits" in found.defaults


def test_a_stated_layout_is_kept_and_the_rest_is_chosen():
    stated = LLAMA | {"tensor_parallel": 8, "pipeline_parallel": 2, "sharding": "none", "recompute": "full"}
    complete = completed_job(Scenario(**stated), CATALOGUE)
    asked = complete.scenario
    assert (asked.tensor_parallel, asked.pipeline_parallel, asked.sharding, asked.recompute) == (
        *(8, 2, "none", "full"),
    )
    assert asked.virtual_stages > 1  # not stated: the fastest
    wide = checked(LLAMA | {"tensor_parallel": 16}, quantity="iteration_time", value="10s")
    assert wide.layout.startswith("tp16 ")  # the search tries none beyond the fast link
    found = checked(stated, quantity="iteration_time", value="1s")
    assert found.expected == pytest.approx(predict(asked).iteration_time, rel=1e-9)


def test_a_batch_that_is_not_stated_is_four_million_tokens_and_named():
    for gpus in (64, 440):
        complete = completed_job(Scenario(**{**LLAMA, "gpus": gpus, "global_batch_size": None}), CATALOGUE)
        tokens = complete.scenario.global_batch_size * 8192
        assert 0.7 < tokens / TOKENS_OF_A_STEP < 1.4
        assert any("M tokens a step" in each for each in complete.defaults)


def test_all_quantities_of_a_sharded_job_say_the_same():
    """One rate in seven ways: each is as likely, and its limit as far away."""
    tokens = 5e5
    step = 512 * 8192 / tokens
    flops = predict(completed_job(Scenario(**LLAMA), CATALOGUE).scenario).model_flops
    price = 98.32
    same = (
        {"quantity": "tokens_per_second", "value": tokens},
        {"quantity": "tokens_per_second", "value": tokens / 8, "per": "node"},
        {"quantity": "tokens_per_second_per_gpu", "value": tokens / 64},
        {"quantity": "iteration_time", "value": step},
        {"quantity": "model_flops_per_gpu", "value": flops / step / 64},
        {"quantity": "mfu", "value": flops / step / 64 / 989.4e12},
        {"quantity": "days_to_train", "value": 1e12 / tokens / 86400, "tokens": "1T"},
        {
            "quantity": "cost_per_million_tokens",
            "value": f"${8 * price / 3600 / tokens * 1e6}",
            "price": price,
        },
        {
            "quantity": "cost_to_train",
            "value": 8 * price / 3600 * 1e12 / tokens,
            "tokens": 1e12,
            "price": price,
        },
    )
    found = [checked(LLAMA, **claim) for claim in same]
    assert [each.probability for each in found] == pytest.approx(
        [found[0].probability] * len(found), rel=1e-6
    )
    shares = [each.value / each.limit if each.higher_is_better else each.limit / each.value for each in found]
    assert shares == pytest.approx([shares[0]] * len(shares), rel=1e-6)
    assert {each.verdict for each in found} == {found[0].verdict}


def test_scaling_of_replicas_is_against_as_many_accelerators_as_they_have():
    job = LLAMA | {
        "tensor_parallel": 8,
        "micro_batch_size": 1,
        "accumulation_steps": 8,
        "global_batch_size": None,
    }
    found = checked(job, quantity="scaling_efficiency", value="90%")
    assert 0.5 < found.expected <= 1.01
    assert found.low_80 < found.expected < found.high_80
    assert any("one replica, 8 accelerators" in line for line in found.arithmetic)
    with pytest.raises(InputError, match="one replica takes 8 accelerators"):
        checked(job, quantity="speedup", value=10, from_gpus=4)


def test_a_job_that_no_layout_fits_is_doubtful():
    large = {"workload": "llama-3.1-405b", "gpus": 8, "node": "dgx-h100", "global_batch_size": 8}
    found = checked(large, quantity="tokens_per_second", value=100)
    assert (found.verdict, found.judgement) == ("oversized", "doubtful")
    assert "does not fit" in found.sentence


# --- how sure


@given(
    value=st.floats(0.01, 100),
    more=st.floats(1.0001, 10),
    half=st.floats(0.01, 2),
    better=st.booleans(),
)
def test_a_better_figure_is_less_likely(value, more, half, better):
    claims = (value, value * more) if better else (value, value / more)
    first, second = (probability_of(each, 1.0, half, better) for each in claims)
    assert 0 <= second <= first <= 1
    ahead = math.log(value) if better else -math.log(value)
    assert (first < DOUBTFUL) == (ahead > half) or math.isclose(abs(ahead), half, rel_tol=1e-3)


def test_a_run_of_the_same_job_is_better_evidence_than_the_model_alone():
    """NVIDIA's recipe of Nemotron-4 340B on 1,024 H100: a third of the model's width."""
    job = {"workload": "nemotron-4-340b", "gpus": 1024, "node": "dgx-h100", "framework": "nemo"}
    job |= {"tensor_parallel": 8, "pipeline_parallel": 8, "virtual_stages": 12, "global_batch_size": 256}
    found = checked(job, quantity="tokens_per_second_per_gpu", value=240)
    run = found.similar_run
    assert run.source.startswith("dgxc")
    assert math.log(run.high_80 / run.low_80) < 0.5 * math.log(found.high_80 / found.low_80)
    assert found.probability == run.probability
    assert (found.verdict, found.judgement) == ("optimistic", "doubtful")  # by the run, not by the model
    assert found.low_80 < found.value < found.high_80
    assert f"Expect {run.value:.1f}" in card_of_quote([found]).advice
    (near,) = (each for each in found.measured if each.id == run.id)
    reached = f"A measured run like it comes to {near.value:.1f} tokens/s per accelerator ("
    for said in (found.sentence, card_of_quote([found]).advice):
        assert reached in said  # what was measured, next to what is inferred from it
        assert f"Expect {run.value:.1f}" in said
        assert near.value != run.value


# --- tricks


@pytest.mark.parametrize(
    ("scenario", "claim", "trick"),
    [
        (H100, {"quantity": "flops", "per": "accelerator", "value": "1979TFLOP/s"}, "sparse FLOPs"),
        (
            H100 | {"precision": "bf16"},
            {"quantity": "flops", "per": "node", "value": "31.7PFLOP/s"},
            "sparse fp8 peak for bf16",
        ),
        (H100, {"quantity": "flops", "per": "accelerator", "value": "989TFLOP/s"}, "boost clock"),
        (H100, {"quantity": "bus_bandwidth", "value": "3.6TB/s"}, "per node, not per GPU"),
        (H100, {"quantity": "bus_bandwidth", "value": "400GB/s", "text": "bidirectional"}, "both directions"),
        (LLAMA, {"quantity": "tokens_per_second_per_gpu", "value": 80_000}, "per node, not per GPU"),
        (LLAMA, {"quantity": "tokens_per_second_per_gpu", "value": 680_000}, "of the whole job"),
        (LLAMA, {"quantity": "tokens_per_second_per_gpu", "value": 32_000}, "inference"),
        (LLAMA, {"quantity": "mfu", "value": "110%"}, "sparse FLOPs"),
        (LLAMA, {"quantity": "mfu", "value": "50%", "text": "up to 50 %"}, "up to"),
        (LLAMA, {"quantity": "mfu", "value": "50%", "text": "at the boost clock"}, "boost clock"),
    ],
)
def test_a_trick_is_named_and_the_vendor_asked(scenario, claim, trick):
    found = checked(scenario, **claim)
    assert any(each.startswith(trick) for each in names(found)), names(found)
    told = next(each for each in found.tricks if each.name.startswith(trick))
    assert told.ask.removeprefix("ask ") in found.sentence
    if told.factor is not None:
        assert re.search(rf"It would be possible if [^.]*{told.condition}", found.sentence)


@pytest.mark.parametrize(
    ("scenario", "claim"),
    [
        (LLAMA, {"quantity": "tokens_per_second_per_gpu", "value": 10_000}),
        (LLAMA, {"quantity": "mfu", "value": "45%", "text": "without sparsity, on 8 nodes"}),
        (H100, {"quantity": "bus_bandwidth", "value": "450GB/s", "text": "an inference server"}),
        (H100, {"quantity": "flops", "per": "accelerator", "value": "700TFLOP/s"}),
    ],
)
def test_an_honest_figure_has_no_trick(scenario, claim):
    assert not checked(scenario, **claim).tricks


# --- bandwidths


def test_a_bandwidth_is_checked_as_both_of_what_nccl_tests_print():
    """Eight ranks: the algorithm bandwidth is 4/7 of the bus bandwidth."""
    bus = checked(H100, quantity="bus_bandwidth", value="475GB/s", size="8GB")
    assert bus.verdict == "plausible"
    assert bus.other_reading.quantity == "algorithm_bandwidth"
    assert bus.other_reading.verdict == "impossible"
    algorithm = checked(H100, quantity="algorithm_bandwidth", value="271GB/s", size="8GB")
    assert algorithm.expected == pytest.approx(bus.expected * 4 / 7)
    assert algorithm.limit == pytest.approx(bus.limit * 4 / 7)
    assert algorithm.other_reading.limit == pytest.approx(bus.limit)
    assert algorithm.probability == pytest.approx(
        checked(H100, quantity="bus_bandwidth", value=271e9 * 7 / 4, size="8GB").probability
    )
    unsaid = checked(H100, quantity="all_reduce_bandwidth", value="475GB/s", size="8GB")
    assert any("the quote does not say which; taken as bus bandwidth" in line for line in unsaid.arithmetic)


# --- the ways out


def test_json_python_and_text_say_the_same(invoke):
    found = check_quote(read_quote(IMPOSSIBLE)[0])
    told = json.loads(invoke("check-quote", IMPOSSIBLE, "--json").stdout)["claims"]
    assert told == [json.loads(each.model_dump_json()) for each in found]
    text = " ".join(invoke("check-quote", IMPOSSIBLE).stdout.split())
    table = invoke("check-quote", IMPOSSIBLE, "--csv").stdout
    for each in found:
        assert each.sentence in text
        assert all(f"{trick.name}: {trick.words}" in text for trick in each.tricks)
        assert ", ".join(names(each)) in table


def test_a_card_expects_what_its_probability_takes():
    """Both are by the similar run, whose interval is the narrower one; the model's own value is elsewhere."""
    found = checked(LLAMA, quantity="tokens_per_second_per_gpu", value=10_150)
    run = found.similar_run
    assert run is not None
    card = card_of_quote([found])
    assert f"Expect {run.value:,.0f} tokens/s" in card.advice
    assert run.value != found.expected
    assert "80 %" not in card.rests_on
    assert short_title(run.source) in card.rests_on
    (row,) = [each for each in found.measured if each.id == run.id] or [None]
    assert run.words
    assert row is None or run.words in row.words


@pytest.mark.parametrize(
    ("value", "advice"), [(9_000, "Have it in the contract"), (11_000, "Do not rely on it")]
)
def test_a_plausible_claim_is_for_the_contract_from_even_odds_only(value, advice):
    found = checked(LLAMA, quantity="tokens_per_second_per_gpu", value=value)
    assert found.verdict == "plausible"
    assert (found.probability >= 0.5) == advice.startswith("Have")
    said = card_of_quote([found]).advice
    assert re.match(r"(At most )?\d+ % likely to be reached", said)
    judged = "cannot be judged" if 0.4 <= found.probability <= 0.6 else "is plausible"
    assert f" {judged}. {advice}" in said


def test_of_claims_that_only_some_can_be_judged_the_answer_is_on_the_worst():
    """Both lie inside the interval; the listing calls one as likely as not, so no answer is on both."""
    claims = [Claim(quantity="images_per_second", value=value) for value in (20_000, 15_000)]
    scenario = {"workload": "resnet50", "node": "dgx-1v", "gpus": 32}
    found = check_quote(Quote(title="a quote", scenario=scenario, claims=tuple(claims)))
    assert [each.verdict for each in found] == ["plausible", "plausible"]
    assert [shown_verdict(each) for each in found] == ["as likely as not", "plausible"]
    said = card_of_quote(found).advice
    worst = percent(found[0].probability)
    assert said.startswith(f"{worst} likely to be reached: 20,000 images/s cannot be judged (claim 1, ")
    assert "plausible" not in said


def test_claims_that_are_all_but_certain_are_not_said_to_be_about_so():
    claim = Claim(quantity="tokens_per_second_per_gpu", value=1)
    found = check_quote(Quote(title="a quote", scenario=LLAMA, claims=(claim, claim)))
    said = card_of_quote(found).advice
    assert said.startswith("Both claims are cautious, each over 99 % likely, so expect better.")


def test_a_claim_below_the_interval_is_cautious_in_words_and_in_json_and_not_said_to_be_true():
    scenario = {"workload": "resnet50", "node": "dgx-1v", "gpus": 32}
    found = checked(scenario, quantity="images_per_second", value=12_000)
    assert 0.9 < found.probability < 0.95
    assert (found.verdict, found.judgement) == ("pessimistic", "cautious")
    assert json.loads(found.model_dump_json())["judgement"] == "cautious"
    card = card_of_quote([found])
    assert card.advice.startswith("Cautious: 12,000 images/s is 93 % likely to be reached; expect ")
    for words in (card.advice, found.sentence, judgement_words(found)):
        assert "true" not in words.lower()
    assert "So it is cautious (93 % likely to be reached)." in found.sentence


def test_claims_of_several_quantities_are_named_by_quantity():
    claims = (Claim(quantity="tokens_per_second", value=300_000), Claim(quantity="mfu", value=0.2))
    scenario = {"workload": "llama-3-8b", "node": "dgx-h100", "gpus": 64, "sharding": "zero3"}
    advice = card_of_quote(check_quote(Quote(title="a quote", scenario=scenario, claims=claims))).advice
    assert "Llama 3 8B, utilisation (MFU) of 20 % (claim 2): expect 49" in advice


def test_claims_that_are_alike_are_answered_together():
    """Three are of 512 GPUs and one of 16: the answer is on all, and says which is of what."""
    card = card_of_quote(check_quote(read_quote("horovod-512-gpus")[0]))
    assert card.advice.startswith(
        "All 4 claims are as likely as not (about 50 %): the model cannot judge them, so have them in the "
        "contract. "
    )
    better, worse, *_ = re.findall(r"[^.]*, scaling efficiency of 90 % \(claim \d\): .*?\.(?= )", card.advice)
    interval = r"[\d.]+ % \(80 %: [\d.]+ to [\d.]+ %\)"
    assert re.fullmatch(
        rf" Inception v3, scaling efficiency of 90 % \(claim 1\): expect {interval}; "
        r"measured runs come to 98\.1 to 98\.3 %, "
        r"better than claimed, but on 4 to 12 accelerators instead of 512\.",
        better,
    )
    assert re.fullmatch(
        r" ResNet-101, scaling efficiency of 90 % \(claim 2\): as likely as not, "
        rf"as the model expects {interval}; "
        r"measured runs come to 23\.6 to 66\.1 %, "
        r"but are of another accelerator, software, batch and strategy\.",
        worse,
    )
    assert card.chance == (
        "50 to 52 % likely to be reached: 52 % for claim 1, 51 % for claim 2, 50 % for claims 3 and 4"
    )
    assert re.fullmatch(r"512 x .*\(claims 1 to 3\); 16 x .*\(claim 4\)", card.machines)
    assert "100 % is possible, and a measurement may err by 10 % (claims 1 to 3)" in card.limit


def test_a_claim_that_no_run_is_like_says_why_it_is_plausible():
    found = check_quote(read_quote("horovod-512-gpus")[0])[:2]
    (bullet,) = re.findall(
        r"\(claim 2\): (.*)",
        card_of_quote([found[0], found[1].model_copy(update={"measured": ()})]).advice,
    )
    assert re.fullmatch(
        r"as likely as not, as the model expects .* \(80 %: .*\); no measured run is like it\.", bullet
    )


def test_each_of_a_few_claims_has_its_chance_and_what_to_expect():
    found = check_quote(read_quote("dgx-a100-petaflops")[0])
    figures = chance_figures(found)
    assert list(figures) == [
        "claim 1: 8 x A100 SXM4 40 GB, arithmetic of 5 PFLOP/s",
        "claim 2: 8 x A100 SXM4 40 GB, bus bandwidth of 600 GB/s",
        "claim 3: 8 x A100 SXM4 40 GB, bus bandwidth of 230 GB/s",
    ]
    impossible, _, plausible = figures.values()
    assert impossible == ("impossible", "physics allows at most 2.5 PFLOP/s")
    assert plausible == (percent(found[2].probability), f"likely; expected {expected_words(found[2])}")
    assert chance_figures(found[:1]) == chance_figures([*found, *found]) == {}


def test_a_batch_other_than_that_of_predict_is_named():
    job = {"workload": "llama-3-8b", "gpus": 64, "node": "dgx-h100"}
    lines = checked(job, quantity="tokens_per_second_per_gpu", value=9_000).arithmetic
    assert any("512 sequences" in line and "predict takes 64 by default" in line for line in lines)


def test_a_conditional_claim_has_a_chance():
    found = checked(LLAMA, quantity="tokens_per_second_per_gpu", value=25_000)
    with_fp8 = checked(LLAMA | {"precision": "fp8"}, quantity="tokens_per_second_per_gpu", value=25_000)
    chance = card_of_quote([found]).chance
    said = re.fullmatch(r"only with fp8, and then at most ([\d.]+) % likely to be reached", chance)
    assert said is not None
    assert with_fp8.verdict == "optimistic"  # beyond the good end of the model's 80 % interval
    assert with_fp8.probability <= float(said[1]) / 100 < 0.1


def test_a_sentence_can_stand_alone():
    found = checked(LLAMA, quantity="tokens_per_second_per_gpu", value=14_000)
    assert found.judgement == "doubtful"
    assert re.fullmatch(
        r"The quote claims 14,000 tokens/s per accelerator for Llama 3 8B on 64 x H100 SXM5 80 GB\. "
        r"We checked it in 8 nodes with 8 x InfiniBand NDR 400 Gbit/s, .*\. We assumed .*, "
        r"framework megatron-core \(2026\).*: please confirm\. Physics allows at most "
        r"[\d,]+ tokens/s per accelerator\. A measured run .*\. Expect .* \(80 %: .* to .*\).*\. "
        r"So it is doubtful \(.* likely to be reached\)\. Ask the vendor for .*\.",
        found.sentence,
    )
    stated = checked(LLAMA | {"framework": "nemo@2025"}, quantity="tokens_per_second_per_gpu", value=14_000)
    assert "framework" not in stated.sentence
    assert "Physics needs at least" in checked(LLAMA, quantity="iteration_time", value="1s").sentence


def test_a_figure_in_another_unit_is_pointed_out():
    found = checked(LLAMA, quantity="model_flops_per_gpu", value=450)
    assert any("check its unit" in line for line in found.arithmetic)


def test_a_quote_and_a_plan_take_the_same_batch_where_nobody_says_one():
    job = {"workload": "llama-3-8b", "gpus": 64, "node": "dgx-h100"}
    quoted = completed_job(Scenario(**job), CATALOGUE).scenario.global_batch_size
    plans = search(Goal(workload="llama-3-8b", tokens=1e12, nodes=("dgx-h100",), max_gpus=64))
    planned = {
        row["global_batch_size"] for row in map(plans.row, range(len(plans))) if row["world_size"] == 64
    }
    assert planned == {quoted} == {512}
    odd = completed_job(Scenario(**job | {"gpus": 24}), CATALOGUE).scenario.global_batch_size
    planned = {
        row["global_batch_size"] for row in map(plans.row, range(len(plans))) if row["world_size"] == 24
    }
    assert planned == {odd} == {384}


@given(st.integers(1, 100_000), st.sampled_from([512, 2048, 4096, 8192, 131072]))
def test_the_usual_batch_is_near_four_million_tokens_and_divides_as_the_job_does(world, length):
    batch = usual_batch(world, length)
    assert 0.7 < batch * length / TOKENS_OF_A_STEP < 1.42
    odd = world // (world & -world)
    assert batch % odd == 0 or odd * length > TOKENS_OF_A_STEP


def test_unequal_stages_are_cut_into_chunks_and_said(invoke):
    """126 layers over 16 stages, as Llama 3.1 405B was trained: of any stage 7 or 8."""
    job = {"workload": "llama-3.1-405b", "gpus": 16384, "accelerator": "h100-sxm5-80gb"}
    job |= {"tensor_parallel": 8, "pipeline_parallel": 16, "global_batch_size": 2048}
    quote = checked(job, quantity="flops", value="400TFLOP/s", per="accelerator")
    assert "tp8 pp16 v4" in quote.scenario  # in seven chunks each 14 of 112 would hold two layers
    assert any("126 layers do not divide by 16 stages" in line for line in quote.arithmetic)
    plain = checked(job | {"virtual_stages": 1}, quantity="flops", value="400TFLOP/s", per="accelerator")
    assert quote.expected > 1.2 * plain.expected
    found = perfmodel.layouts("llama-3.1-405b", gpus=2048, node="dgx-h100", global_batch_size=256)
    uneven = [
        row
        for row in found.rows
        if 126 % row.layout["pipeline_parallel"] and row.layout["virtual_stages"] > 1
    ]
    assert uneven
    asked = {name: uneven[0].layout[name] for name in (*DEGREES, "sharding", "recompute", "micro_batch_size")}
    one = predict(
        Scenario(workload="llama-3.1-405b", gpus=2048, node="dgx-h100", global_batch_size=256, **asked)
    )
    assert one.iteration_time == pytest.approx(uneven[0].iteration_time)
    assert any("layers do not divide by" in line for line in one.warnings)
    assert any("layers do not divide by" in line for line in uneven[0].caveats)
    chunks = (
        next(line for line in uneven[0].flags if "layout" in line).partition("'")[2].strip("'EL").split("|")
    )
    assert len(chunks) == uneven[0].layout["pipeline_parallel"] * uneven[0].layout["virtual_stages"]
    assert sum(map(len, chunks)) == 126


@pytest.mark.parametrize(
    ("text", "trick"),
    [
        ("989 TFLOPS, without sparsity", None),
        ("989 TFLOPS without any structured sparsity", None),
        ("989 TFLOPS dense, not sparse", None),
        ("989 TFLOPS (2:4 sparsity disabled)", None),
        ("989 TFLOPS, no 2:4 sparsity", None),
        ("1,979 TFLOPS with 2:4 sparsity", "sparse FLOPs"),
        ("1,979 TFLOPS, no loss of accuracy with sparsity", "sparse FLOPs"),
        ("1,979 TFLOPS, not only dense but sparse", "sparse FLOPs"),
        ("scales up to 64 GPUs", None),
        ("on up to 64 V100s", None),
        ("up to 512 A100-SXM4-80GB", None),
        ("up to 512 Nvidia H100 Tensor Core GPUs", None),
        ("scales linearly up to 64", None),
        ("scales linearly up to 64, at 400 TFLOPS", None),
        ("up to 2,000 fp16 TFLOPS", "up to"),
        ("up to 3 times faster on 8 GPUs", "up to"),
        ("scaling efficiency up to 95", "up to"),
        ("up to 400 dense bf16 TFLOPS per GPU", "up to"),
        ("989 TFLOPS, sparsity is not required", None),
        ("989 TFLOPS, sparse attention is not used", None),
        ("400 TFLOPS with sparse attention", None),
        ("inference is not measured; training 3000 images/s", None),
        ("inference at 3000 images/s; training is not measured", "inference"),
        ("1,979 TFLOPS with and without sparsity", "sparse FLOPs"),
        ("ResNet-50 on up to 64 A100 GPUs", None),
        ("up to 2,000 TFLOPS in FP16", "up to"),
        ("up to 400 TFLOPS per GPU on up to 64 nodes", "up to"),
        ("with the maximum batch size", None),
        ("the theoretical peak", "up to"),
        ("for analytics, training and inference", None),
        ("inference and training at 900 TFLOPS", None),
        ("900 TFLOPS in inference", "inference"),
        ("measured in training, not inference", None),
        ("a 3x boost over the last generation", None),
        ("boosts throughput", None),
        ("989 TFLOPS at the boost clock", "boost clock"),
        ("989 TFLOPS (boost)", "boost clock"),
        ("989 TFLOPS at 1,830 MHz boost", "boost clock"),
        ("989 TFLOPS, not at the boost clock", None),
    ],
)
def test_words_of_a_claim_are_read_with_what_stands_around_them(text, trick):
    claim = {"quantity": "flops", "value": "400TFLOP/s", "per": "accelerator", "format": "bf16"}
    assert names(checked(H100, text=text, **claim)) == ([trick] if trick else [])


def test_a_figure_beyond_the_fp8_peak_is_possible_with_sparsity_only():
    found = checked({"workload": "llama-3-70b", **H100, "gpus": 64}, quantity="tokens_per_second", value=4e5)
    (trick,) = found.tricks
    assert trick.factor == pytest.approx(4, rel=0.01)
    assert trick.condition == "it were by the sparse fp8 peak for bf16 work"
