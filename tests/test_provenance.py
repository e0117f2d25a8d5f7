"""What was learned names its sources, and has a neutral value where a leave-out test leaves them all out."""

from __future__ import annotations

import csv
import json
import tomllib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from perfmodel.core.files.resources import folder
from perfmodel.decide.explanations.derivation import derivation
from perfmodel.decide.explanations.sources import sources_of
from perfmodel.decide.sensitivity.elasticity import case_of
from perfmodel.evidence.accuracy.collectives import leave_out_collectives
from perfmodel.evidence.accuracy.collectives.collective_fit import learned_from as learned_collectives
from perfmodel.evidence.accuracy.collectives.collective_rows import shipped_measurements
from perfmodel.evidence.accuracy.leave_out import CATEGORIES, folds
from perfmodel.evidence.accuracy.measured_runs import shipped_whole_transformers
from perfmodel.evidence.accuracy.report import provenance_section as provenance
from perfmodel.evidence.accuracy.report.provenance_section import assumed_of_software, information_shares
from perfmodel.evidence.accuracy.transformers import leave_out_transformers
from perfmodel.evidence.accuracy.transformers.transformer_fit import learned_from
from perfmodel.evidence.accuracy.transformers.transformer_rows import shipped_transformer_runs
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.collectives.parameters import PARAMETERS as COLLECTIVE_PARAMETERS
from perfmodel.model.collectives.parameters import means
from perfmodel.model.fitted.calibration import FITTED, before_fit, calibration, facts
from perfmodel.model.fitted.learned import NEUTRAL, neutral_means, origins
from perfmodel.model.fitted.ledger_scales import COLLECTIVES, DATA_PARALLEL, TRANSFORMERS
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.transformers.parameters import PARAMETERS, named, neutral_scores

NOT_ROWS = {
    "device-properties": "memory that drivers report, in profiles",
    "ml-engineering-copy": "copies inside a device",
    "nccl-tuning": "constants of NCCL's code",
    "zhang2020-network": "a paper none of whose runs is here",
    "iteration-jitter": "three sources' rows, which the constant names",
    "torchvision-8496": "decoding alone",
    "dali-5362": "read off a chart",
    "torch-products": "single products",
    "nvidia-forum": "single products",
    "nanogpt": "tokens of a data set",
    "pytorch-22583": "the start of one process",
    "nccl-534": "communicators alone",
}
"""Sources of measured facts that are no source of rows in ``validation/measured``, and what they are."""
PRIORS = {TRANSFORMERS: PARAMETERS, COLLECTIVES: COLLECTIVE_PARAMETERS}


def keys() -> set[str]:
    with (folder("validation") / "sources.csv").open(newline="", encoding="utf-8") as file:
        return {row["key"] for row in csv.DictReader(file)}


def without_neutral(kind: str, evidence: Any) -> list[tuple[str, str, str]]:
    """Priors that rest on nothing a fit of some leave-out test has seen, and have no neutral mean."""
    result = []
    for test in (*CATEGORIES, "year:2024", "year:2020", "size"):
        for category, fold in folds(evidence, test).items():
            seen = set(evidence.of("source")[fold.seen].tolist())
            result += [
                (name, test, category)
                for name, origin in origins(kind).items()
                if origin.sources and seen.isdisjoint(origin.sources) and origin.neutral is None
            ]
    return result


def test_every_learned_number_names_its_sources():
    trained = json.loads(FITTED.read_text("utf-8"))
    learned = {kind: set(priors) for kind, priors in PRIORS.items()}
    learned[DATA_PARALLEL] = trained["efficiency"].keys() | trained["scaling"].keys()
    for kind, names in learned.items():
        assert names <= origins(kind).keys()
        assert all(origin.sources.keys() <= keys() for origin in origins(kind).values())
    untold = [(kind, name) for kind in PRIORS for name, origin in origins(kind).items() if not origin.sources]
    # of one accelerator a node, and of channels, no row tells that a fit learns from: priors alone
    assert untold == [(COLLECTIVES, "lone"), (COLLECTIVES, "channel")]


@pytest.mark.any_version
@pytest.mark.parametrize(
    ("kind", "computed"),
    [(TRANSFORMERS, provenance.transformer_shares), (COLLECTIVES, provenance.collective_shares)],
)
def test_sources_are_those_whose_rows_tell(kind, computed):
    """``python -m perfmodel.evidence.fitting.provenance`` was run after the last fit."""
    written = json.loads((NEUTRAL.parent / "learned.json").read_text("utf-8"))[kind]
    for name, shares in computed().items():
        assert written[name] == pytest.approx(shares, abs=0.011), name


def test_priors_have_a_neutral_mean_wherever_their_sources_are_left_out():
    runs = SimpleNamespace(
        runs=learned_from(shipped_transformer_runs()), whole=shipped_whole_transformers(), judge=None
    )
    assert without_neutral(TRANSFORMERS, leave_out_transformers.evidence_of(runs)) == []
    measured = SimpleNamespace(measured=learned_collectives(shipped_measurements()), judge=None)
    assert without_neutral(COLLECTIVES, leave_out_collectives.evidence_of(measured)) == []


def test_neutral_means_are_of_priors_and_argued():
    for kind, of in tomllib.loads(NEUTRAL.read_text("utf-8")).items():
        assert of.keys() <= PRIORS[kind].keys()
        assert all(each["mean"] > 0 and each["because"] for each in of.values())
        assert all(
            set(each.get("chosen_with", ())) <= origins(kind)[name].sources.keys()
            for name, each in of.items()
        )


