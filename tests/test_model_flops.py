"""Which FLOP of a network its utilisation counts, and that no utilisation from specs passes 1."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel import Catalogue, layouts, predict, sweep
from perfmodel.core.errors import InputError
from perfmodel.decide.quote import Claim, Quote, check_quote
from perfmodel.decide.quote.file import quote_of
from perfmodel.equations.transformer import attended_positions
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.intervals.bound import least_iteration_time
from perfmodel.model.setting.resolve import resolve
from perfmodel.model.transformers.flops import mean_attended, passed_parameters, step_flops
from perfmodel.workloads import workload
from perfmodel.workloads.preset_names import LANGUAGE, VISION
from perfmodel.workloads.presets import preset

NAMES = [name for names in {**LANGUAGE, **VISION}.values() for name in names]
CATALOGUE = Catalogue.built_in()
HEADS = {"bert-base": 0.02, "bert-large": 0.02, "distilbert": 0.02}
"""What poolers and the transform in front of BERT's words take, which the count leaves out."""


@cache
def seen_by_all(reach, length, chunked):
    """How many positions ``length`` of them attend to in all, counted one by one."""
    firsts = (query - query % reach if chunked else max(0, query - reach + 1) for query in range(length))
    return sum(query - first + 1 for query, first in enumerate(firsts))


def mean_window(model, layer, length):
    """How many positions each of ``length`` attends to in a layer, in the mean."""
    return seen_by_all(model.attends_to(layer, length), length, model.chunked) / length


@pytest.mark.parametrize(("window", "length"), [(1, 1), (4, 4), (2, 4), (3, 10), (10, 10)])
def test_a_causal_mask_leaves_as_many_positions_as_are_counted_one_by_one(window, length):
    each = [min(query + 1, window) for query in range(length)]
    assert attended_positions(window, length) == pytest.approx(sum(each) / length, rel=1e-12)


@pytest.mark.parametrize("name", ["gemma-3-1b", "gemma-2-2b", "gpt-oss-20b", "llama-4-scout", "llama-3-8b"])
@pytest.mark.parametrize("length", [256, 5000, 20000])
def test_windows_and_chunks_are_those_of_each_layer(name, length):
    model = preset(name).architecture
    by_layer = [mean_window(model, layer, length) for layer in range(model.layers)]
    assert mean_attended(model, length) == pytest.approx(sum(by_layer) / model.layers, rel=1e-12)


@pytest.mark.any_version
@pytest.mark.parametrize("name", NAMES)
def test_the_count_is_that_of_the_layer_table_without_masked_scores(name):
    """An oracle of its own: the table has every product by layer, and of scores all in reach."""
    network = workload(name)
    model, length = network.architecture, network.tokens
    flops = 0.0
    if model.scan:  # counted token by token, computed by chunks
        operations = 8 if "delta" in model.scan.type else 6
        flops = 3 * length * model.scan_layers * operations * model.scan.inner * model.scan.state
    for layer in network.layers:
        share = 1.0
        if layer.kind == "matmul" and ".scan." in layer.name:
            continue
        if layer.kind == "matmul" and model.index_top_k:
            reach = length if ".index." in layer.name else model.index_top_k
            share = sum(min(query + 1, reach) for query in range(length)) / length / reach
        elif layer.kind == "matmul" and not model.bidirectional:
            part, _, rest = layer.name.partition(".")
            if part != "encoder" and "cross" not in rest:
                index, tokens = int(layer.name.split(".")[1]), layer.gemm_rows
                reach = model.attends_to(index, int(tokens))
                share = mean_window(model, index, int(tokens)) / reach
        flops += share * (layer.forward_flops + layer.backward_flops)
    patches = 3e-2 if model.patch_elements else 2e-3
    assert step_flops(model, 1, length) == pytest.approx(flops, rel=HEADS.get(name, patches))


def test_parameters_of_products_by_hand():
    """Llama 3 8B: 32 layers of 2 x 4096^2 + 2 x 4096 x 1024 + 3 x 4096 x 14336, a head of 128,256 words."""
    layer = 2 * 4096**2 + 2 * 4096 * 1024 + 3 * 4096 * 14336
    assert passed_parameters(preset("llama-3-8b").architecture, 8192) == 32 * layer + 128256 * 4096
    tied = preset("gemma-2b").architecture  # whose head is its table of words
    assert passed_parameters(tied, 8192) == pytest.approx(tied.parameters, rel=1e-4)


def test_latent_attention_scores_by_keys_and_sums_by_values():
    model = preset("deepseek-v3").architecture
    scores = step_flops(model, 1, 4096) / 4096 - 6 * passed_parameters(model, 4096)
    assert scores == pytest.approx(12 * 61 * 128 * (192 + 128) / 2 * 4097 / 2, rel=1e-9)


def test_conventions_count_more_and_more():
    model = preset("llama-3-8b").architecture
    causal, megatron, palm = (
        step_flops(model, 1, 8192, count=count) for count in ("causal", "megatron", "palm")
    )
    assert (megatron - causal) / 8192 == pytest.approx(12 * 32 * 32 * 128 * (8192 - 8193 / 2))
    assert (palm - megatron) / 8192 == pytest.approx(6 * (128256 * 4096 + 65 * 4096))
    assert palm / 8192 == pytest.approx(6 * model.parameters + 12 * 32 * 32 * 128 * 8192)


# --- what answers say


LONG = {"workload": "gemma-3-27b", "node": "dgx-h100", "gpus": 256, "global_batch_size": 256}


def test_attention_within_windows_does_not_use_more_than_the_peak():
    found = layouts(**LONG, sequence_length=131072, top=3)
    for row in found.rows:
        assert row.mfu < 0.6 < 1 < row.mfu_nominal
        assert row.mfu <= row.hfu <= 1


