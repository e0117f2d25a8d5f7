"""Quotes that leave precision or convention open, and similar measured runs that did not reach a claim."""

from __future__ import annotations

import json

import pytest

from perfmodel.core.units import percent
from perfmodel.decide.quote import Claim, Quote, check_quote
from perfmodel.decide.quote.card import card_of_quote
from perfmodel.decide.quote.comparable import reaches
from perfmodel.decide.quote.evidence import Near
from perfmodel.decide.quote.limited import limited_by
from perfmodel.decide.quote.listing import measured_words
from perfmodel.equations.succession import next_success_probability
from perfmodel.evidence.accuracy.training_rows import shipped_runs
from perfmodel.evidence.accuracy.transformers.transformer_rows import shipped_transformer_runs
from perfmodel.interfaces.reports.quoted import page_of_quote
from tests.test_app import opened, words

LLAMA = {"workload": "llama-3-8b", "gpus": 64, "node": "dgx-h100", "global_batch_size": 512}
H100 = {"node": "dgx-h100", "gpus": 8}
RESNET = {"workload": "resnet50", "gpus": 8, "accelerator": "h100-sxm5-80gb"}
A100 = {"workload": "resnet50", "gpus": 64, "accelerator": "a100-sxm4-80gb", "precision": "amp"}
PEAK = {"quantity": "flops", "per": "accelerator"}
TOKENS = {"quantity": "tokens_per_second_per_gpu"}
BF16, FP8 = 989.4e12, 1978.9e12
"""Dense peaks of the H100 by its data sheet [FLOP/s]."""


def quoted(scenario, **claim):
    return Quote(title="a quote", scenario=scenario, claims=(Claim(**claim),))


def checked(scenario, **claim):
    return check_quote(quoted(scenario, **claim))[0]


def needs(found):
    return [each.words for each in found.only_with]


# --- precision


@pytest.mark.parametrize(
    ("scenario", "claim"),
    [
        (LLAMA, TOKENS | {"value": 25_000}),
        (LLAMA, {"quantity": "iteration_time", "value": "2.5s"}),
        (LLAMA, {"quantity": "days_to_train", "value": 8, "tokens": "1T"}),
        (LLAMA, {"quantity": "mfu", "value": "130%", "convention": "causal"}),
        (LLAMA, PEAK | {"value": 1.3e15}),
        (RESNET, {"quantity": "images_per_second_per_gpu", "value": 70_000}),
    ],
)
def test_beyond_the_limit_of_bf16_a_claim_needs_fp8_unless_the_quote_states_bf16(scenario, claim):
    open_, stated = checked(scenario, **claim), checked(scenario | {"precision": "bf16"}, **claim)
    assert (open_.verdict, open_.judgement, open_.probability) == ("conditional", "doubtful", None)
    assert needs(open_) == ["fp8"]
    assert "possible only with fp8, which the quote does not state" in open_.sentence
    assert "Ask the vendor" in open_.sentence
    assert "which precision it is in" in open_.sentence
    assert "as the quote states no precision" in open_.assumed
    assert (stated.verdict, stated.probability, stated.only_with) == ("impossible", 0.0, [])
    assert stated.assumed.startswith("bf16")
    assert "states no precision" not in stated.assumed


@pytest.mark.published("NVIDIA H100 data sheet: 989.4 TFLOP/s dense in bf16, 1,978.9 in fp8")
def test_the_limit_with_fp8_is_as_much_higher_as_its_peak():
    found = checked(LLAMA, **TOKENS, value=25_000)
    with_fp8 = checked(LLAMA | {"precision": "fp8"}, **TOKENS, value=25_000)
    (needed,) = found.only_with
    assert needed.limit / found.limit == pytest.approx(FP8 / BF16, rel=1e-3)
    assert needed.limit == pytest.approx(with_fp8.limit)
    assert needed.verdict == with_fp8.verdict == "optimistic"
    utilisation = checked(LLAMA, quantity="mfu", value="130%", convention="causal")
    assert utilisation.only_with[0].limit == pytest.approx(FP8 / BF16, rel=1e-3)  # of the bf16 peak


def test_beyond_the_limit_of_the_narrowest_format_a_claim_is_impossible():
    assert checked(LLAMA, **TOKENS, value=39_000).verdict == "impossible"
    below, above = (checked(LLAMA, **TOKENS, value=value).verdict for value in (38_000, 39_000))
    assert (below, above) == ("conditional", "impossible")
    v100 = {"workload": "resnet50", "gpus": 8}
    assert checked(v100, quantity="images_per_second", value=1e6).verdict == "impossible"  # without fp8


