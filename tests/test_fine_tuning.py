"""Fine-tuning: adapters on any products, frozen weights in 4 bits, packed documents, on one card too."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import perfmodel
from perfmodel.core.errors import InputError
from perfmodel.decide.explanations import explain
from perfmodel.decide.sweeps import sweep
from perfmodel.equations.packing import positions_of_document
from perfmodel.evidence.accuracy.memory_fit import shipped_peaks
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.releases import release
from perfmodel.interfaces.cli import main
from perfmodel.model.options.adapters import PRODUCTS
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.setting.resolve import resolve
from perfmodel.model.transformers.evaluate import case_of_setting
from perfmodel.model.transformers.flops import mean_attended
from perfmodel.model.transformers.held import held_parameters, trained_parameters
from perfmodel.model.transformers.job import bare_job
from perfmodel.workloads import workload

CARD = {
    "workload": "llama-3.1-8b",
    "gpus": 1,
    "accelerator": "rtx-4090",
    "sequence_length": 2048,
    "micro_batch_size": 2,
    "framework": "torchtune@2024",
}
NODE = {"workload": "llama-3-8b", "node": "dgx-h100", "gpus": 8}
HIDDEN, WIDE, KEYS, LAYERS = 4096, 14336, 1024, 32
WEIGHTS = {
    "q": HIDDEN * HIDDEN, "k": HIDDEN * KEYS, "v": HIDDEN * KEYS, "o": HIDDEN * HIDDEN,
    "gate": HIDDEN * WIDE, "up": HIDDEN * WIDE, "down": WIDE * HIDDEN,
}  # fmt: skip
"""Weights of the products of Llama 3 8B."""
PARAMETERS = {
    "q": 2 * HIDDEN, "k": HIDDEN + KEYS, "v": HIDDEN + KEYS, "o": 2 * HIDDEN,
    "gate": HIDDEN + WIDE, "up": HIDDEN + WIDE, "down": WIDE + HIDDEN,
}  # fmt: skip
"""Parameters of adapters of rank 1: what a product takes and makes."""


def trained(**options):
    """Return the trained parameters of a rank."""
    job = bare_job(case_of_setting(resolve(Scenario(**options), Catalogue.built_in())))
    return sum(trained_parameters(job, held_parameters(job)))


@pytest.mark.parametrize("targets", ["q", "k,v", "o,down", "gate", "q,v,o,gate,up,down", ",".join(PRODUCTS)])
def test_adapters_are_of_the_products_named(targets):
    expected = 16 * LAYERS * sum(PARAMETERS[name] for name in targets.split(","))
    assert trained(**NODE, lora=16, lora_targets=targets) == pytest.approx(expected, rel=1e-12)


@pytest.mark.published("PEFT: print_trainable_parameters of Llama 3 8B, all linear products, rank 16")
def test_the_published_number_of_trained_parameters():
    assert trained(**NODE, lora=16, lora_targets="all") == 41_943_040


@pytest.mark.parametrize(
    ("words", "products"),
    [
        ("attention", "q,k,v,o"),
        ("mlp", "gate,up,down"),
        ("all-linear", ",".join(PRODUCTS)),
        ("linear_qkv,linear_fc1", "q,k,v,gate,up"),
        ("q_proj, down_proj", "q,down"),
        ("output_proj", "o"),
    ],
)
def test_names_of_other_software_are_understood(words, products):
    one, other = (predict(**NODE, lora=8, lora_targets=each) for each in (words, products))
    assert one.iteration_time == other.iteration_time
    assert one.scenario["lora_targets"] == products


@pytest.mark.parametrize(
    ("framework", "products"),
    [
        ("megatron-core", "q,k,v,o"),
        ("nemo", "q,k,v,o"),
        ("torchtune", "q,v,o,gate,up,down"),
        ("transformers", "q,v"),
        ("axolotl", ",".join(PRODUCTS)),
    ],
)
def test_adapters_are_by_default_as_the_software_has_them(framework, products):
    known = predict(**NODE, lora=16, framework=framework)
    assert known.scenario["lora_targets"] == products
    assert any("--lora-targets" in str(note) for note in known.defaults)
    assert known.iteration_time == predict(known.scenario).iteration_time


@pytest.mark.parametrize("framework", ["torchtune", "axolotl", "transformers"])
def test_software_for_fine_tuning_recomputes_all_layers_unless_told_otherwise(framework):
    usual, full, none = (
        predict(**NODE, framework=framework, recompute=each) for each in (None, "full", "none")
    )
    assert usual.layout["recompute"] == "full"
    assert usual.iteration_time == full.iteration_time > none.iteration_time
    assert release(f"{framework}@2026", Catalogue.built_in()).recomputes == "full"
    table = sweep(**NODE, framework=framework, micro_batch_size=[1, 2]).table()
    assert table["iteration_time"][0] == pytest.approx(usual.iteration_time, rel=1e-9)


def test_experts_have_adapters_of_their_own():
    mixture = {"workload": "mixtral-8x7b", "node": "dgx-h100", "gpus": 8, "lora": 4}
    attention, every = (trained(**mixture, lora_targets=each) for each in ("attention", "all"))
    assert every - attention == pytest.approx(4 * 32 * 8 * 3 * (4096 + 14336), rel=1e-12)
    shared = trained(**mixture, lora_targets="all", expert_parallel=8)
    assert shared - attention == pytest.approx(4 * 32 * 3 * (4096 + 14336), rel=1e-12)


def test_inputs_are_kept_for_the_products_that_have_adapters():
    """The input of gate and up is kept if one of them has an adapter, that of down for its own."""
    of = {each: predict(**NODE, lora=1, lora_targets=each).memory.rows["activations"] for each in PRODUCTS}
    tokens = 8192
    into, down = (2 * tokens * LAYERS * width for width in (HIDDEN, WIDE))
    assert of["gate"] == of["up"] == pytest.approx(of["o"] + into)
    assert of["q"] == of["k"] == of["v"] == pytest.approx(of["o"] + into)
    assert of["down"] == pytest.approx(of["o"] + down)
    both = predict(**NODE, lora=1, lora_targets="gate,up").memory.rows["activations"]
    assert both == of["gate"]


@pytest.mark.published("Dettmers et al. 2023, section 3: 4.5 bits, 0.373 fewer by double quantization")
@pytest.mark.parametrize(("stored", "bits"), [("16-bit", 16), ("nf4", 4.5), ("nf4-double", 4.127)])
def test_frozen_products_are_stored_in_few_bits_and_tables_in_16(stored, bits):
    rows = predict(**CARD, lora=16, lora_targets="q", frozen_weights=stored).memory.rows
    products, tables = LAYERS * sum(WEIGHTS.values()), 2 * 128_256 * HIDDEN
    adapters = 16 * LAYERS * PARAMETERS["q"]
    assert rows["weights"] == pytest.approx(products * bits / 8 + 2 * tables + 2 * adapters, rel=2e-4)


def test_weights_are_expanded_in_every_pass():
    """Read in 4 bits and written in 16: forward, in the recomputation, and backward."""
    known = {each: predict(**CARD, lora=16, frozen_weights=each) for each in ("16-bit", "nf4", "nf4-double")}
    moved = LAYERS * sum(WEIGHTS.values()) * (0.5625 + 2)
    fastest = moved / 1.008e12  # of the card's memory [B/s]
    added = {name: known["nf4"].terms[name] - known["16-bit"].terms[name] for name in known["nf4"].terms}
    assert 2 * fastest < added["elementwise_time"] < 4 * fastest
    assert added["recomputation_time"] == pytest.approx(added["elementwise_time"] / 2, rel=1e-6)
    assert added["products_time"] == 0
    temporary = known["nf4"].memory.rows["other"] - known["16-bit"].memory.rows["other"]
    assert temporary == pytest.approx(2 * HIDDEN * WIDE)
    assert known["nf4-double"].memory.bytes < known["nf4"].memory.bytes < known["16-bit"].memory.bytes


def test_sharded_weights_travel_in_4_bits():
    sharded = NODE | {"strategy": "fsdp", "lora": 16, "framework": "torchtune"}
    sent = [predict(**sharded, frozen_weights=each).traffic[-1] for each in ("16-bit", "nf4")]
    products, tables = LAYERS * sum(WEIGHTS.values()), 2 * 128_256 * HIDDEN
    share = (0.5625 / 2 * products + tables) / (products + tables)
    assert sent[1].message_bytes / sent[0].message_bytes == pytest.approx(share, rel=1e-3)
    assert sent[1].time < sent[0].time


def test_frozen_weights_of_fsdp_stay_in_16_bits():
    """Trained weights are fp32 in FSDP's mixed precision; frozen ones only what products read."""
    full, lora = (predict(**NODE, strategy="fsdp", **more).memory.rows for more in ({}, {"lora": 16}))
    assert lora["weights"] == pytest.approx(full["weights"] / 2, rel=0.01)