def test_measured_constants_name_their_sources():
    table = tomllib.loads((NEUTRAL.parent / "calibration.toml").read_text("utf-8"))["sources"]
    for name, entry in facts().items():
        if entry["basis"] != "measured":
            continue
        assert entry["source"] in table, name
        rows = set(entry.get("sources", ()))
        assert rows <= keys(), name
        assert rows or entry["source"] in NOT_ROWS.keys() - keys(), name
        assert len(rows) != 1 or (entry["neutral"] >= 0 and entry["because"]), name


def test_measured_facts_of_hardware_name_their_sources():
    catalogue, found = Catalogue.built_in(), 0
    for spec in (
        *map(catalogue.accelerator, catalogue.ids("accelerators")),
        *map(catalogue.link, catalogue.ids("links")),
        *map(catalogue.node, catalogue.ids("nodes")),
    ):
        for name, number in spec.statements():
            if number.basis == "measured":
                assert number.source in keys() | NOT_ROWS.keys(), (spec.id, name)
                found += 1
    assert found > 20
    for file in ("decoders.toml", "datasets.toml", "storage.toml"):
        for number in entries(tomllib.loads((folder("hardware_specs") / file).read_text("utf-8"))):
            assert number["source"] in keys() | NOT_ROWS.keys(), (file, number)


def test_assumed_facts_of_software_name_the_runs_they_were_seen_with():
    assumed = assumed_of_software()
    assert {source for sources in assumed.values() for source in sources} <= keys()
    assert {fact.split()[0] for fact in assumed} - {"megatron"} <= set(Catalogue.built_in().ids("software"))


def entries(table: dict[str, Any]) -> list[dict[str, Any]]:
    """Measured numbers of a table, at any depth."""
    if table.get("basis") == "measured":
        return [table]
    return [each for of in table.values() if isinstance(of, dict) for each in entries(of)]


def test_sources_are_the_fewest_that_hold_most_of_what_is_told():
    slopes = np.array([[3.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    shares = information_shares(["one", "none"], slopes, np.array([1.0, 2.0, 1.0]), np.array(["x", "y", "z"]))
    assert shares == {"one": {"x": 0.82, "y": 0.18}, "none": {}}


def test_priors_are_neutral_without_the_sources_they_rest_on():
    mean, neutral = PARAMETERS["launch_checkpointed"].mean, neutral_means(TRANSFORMERS)
    assert origins(TRANSFORMERS)["launch_checkpointed"].only_source == "vtrain-single"
    assert named(neutral_scores())["launch_checkpointed"] == pytest.approx(neutral["launch_checkpointed"])
    assert neutral["launch_checkpointed"] < mean / 4
    assert not neutral_scores(keys()).any()
    without = named(neutral_scores(keys() - {"vtrain-single"}))
    assert without["launch_checkpointed"] == pytest.approx(neutral["launch_checkpointed"])
    assert without["biased"] == pytest.approx(PARAMETERS["biased"].mean)
    # one that rests on two sources of one publisher
    assert "misaligned" not in neutral_means(TRANSFORMERS, {"nemo-launcher-bert"})
    assert neutral_means(TRANSFORMERS, {"torchtitan"})["misaligned"] == 1.0


def test_collectives_are_drawn_towards_neutral_means():
    neutral = neutral_means(COLLECTIVES, keys() - {"dstack-clusters"})
    assert [*neutral] == ["gpudirect_tcp"]
    apart = np.flatnonzero(means(neutral)[0] != means()[0])
    assert [[*COLLECTIVE_PARAMETERS][place] for place in apart] == ["gpudirect_tcp"]


def test_constants_are_neutral_without_their_sources():
    usual, without = before_fit(), before_fit(frozenset({"dlperf"}))
    assert without.decode_rate == facts()["decode_rate"]["neutral"] != usual.decode_rate
    assert before_fit(frozenset({"ryujaehun"})).jitter == usual.jitter  # another source tells of it
    assert before_fit(frozenset({"nccl-tests-aws-p4de"})).link_fraction["efa"] == 0.926


def test_the_sweep_is_missed_far_more_by_the_neutral_launch():
    name = "launch_checkpointed"
    neutral = neutral_means(TRANSFORMERS)[name]
    assert provenance._error_of_runs("vtrain-single") < 0.10
    assert provenance._error_of_runs("vtrain-single", name, neutral) > 0.25


def test_the_report_has_a_table_of_what_rests_on_one_source(monkeypatch):
    line = provenance.OneSource("transformers", "a", "x", 1.0, 40e-6, 42e-6, 8e-6, "the like", 0.08, 0.33)
    monkeypatch.setattr(provenance, "one_source", lambda: [line])
    shown = provenance.section()
    assert "| `a` | transformers | x | 100 % | 4e-05 | 4.2e-05 | 8e-06 | the like | 8.0 % | 33.0 % |" in shown
    assert "| `decode_rate` | 134 | dlperf | 275 | half of" in shown
    assert "| `jitter` | 0.00504 | ryujaehun, jcjohnson | - | - |" in shown


def test_cite_names_the_sources_of_learned_numbers():
    catalogue = Catalogue.built_in()

    def cited(**options: Any) -> dict[str, list[str]]:
        case = case_of(Scenario(**options), catalogue, calibration(), Conditions())
        return {each.key: each.used_for for each in sources_of(case, derivation(case), catalogue)}

    shared = cited(
        workload="gpt3-175b",
        accelerator="a100-sxm4-80gb",
        gpus=1024,
        tensor_parallel=8,
        pipeline_parallel=16,
        global_batch_size=1536,
    )
    assert "product" in shared["transformers/model.json"]
    assert [each.partition(" (")[0] for each in shared["llm-foundry-a100"]] == ["flash"]
    assert "a100-sxm4-80gb/ml-engineering-mamf" in shared
    assert "collectives/model.json" in shared
    assert "calibration.json" not in shared
    assert "transformers/model.json" not in cited(gpus=16)