def test_words_that_name_a_format_exclude_narrower_ones():
    claim = PEAK | {"value": 1.3e15}
    assert checked(LLAMA, **claim, text="1,300 TFLOPS in BF16").verdict == "impossible"
    assert checked(LLAMA, **claim, reading="of FP16 training").verdict == "impossible"
    for said in ("16-bit training", "half precision", "FP8 not used", "without FP8", "no 8-bit formats"):
        assert checked(LLAMA, **claim, text=f"1,300 TFLOPS, {said}").verdict == "impossible", said
    for said in ("in FP8 or BF16", "with an 8-bit optimizer"):
        assert checked(LLAMA, **claim, text=f"1,300 TFLOPS {said}").verdict == "conditional", said


def test_a_claim_is_checked_in_the_one_precision_that_its_words_name():
    in_words = checked(LLAMA, **TOKENS, value=25_000, text="25,000 tokens/s in FP8, not BF16")
    as_option = checked(LLAMA | {"precision": "fp8"}, **TOKENS, value=25_000)
    assert in_words.precision == "fp8"
    assert "states no precision" not in in_words.assumed
    assert (in_words.verdict, in_words.limit) == (as_option.verdict, as_option.limit)
    v100 = {"workload": "resnet50", "gpus": 8, "accelerator": "v100-sxm2-16gb"}
    lacking = checked(v100, quantity="images_per_second", value=1000, text="in BF16")
    assert lacking.precision == checked(v100, quantity="images_per_second", value=1000).precision


@pytest.mark.published("Transformer Engine 0.1.0, release notes: FP8 on H100, 2022")
@pytest.mark.parametrize(
    ("framework", "verdict"),
    [("pytorch@2018", "impossible"), ("nemo@2021", "impossible"), ("nemo@2024", "conditional")],
)
def test_software_older_than_fp8_does_not_compute_in_it(framework, verdict):
    assert checked(LLAMA | {"framework": framework}, **TOKENS, value=25_000).verdict == verdict


def test_an_exchange_that_no_precision_shortens_stays_impossible():
    slow = {
        "workload": "vgg16",
        "gpus": 64,
        "accelerator": "h100-sxm5-80gb",
        "inter_link": "ethernet-10g-tcp",
    }
    found = checked(slow, quantity="images_per_second_per_gpu", value=20_000)
    assert (found.verdict, found.only_with) == ("impossible", [])


# --- conventions


@pytest.mark.published(
    "NVIDIA H100 data sheet: 1,979 TFLOP/s in bf16 with sparsity, 3,958 in fp8 with sparsity"
)
@pytest.mark.parametrize(
    ("scenario", "claim", "needed"),
    [
        (H100, {"value": "1979TFLOP/s"}, ["fp8", "2:4 sparsity counted"]),
        (H100 | {"precision": "bf16"}, {"value": "1979TFLOP/s"}, ["2:4 sparsity counted"]),
        (H100 | {"precision": "bf16"}, {"value": "1979TFLOP/s", "text": "dense"}, []),
        (H100 | {"precision": "bf16"}, {"value": "1979TFLOP/s", "text": "without sparsity"}, []),
        (H100, {"value": "3958TFLOP/s"}, ["fp8 and 2:4 sparsity counted"]),
        (H100, {"value": "3958TFLOP/s", "format": "fp8"}, ["2:4 sparsity counted"]),
        (H100, {"value": "5000TFLOP/s"}, []),
        ({"node": "dgx-b200", "gpus": 8}, {"value": "9PFLOP/s"}, ["nvfp4", "fp8 and 2:4 sparsity counted"]),
        (LLAMA | {"precision": "bf16"}, {"value": "1300TFLOP/s"}, []),  # training skips nothing
    ],
)
def test_hardware_figures_may_count_sparsity_that_no_words_exclude(scenario, claim, needed):
    found = checked(scenario, **PEAK, **claim)
    assert needs(found) == needed
    assert found.verdict == ("conditional" if needed else "impossible")
    assert "dense products" in found.assumed


def test_a_figure_of_hardware_flop_is_named_as_one():
    """With full recomputation the hardware runs 4 FLOP for 3 of the model."""
    model = checked(LLAMA | {"precision": "bf16"}, **PEAK, value=560e12, convention="causal")
    hardware = checked(LLAMA | {"precision": "bf16"}, **PEAK, value=840e12, convention="causal")
    assert model.verdict == "plausible"
    assert hardware.verdict == "optimistic"
    (told,) = (trick for trick in hardware.tricks if trick.name == "recomputed FLOPs")
    assert told.factor == pytest.approx(4 / 3)
    assert "model FLOP, without recomputation" in hardware.sentence
    assert "recomputation not counted" in hardware.assumed