def test_one_card_gathers_nothing():
    known = predict(**CARD, lora=16)
    assert known.layout["sharding"] == "zero3"
    assert known.memory.rows["other"] == 0
    assert known.memory.bytes < 24 * 2**30


def scores_of(lengths):
    """Return the positions that a query attends to, the mean over the tokens of documents."""
    return sum(length * (length + 1) / 2 for length in lengths) / sum(lengths)


def test_attention_stays_inside_documents():
    """Documents of one length, counted one by one; of several, by the sum of their squares."""
    model = workload("llama-3-8b").architecture
    alike = mean_attended(model._replace(document_length=256), 8192)
    assert alike == scores_of([256] * 32)
    lengths = np.array([100, 300, 700, 900])
    mean, spread = lengths.mean(), lengths.std() / lengths.mean()
    packed = mean_attended(model._replace(document_length=float(mean), document_spread=float(spread)), 8192)
    assert packed == pytest.approx(scores_of(lengths.tolist()), rel=1e-12)
    assert positions_of_document(mean, spread) == pytest.approx((lengths**2).sum() / lengths.sum())
    assert mean_attended(model._replace(document_length=8000, document_spread=3.0), 8192) == 8193 / 2


@settings(max_examples=25, deadline=None)
@given(
    length=st.integers(16, 8192),
    spread=st.floats(0, 2),
    network=st.sampled_from(["llama-3-8b", "gemma-2-9b"]),
)
def test_shorter_documents_take_less_time_and_as_much_memory(length, spread, network):
    job = NODE | {"workload": network, "sequence_length": 8192}
    whole = predict(**job)
    packed = predict(**job, document_length=length, document_spread=spread)
    longer = predict(**job, document_length=min(8192, 2 * length), document_spread=spread)
    assert packed.terms["attention_time"] <= longer.terms["attention_time"] * (1 + 1e-12)
    assert longer.terms["attention_time"] <= whole.terms["attention_time"] * (1 + 1e-12)
    assert packed.memory.bytes == whole.memory.bytes
    assert packed.model_flops <= whole.model_flops
    assert packed.terms["products_time"] == whole.terms["products_time"]


