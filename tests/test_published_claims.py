"""What others published of scaling and networks, beside what the model says."""

import json
from statistics import fmean

import pytest

from perfmodel.decide.quote import read_quote
from perfmodel.decide.quote.file import KINDS, scenario_of_claim
from perfmodel.decide.quote.published import (
    POWERAI,
    QUANTITIES,
    QUOTES,
    overlap_gap,
    published_claims,
    section,
)
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.setting.resolve import resolve


@pytest.fixture(scope="module")
def rows():
    return published_claims()


@pytest.mark.parametrize("name", QUOTES)
def test_every_scenario_resolves_on_its_machines(name):
    quote, where = read_quote(name)
    for claim in quote.claims:
        setting = resolve(scenario_of_claim(quote, claim, where), Catalogue.built_in())
        assert setting.world_size == setting.nodes * setting.accelerators_per_node


@pytest.mark.published(
    "Goyal et al. 2017, sections 4.3 and 5.5; Cho et al. 2017; Sergeev and Del Balso 2018; NVIDIA/nccl 812,"
    " nccl-tests 149 and 212"
)
def test_claims_are_as_published(rows):
    figures = {}
    for row in rows:
        figures.setdefault((row.quote, row.quantity), []).append(row.published)
    efficiency = "scaling_efficiency"
    assert figures["imagenet-one-hour", "time_to_train"] == [3600]
    assert figures["imagenet-one-hour", "epoch_time"] == [30]
    assert figures["imagenet-one-hour", efficiency] == pytest.approx([0.9, 0.9])
    assert figures[POWERAI, efficiency] == pytest.approx([0.95, 0.84])
    assert figures["horovod-512-gpus", efficiency] == pytest.approx([0.9, 0.9, 0.68])
    assert figures["imagenet-records", efficiency] == pytest.approx([0.8, 0.879, 0.9162, 0.9])
    assert figures["imagenet-records", "time_to_train"] == pytest.approx([900, 396, 240])
    assert figures["nccl-8gb-all-reduce", "bus_bandwidth"] == [230e9, 192e9, 480e9, None, None]


def test_the_machines_are_those_of_the_claims():
    quote, _ = read_quote("imagenet-one-hour")
    (epoch,) = (claim for claim in quote.claims if claim.quantity == "epoch_time")
    setting = resolve(scenario_of_claim(quote, epoch), Catalogue.built_in())
    assert (setting.world_size, setting.nodes, setting.nics) == (352, 44, 1)
    assert setting.accelerator.id == "p100-sxm2-16gb"
    assert setting.inter_link.bandwidth.value == 50e9 / 8


def test_errors_are_of_the_time_and_intervals_hold_their_prediction(rows):
    assert {row.quantity for row in rows} == {*QUANTITIES, "samples_per_second"}
    for row in rows:
        assert row.low_80 < row.predicted < row.high_80
        if row.published is None:
            assert row.error is row.covered is None
            continue
        too_slow = row.predicted < row.published
        if not KINDS[row.quantity].higher_is_better:
            too_slow = not too_slow
        assert (row.error > 0) == too_slow
        assert row.covered == (row.low_80 <= row.published <= row.high_80)
        assert row.source
    assert sum(row.published is None for row in rows) == 2  # DGX-1V and DGX-2


def test_overlap_comes_out_ahead_and_the_gap_stands_in_the_report(rows):
    hidden, exposed = overlap_gap()
    assert hidden.scaling_efficiency > exposed.scaling_efficiency
    first, second = (row for row in rows if row.quote == POWERAI)
    assert first.predicted == pytest.approx(hidden.scaling_efficiency)
    assert second.predicted == pytest.approx(exposed.scaling_efficiency)
    gap = 100 * (hidden.scaling_efficiency - exposed.scaling_efficiency)
    text = " ".join(section(rows).split())
    assert "the order comes out, and" in text
    assert f"the gap is {gap:.1f} points where 11 were published" in text


def test_horovod_scales_vgg_worst(rows):
    *others, vgg = (row.predicted for row in rows if row.quote == "horovod-512-gpus")
    assert vgg < min(others)


def test_every_claim_has_its_line_in_the_section(rows):
    text = section(rows)
    assert text.count("\n| ") == len(rows) + 2
    for row in rows:
        assert f"| {' | '.join(row.cells())} |" in text


def test_the_command_prints_the_same_table(rows, invoke):
    answer = json.loads(invoke("validate", "--kind", "claims", "--json").stdout)
    assert answer["rows"] == [row.to_dict() for row in rows]
    off = [abs(row.error) for row in rows if row.error is not None]
    assert answer["summary"]["mean_absolute_error"] == pytest.approx(fmean(off))
    assert answer["summary"]["n"] == len(off) == len(rows) - 2
    held = [row.covered for row in rows if row.covered is not None]
    assert answer["summary"]["coverage_80"] == fmean(held)
    shown = invoke("validate", "--kind", "claims").stdout
    for row in rows:
        assert row.cells()[2].split()[0] in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (("--by", "source"), "kind claims is not grouped"),
        (("--mode", "anchored"), "mode anchored is of training and mlperf"),
        (("--data", "runs.csv"), "takes no data"),
        (("--report", "r.md"), "leave --kind claims out"),
    ],
)
def test_options_that_claims_lack_are_refused(options, wanted, invoke):
    refused = invoke("validate", "--kind", "claims", *options)
    assert refused.exit_code == 2
    assert wanted in refused.stderr