@pytest.mark.parametrize(
    ("scenario", "claim", "assumed"),
    [
        (LLAMA, {"quantity": "mfu", "value": "50%", "convention": "palm"}, "by PaLM's count"),
        (LLAMA, {"quantity": "mfu", "value": "50%"}, "over the bf16 peak"),
        (A100, {"quantity": "scaling_efficiency", "value": "90%"}, "amp; weak scaling"),
        (A100, {"quantity": "images_per_second", "value": 90_000}, "amp"),
        (
            H100,
            {"quantity": "bus_bandwidth", "value": "400GB/s"},
            "bus bandwidth of all-reduce, as nccl-tests",
        ),
    ],
)
def test_every_answer_names_the_precision_and_convention_that_it_assumes(scenario, claim, assumed):
    assert assumed in checked(scenario, **claim).assumed


# --- similar runs that did not reach it


@pytest.mark.parametrize(("reached", "runs", "most"), [(0, 1, "1/3"), (2, 3, "3/5"), (9, 10, "10/12")])
def test_the_rule_of_succession_is_the_mean_of_the_rate_given_the_runs(reached, runs, most):
    """A second way: rates in small steps, each weighed by how probable it makes the runs."""
    steps = [(step + 0.5) / 10_000 for step in range(10_000)]
    weights = [rate**reached * (1 - rate) ** (runs - reached) for rate in steps]
    mean = sum(rate * weight for rate, weight in zip(steps, weights, strict=True)) / sum(weights)
    above, below = map(int, most.split("/"))
    assert next_success_probability(reached, runs) == pytest.approx(above / below)
    assert mean == pytest.approx(above / below, rel=1e-6)


def near(id, value, differs=()):
    return Near(id=id, source="s", value=value, words="w", differs=list(differs))


def test_only_comparable_runs_limit_and_only_where_one_failed():
    runs = [near("a", 90.0), near("b", 110.0), near("c", 50.0, ["accelerator"])]
    found = limited_by(0.99, runs, None, 100.0, True)
    assert (found.runs, found.reached, found.most) == (2, 1, 0.5)
    assert limited_by(0.4, runs, None, 100.0, True) is None  # less likely already
    assert limited_by(0.99, runs[1:], None, 100.0, True) is None  # all reached it
    assert limited_by(None, runs, None, 100.0, True) is None
    times = limited_by(0.99, runs, None, 100.0, False)  # of a time, less is better
    assert (times.runs, times.reached) == (2, 1)
    assert limited_by(0.99, [], None, 100.0, True) is None


def test_a_run_that_did_not_reach_a_claim_limits_its_probability():
    """Two runs of 8 B parameters on 64 H100 by NeMo reached 10,021 and 10,082 tokens/s of each."""
    measured = {run.run_id: run for run in shipped_transformer_runs()}
    found = checked(LLAMA, **TOKENS, value=10_150)
    assert found.verdict == "plausible"
    assert found.limited_by.model_dump() == {"runs": 2, "reached": 0, "most": 0.25}
    assert found.probability == 0.25
    assert found.similar_run.probability > 0.4  # what that run alone says
    assert all(each.id in measured for each in found.measured)
    told = "at most 25 % likely to be reached, as none of 2 similar measured runs did as well"
    assert told in found.sentence
    easier = checked(LLAMA, **TOKENS, value=6000)  # both reached it
    assert easier.limited_by is None
    assert easier.probability > 0.99
    assert "over 99 % likely" in easier.sentence


def test_a_run_by_software_that_the_model_expects_less_of_is_no_test():
    """Nanotron reached 6,771 tokens/s; with the software assumed the model expects 1.18 times its rate."""
    found = checked(LLAMA, **TOKENS, value=7000)
    (slower,) = (each for each in found.measured if each.id.startswith("nanotron"))
    assert slower.differs == ["software"]
    assert found.limited_by is None
    assert measured_words(found, slower).endswith("did not reach the claim, but is of another software")


def test_a_run_over_slower_links_is_no_test_of_a_bandwidth():
    """ABCI's machines have 4 adapters for 8 A100, those of the claim 8."""
    found = checked(
        {"node": "dgx-a100-80gb", "gpus": 16}, quantity="bus_bandwidth", value="110GB/s", size="1GB"
    )
    differs = {each.id.partition("-")[0]: each.differs for each in found.measured}
    assert differs == {"abci": ["network link"], "alcf": [], "deepops": []}
    assert found.limited_by is None
    alike = checked(
        {"node": "dgx-a100-80gb", "gpus": 16, "nics": 4},
        quantity="bus_bandwidth",
        value="110GB/s",
        size="1GB",
    )
    (same,) = (each for each in alike.measured if each.id.startswith("abci"))
    assert same.differs == []