@given(
    name=st.sampled_from(NAMES),
    accelerator=st.sampled_from(["h100-sxm5-80gb", "a100-sxm4-80gb", "v100-sxm2-16gb", "mi300x", "tpu-v5p"]),
    length=st.sampled_from([None, 1, 128, 2048, 32768, 131072]),
    precision=st.sampled_from([None, "amp", "bf16", "fp8", "fp32", "tf32"]),
    recompute=st.sampled_from([None, "selective", "full"]),
    micro=st.sampled_from([1, 8]),
)
@settings(max_examples=60)
def test_no_utilisation_from_specs_passes_one(name, accelerator, length, precision, recompute, micro):
    asked = {"workload": name, "accelerator": accelerator, "sequence_length": length, "precision": precision}
    asked |= {"recompute": recompute, "local_batch_size": micro, "world_size": 8}
    scenario = Scenario(**{key: each for key, each in asked.items() if each is not None})
    try:
        answer = predict(scenario)
    except InputError:
        return
    assert 0 < answer.mfu <= 1 + 1e-9
    assert answer.mfu <= answer.mfu_nominal * (1 + 1e-9)
    assert answer.hfu is None or answer.mfu <= answer.hfu * (1 + 1e-9)
    assert answer.iteration_time >= least_iteration_time(resolve(scenario, CATALOGUE)) * (1 - 1e-9)


def test_what_was_learned_is_held_to_the_peak_of_hardware_unlike_all_that_was_measured():
    """TF32 of a GeForce: the effect of power, learned of others, would take it past its peak."""
    asked = {"workload": "gnmt", "accelerator": "rtx-3060", "precision": "tf32", "framework": "pytorch"}
    asked["local_batch_size"] = 256
    answer = predict(world_size=1, **asked)
    assert answer.mfu == pytest.approx(1)
    assert not any("no machine computes so fast" in note for note in answer.warnings)
    assert any("computing is taken at the peak" in note for note in answer.warnings)
    table = sweep(gpus=1, **asked).table()
    assert table["iteration_time"][0] == pytest.approx(answer.iteration_time, rel=1e-9)
    assert table["mfu"][0] == pytest.approx(answer.mfu, rel=1e-9)


def test_a_sweep_and_a_search_say_the_same_of_both_counts():
    asked = {"workload": "llama-3-8b", "node": "dgx-h100", "global_batch_size": 64}
    one = predict(world_size=8, sharding="zero3", **asked)
    table = sweep(gpus=8, sharding="zero3", **asked).table()
    row = next(
        row for row in layouts(gpus=8, **asked).rows if row.layout == {**one.layout, "micro_batch_size": 1}
    )
    for name in ("mfu", "mfu_nominal"):
        assert table[name][0] == pytest.approx(getattr(one, name), rel=1e-9)
        assert getattr(row, name) == pytest.approx(getattr(one, name), rel=1e-9)
    tokens = 64 * 8192 / one.iteration_time / 8
    palm = 6 * 8030261248 + 12 * 32 * 4096 * 8192
    assert one.mfu_nominal == pytest.approx(palm * tokens / 989.4e12, rel=1e-3)


# --- claims


def checked(claim, **scenario):
    job = {"workload": "llama-3-8b", "node": "dgx-h100", "gpus": 64, "sequence_length": 65536}
    if "workload" not in scenario:
        job["framework"] = "megatron-core@2026"
    quote = Quote(title="t", scenario=job | scenario, claims=(Claim(**claim),))
    return check_quote(quote)[0]


def test_a_claim_is_judged_by_the_convention_it_states():
    causal, palm = (
        checked({"quantity": "mfu", "value": 0.8, "convention": count}) for count in ("causal", "palm")
    )
    assert (causal.verdict, palm.verdict) == ("optimistic", "plausible")
    assert causal.limit == pytest.approx(1)
    assert palm.limit / causal.limit == pytest.approx(palm.expected / causal.expected)
    assert palm.limit > 1.5
    assert causal.other_reading is None is palm.other_reading
    same = checked({"quantity": "tokens_per_second", "value": 1.0}).expected
    assert palm.expected * 64 * 989.4e12 / same == pytest.approx(
        6 * 8030261248 + 12 * 32 * 4096 * 65536, rel=1e-3
    )


@pytest.mark.parametrize(
    ("value", "verdict", "convention", "other"),
    [
        (0.5, "plausible", "causal", "pessimistic"),
        (0.8, "plausible", "palm", "optimistic"),
        (1.2, "optimistic", "palm", "impossible"),
        (1.7, "impossible", "causal", "impossible"),
    ],
)
def test_a_claim_that_states_none_is_judged_by_both(value, verdict, convention, other):
    found = checked({"quantity": "mfu", "value": value}, precision="bf16")
    assert (found.verdict, found.convention, found.other_reading.verdict) == (verdict, convention, other)
    (line,) = (line for line in found.arithmetic if "does not say how FLOP are counted" in line)
    assert f"it would be {other}" in line
    assert ("whether its FLOP count masked scores" in found.sentence) == (verdict != other)


def test_conventions_are_of_transformers_alone():
    with pytest.raises(InputError, match=r"convention = 'palm': resnet50 is no transformer; leave it out"):
        checked(
            {"quantity": "mfu", "value": 0.3, "convention": "palm"}, workload="resnet50", sequence_length=None
        )
    rate = {"quantity": "tokens_per_second", "value": 1.0, "convention": "palm"}
    with pytest.raises(InputError, match="convention goes with flops or mfu, not tokens_per_second"):
        quote_of({"title": "t", "claims": [rate]})