def test_documents_take_their_share_of_attention():
    whole, packed = predict(**NODE), predict(**NODE, document_length=512)
    assert packed.terms["attention_time"] == pytest.approx(whole.terms["attention_time"] * 512 / 8192)


EVERYTHING = [
    {"lora": 16, "lora_targets": "all"},
    {"lora": 16, "lora_targets": "q,mlp", "frozen_weights": "nf4-double", "framework": "torchtune"},
    {"lora": 8, "document_length": 400, "document_spread": 0.7},
    {
        "workload": "mixtral-8x7b",
        "lora": 8,
        "lora_targets": "all",
        "frozen_weights": "nf4",
        "sharding": "zero3",
    },
    {"workload": "gemma-2-9b", "document_length": 900},
]


@pytest.mark.parametrize("more", EVERYTHING)
def test_every_door_says_the_same(more):
    options = NODE | more
    one = predict(**options)
    assert predict(one.scenario).iteration_time == one.iteration_time
    table = sweep(**options, tensor_parallel=[1, 2]).table()
    assert table["iteration_time"][0] == pytest.approx(one.iteration_time, rel=1e-9)
    assert table["memory_bytes"][0] == pytest.approx(one.memory.bytes, rel=1e-9)
    assert table["mfu"][0] == pytest.approx(one.mfu, rel=1e-9)
    explained = explain(Scenario(**options))
    assert explained.complete
    assert explained.iteration_time == one.iteration_time
    asked = {"workload": "llama-3-8b", **more, "gpus": 8, "node": "dgx-h100", "global_batch_size": 8}
    asked.pop("sharding", None)
    found = perfmodel.layouts(**asked)
    row = found.rows[0]
    layout = {
        key: value for key, value in row.layout.items() if key not in ("data_parallel", "accumulation_steps")
    }
    if layout["pipeline_parallel"] == 1:
        del layout["schedule"]
    again = predict(**{**asked, **layout})
    assert row.iteration_time == pytest.approx(again.iteration_time, rel=1e-9)
    assert row.memory["bytes"] == pytest.approx(again.memory.bytes, rel=1e-9)