def test_software_that_the_quote_states_makes_other_runs_no_test():
    found = checked(LLAMA | {"framework": "nemo"}, **TOKENS, value=7000)
    (other,) = (each for each in found.measured if each.id.startswith("nanotron"))
    assert other.differs == ["software"]
    assert found.limited_by is None
    assert found.probability > 0.9


def test_a_run_over_a_network_of_less_than_half_the_rate_is_no_test():
    """Four machines over EDR InfiniBand say nothing against a claim on twice that, but do on Ethernet."""
    job = {"workload": "resnet50", "gpus": 32, "accelerator": "v100-sxm2-16gb"}
    claim = {"quantity": "scaling_efficiency", "value": "80%"}
    found = (checked(job | {"inter_link": link}, **claim) for link in ("ib-hdr-200g", "ethernet-10g-tcp"))
    fast, slow = ({each.id: "network link" in each.differs for each in one.measured} for one in found)
    over_edr = [id for id in fast if "ib-edr-100g" in id]
    assert over_edr
    assert all(fast[id] and not slow[id] for id in over_edr)


def test_one_efficiency_below_a_claimed_one_limits_it():
    found = checked(A100 | {"local_batch_size": 256}, quantity="scaling_efficiency", value="90%")
    assert found.limited_by.model_dump() == {"runs": 1, "reached": 0, "most": pytest.approx(1 / 3)}
    assert (
        "at most 33 % likely to be reached, as the one similar measured run was not as good" in found.sentence
    )
    assert {run.run_id for run in shipped_runs()} >= {each.id for each in found.measured}
    against_eight = checked(A100, quantity="scaling_efficiency", value="90%", from_gpus=8)
    assert all("baseline" in each.differs for each in against_eight.measured)


@pytest.mark.parametrize("value", [3000, 5000, 6000, 6700, 6800, 7000, 8000, 9000, 9990, 10_050, 12_000])
def test_no_probability_stands_above_what_comparable_runs_leave(value):
    found = checked(LLAMA, **TOKENS, value=value)
    reached = [reaches(each.value, value, True) for each in found.measured if not each.differs]
    assert len(reached) == 2
    if not all(reached):
        assert found.probability <= (sum(reached) + 1) / (len(reached) + 2)
        assert percent(found.probability) != "over 99 %"


# --- the ways out


def test_every_door_says_what_is_assumed_and_what_would_make_it_possible(invoke, tmp_path):
    file = tmp_path / "quote.toml"
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in LLAMA.items())
    rates = "".join(
        f'[[claims]]\nquantity = "tokens_per_second_per_gpu"\nvalue = {value}\n' for value in (25_000, 10_150)
    )
    file.write_text(f'title = "a quote"\n[scenario]\n{lines}{rates}')
    done = invoke("check-quote", file)
    assert done.exit_code == 0  # not impossible
    text = " ".join(done.stdout.split())
    assert "1. CONDITIONAL: 25,000 tokens/s per accelerator; only with fp8" in text
    assert "assumed bf16, as the quote states no precision" in text
    assert "it did not reach the claim" in text
    assert "at most 25 % likely to be reached, as none of 2 similar measured runs did as well" in text
    told = json.loads(invoke("check-quote", file, "--json").stdout)["claims"]
    assert [each["precision"] for each in told[0]["only_with"]] == ["fp8"]
    assert told[1]["limited_by"] == {"runs": 2, "reached": 0, "most": 0.25}
    assert "conditional: only with fp8" in invoke("check-quote", file, "--markdown").stdout
    assert "fp8" in invoke("check-quote", file, "--csv").stdout
    found = check_quote(quoted(LLAMA, **TOKENS, value=25_000))
    page = page_of_quote(quoted(LLAMA, **TOKENS, value=25_000), found, None)
    assert page.tables[1].rows[0][1] == "conditional: only with fp8"
    assert ("assumed", found[0].assumed) in page.tables[2].rows
    card = card_of_quote(found)
    assert card.advice.startswith("Ask which precision it is in: 25,000 tokens/s")
    assert "is possible only with fp8" in card.advice
    assert card.limit == "physics allows at most 19,222 tokens/s per accelerator in bf16"


def test_the_page_says_what_is_assumed_and_what_would_make_it_possible():
    query = {name.replace("_", "-"): str(value) for name, value in LLAMA.items()}
    test = opened("quote", **query, quantity="tokens_per_second_per_gpu", value="25000")
    said = words(test)
    assert any(each.label.startswith("1\\. Conditional") for each in test.expander)
    assert "Doubtful: only with fp8" in said
    assert "assumed: bf16, as the quote states no precision" in said