def test_the_shell_takes_all_of_them_on_one_card():
    flags = [
        "predict", "--workload", "llama-3.1-8b", "--gpus", "1", "--accelerator", "rtx-4090", "--lora", "16",
        "--lora-targets", "q,k,v,o,gate,up,down", "--frozen-weights", "qlora", "--document-length", "300",
        "--sequence-length", "2048", "--framework", "torchtune", "--json",
    ]  # fmt: skip
    done = CliRunner().invoke(main, flags)
    answer = json.loads(done.stdout)
    assert answer["scenario"]["frozen_weights"] == "nf4-double"
    assert answer["memory"]["fits"]
    assert answer["layout"]["recompute"] == "full"


def test_plans_and_fleets_train_adapters():
    job = {
        "tokens": 1e9,
        "global_batch_size": 16,
        "sequence_length": 2048,
        "lora": 16,
        "frozen_weights": "nf4",
    }
    plans = perfmodel.plan("llama-3-8b", accelerators=["l40s"], max_gpus=8, **job)
    whole = perfmodel.plan(
        "llama-3-8b", accelerators=["l40s"], max_gpus=8, **job | {"lora": None, "frozen_weights": None}
    )
    assert plans.chosen.cost < whole.chosen.cost
    assert "--lora 16 --frozen-weights nf4" in plans.launch.predict
    assert "--tensor-model-parallel-size" not in plans.launch.torchrun


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lora": 16, "lora_targets": "q,router"}, "lora-targets router: known: q, k, v, o, gate, up, down"),
        ({"workload": "gpt2", "lora": 8, "lora_targets": "gate"}, "lora-targets gate: .* have no gate"),
        ({"frozen_weights": "nf4"}, "frozen-weights nf4: weights that are trained are not quantized"),
        ({"lora": 8, "frozen_weights": "int3"}, "frozen_weights"),
        ({"workload": "resnet50", "document_length": 100}, "document_length: resnet50 is no transformer"),
        ({"workload": "resnet50", "lora_targets": "q"}, "lora_targets: resnet50 is no transformer"),
        ({"workload": "t5-large", "document_length": 100}, "has an encoder and a decoder"),
        ({"document_length": 0}, "document_length"),
        ({"document_length": 100, "document_spread": -1}, "document_spread"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(InputError, match=message.replace("-", "[-_]")):
        predict(**NODE | options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lora_targets": "q"}, "lora.targets without effect: all weights are trained"),
        ({"frozen_weights": "16-bit"}, "frozen.weights without effect"),
        ({"document_spread": 0.5}, "document.spread without effect"),
        ({"document_length": 9000}, "document.length 9000 without effect: a sequence has 8192 tokens"),
        (
            {
                "document_length": 90,
                "node": None,
                "accelerator": "v100-sxm2-32gb",
                "framework": "megatron-lm@2021",
            },
            "document.length saves nothing",
        ),
    ],
)
def test_what_changes_nothing_is_warned_of(options, words):
    import re

    known = predict(**{key: value for key, value in (NODE | options).items() if value is not None})
    assert any(re.search(words, warning) for warning in known.warnings)


def test_gpt_has_adapters_without_a_gate():
    known = predict(workload="gpt2", gpus=1, accelerator="a100-sxm4-80gb", lora=8, framework="torchtune")
    assert known.scenario["lora_targets"] == "q,v,o,up,down"


@pytest.mark.published(
    "torchtune README, memory and speed: 16.2 and 7.4 GiB; ladder of Llama 3.2 3B: 8.5 and 4.6"
)
def test_published_peaks_of_adapters_on_frozen_weights():
    """Peaks of LoRA and QLoRA on one accelerator, by tensors."""
    of = {peak.run.run_id: peak.error for peak in shipped_peaks() if peak.run.source == "torchtune-readme"}
    alone = "torchtune-03", "torchtune-05", "torchtune-l05", "torchtune-l09", "torchtune-l10"
    assert all(abs(of[name]) < 0.08 for name in alone)
    assert math.isclose(of["torchtune-l10"], 0, abs_tol=0.05)
