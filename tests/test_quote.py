"""Quotes: what is impossible is caught, what was measured is not, and the file's mistakes are named."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from pathlib import Path

import pytest

from perfmodel.core.errors import InputError
from perfmodel.decide.quote import Claim, Quote, check_quote, example_names, read_quote
from perfmodel.decide.quote.file import GOES_WITH, KINDS, scenario_of_claim
from perfmodel.decide.quote.limits import SUPERLINEAR, bus_bandwidth_limit
from perfmodel.equations.bandwidths import bus_bandwidth
from perfmodel.evidence.accuracy import shipped_runs
from perfmodel.evidence.accuracy.anchors import Anchors
from perfmodel.evidence.accuracy.collectives.collective_rows import shipped_measurements
from perfmodel.evidence.accuracy.scenarios import Refused, measured_time, scenario_of_run
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.prediction.intervals.bound import least_computation_time, least_iteration_time
from perfmodel.model.setting.resolve import resolve

CATALOGUE = Catalogue.built_in()
A100 = {"accelerator": "a100-sxm4-80gb", "world_size": 8}


def checked(scenario, **claim):
    quote = Quote(title="a quote", scenario=scenario, claims=(Claim(**claim),))
    return check_quote(quote)[0]


# --- both directions over measured runs


def askable(runs):
    for run in runs:
        time = measured_time(run)
        try:
            scenario = scenario_of_run(run, CATALOGUE)
            resolve(scenario, CATALOGUE)
        except (Refused, InputError):
            continue
        if time is not None and scenario.answered_by is None:
            yield run, time, scenario


@pytest.fixture(scope="module")
def sampled():
    return random.Random(20261121).sample(list(askable(shipped_runs())), 200)


def rate_claimed(run, time, scenario, rate):
    options = scenario.model_dump(exclude_unset=True)
    return checked(options, quantity="samples_per_second", value=rate)


@pytest.mark.any_version
@pytest.mark.parametrize("part", range(4))
def test_no_measured_run_is_called_impossible(part, sampled):
    for run, time, scenario in sampled[part::4]:
        samples = scenario.local_batch_size * scenario.world_size * scenario.accumulation_steps
        found = rate_claimed(run, time, scenario, samples / time)
        assert found.verdict != "impossible", (run.run_id, found.arithmetic)


@pytest.mark.any_version
@pytest.mark.parametrize("part", range(4))
def test_a_run_three_times_faster_than_its_bound_is_impossible(part, sampled):
    for run, _, scenario in sampled[part::4]:
        setting = resolve(scenario, CATALOGUE)
        time = least_computation_time(setting) / 3
        found = rate_claimed(run, time, scenario, setting.global_batch_size / time)
        assert found.verdict == "impossible", run.run_id
        assert found.value > 2.99 * found.limit


def test_measured_efficiencies_of_undisputed_baselines_are_below_the_limit():
    runs, anchors = shipped_runs(), Anchors(shipped_runs())
    found = []
    for run in runs:
        time = measured_time(run)
        anchor = anchors.of(run) if run.world_size > 1 and run.trust in ("A", "B") else None
        if time and anchor and anchor.unique:
            found.append(anchor.iteration_time / time)
    assert len(found) > 800
    assert 1 < max(found) < SUPERLINEAR


def test_no_measured_collective_beats_its_limit():
    """Over every one of them; switches that add are allowed their gain."""
    seen, nearest = 0, 0.0
    for measured in shipped_measurements():
        at = measured.point
        if at is None:
            continue
        rate = bus_bandwidth(at.collective, at.message_bytes / measured.time, at.group_size)
        scenario = Scenario(
            accelerator=measured.accelerator if measured.accelerator in IDS else None,
            world_size=at.group_size,
            node="pcie-workstation-8gpu" if at.group_size // at.nodes <= 8 else None,
            accelerators_per_node=at.group_size // at.nodes,
            intra_link=at.link.id,
            inter_link=at.inter_link.id if at.inter_link else None,
            nics=at.nics if at.inter_link else None,
        )
        try:
            setting = resolve(scenario, CATALOGUE)
        except InputError:
            continue
        limit = bus_bandwidth_limit(at.collective, setting).value
        assert rate <= limit, (measured.run_id, rate / limit)
        seen, nearest = seen + 1, max(nearest, rate / limit)
    assert seen > 1000
    assert nearest > 0.8  # a limit far from every measurement would prove nothing


IDS = set(CATALOGUE.ids("accelerators"))


@pytest.mark.published(
    "TensorFlow benchmarks, 2017: ResNet-50 on 8 P100 of a DGX-1, and NVIDIA's example tables"
)
def test_a_true_claim_passes():
    run = next(
        run
        for run in shipped_runs()
        if run.source == "nvidia-dle" and run.workload.startswith("resnet50") and run.world_size == 8
    )
    scenario = scenario_of_run(run, CATALOGUE)
    found = rate_claimed(run, measured_time(run), scenario, run.samples_per_second)
    assert found.verdict in ("plausible", "pessimistic", "optimistic")
    assert found.measured[0].id.startswith("nvidia-dle")
    assert found.value < found.limit


# --- limits worked by hand


def test_more_images_than_the_roofline_allows():
    """A100: 312e12 / 16.3e9 least FLOP of an image is 19,100 images/s on one."""
    found = checked(A100, quantity="images_per_second", value=160_000)
    assert found.verdict == "impossible"
    assert found.limit == pytest.approx(8 * 312e12 / 16.3e9, rel=0.01)
    assert any("312 TFLOP/s" in line for line in found.arithmetic)
    assert checked(A100, quantity="images_per_second", value=150_000).verdict == "optimistic"


@pytest.mark.parametrize("quantity", ["iteration_time", "epoch_time", "time_to_train", "mfu", "flops"])
def test_every_quantity_of_the_iteration_has_its_limit_at_the_same_time(quantity):
    """All of them say how long an iteration takes: 3.35 ms at the least."""
    more = {"time_to_train": {"epochs": 90}, "flops": {"per": "job"}}.get(quantity, {})
    options = A100 | {"workload": "resnet50"}
    rates = checked(options, quantity="images_per_second", value=1.0)
    found = checked(
        options, quantity=quantity, value=1e-9 if not KINDS[quantity].higher_is_better else 1e24, **more
    )
    assert found.verdict == "impossible"
    flops = 22.9e9
    by_rate = {
        "iteration_time": 512 / rates.limit,
        "epoch_time": 1281167 / rates.limit,
        "time_to_train": 90 * 1281167 / rates.limit,
        "mfu": rates.limit * flops / (8 * 312e12),
        "flops": rates.limit * flops,
    }[quantity]
    assert found.limit == pytest.approx(by_rate, rel=0.01)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"accelerator": "v100-sxm2-16gb"}, "fastest known ones need 71 % of the network's arithmetic"),
        ({"accelerator": "k80", "precision": "fp32"}, "fp32 units may reach 4.38 TFLOP/s"),
        ({"workload": "bert-large", "input": "real"}, "counts padding, up to 50 % of the tokens"),
    ],
)
def test_a_utilisation_limit_above_100_percent_says_why(options, told):
    found = checked(options, quantity="mfu", value="110%")
    assert found.limit > 1.1
    line = next(line for line in found.arithmetic if line.startswith("so at most"))
    assert "it may pass 100 %, as MFU " in line
    assert told in line


def test_a_utilisation_below_100_percent_needs_no_reason():
    lines = checked({"workload": "bert-large"}, quantity="mfu", value="50%").arithmetic
    assert not any("may pass" in line or "padding" in line for line in lines)
    real = checked({"workload": "gpt2", "input": "real"}, quantity="mfu", value="50%").arithmetic
    assert not any("padding" in line or "reading weights" in line for line in real)  # whole sequences


def test_gradients_must_pass_the_network_too():
    """VGG-16: 138.36 M gradients of 2 B, 2 x 3/4 of them through 1.25 GB/s of each of 4 nodes: 0.332 s."""
    slow = {
        "workload": "vgg16",
        "accelerator": "a100-sxm4-80gb",
        "world_size": 32,
        "local_batch_size": 4,
        "inter_link": "ethernet-10g-tcp",
        "nics": 1,
    }
    found = checked(slow, quantity="iteration_time", value="300ms")
    assert found.limit == pytest.approx(1.5 * 2 * 138.357544e6 / 1.25e9)
    assert found.verdict == "impossible"
    assert any("gradients" in line and "1.25 GB/s" in line for line in found.arithmetic)
    hub = checked(slow | {"strategy": "parameter-server"}, quantity="iteration_time", value="300ms")
    assert hub.limit == pytest.approx(4 * 2 * 138.357544e6 / 1.25e9)  # one server takes in four nodes' sums
    inside = checked(slow | {"world_size": 8}, quantity="iteration_time", value="1s")
    assert inside.limit < 0.01


def test_no_measured_run_at_all_beats_its_limit():
    """The same over every run, of every trust, by the limit alone."""
    ratios = [
        least_iteration_time(resolve(scenario, CATALOGUE)) / time
        for _, time, scenario in askable(shipped_runs())
    ]
    assert len(ratios) > 2200
    assert 0.5 < max(ratios) < 1


def test_arithmetic_without_a_workload_is_held_against_the_dense_peak():
    claim = {"quantity": "flops", "per": "accelerator", "value": "624TFLOP/s"}
    twice = checked(A100 | {"precision": "bf16"}, **claim, text="624 dense TFLOPS")
    assert (twice.verdict, twice.limit) == ("impossible", 312e12)
    assert any("sparsity" in line for line in twice.arithmetic)
    assert checked(A100 | {"precision": "bf16"}, **claim).verdict == "conditional"  # no words say dense
    assert checked(A100, quantity="flops", per="job", value="2.4PFLOP/s").verdict == "possible"


def test_a_peak_may_be_asked_for_by_its_number_format():
    h100 = {"accelerator": "h100-sxm5-80gb", "world_size": 8, "workload": "resnet50"}
    found = checked(h100, quantity="flops", per="job", value="32PFLOP/s", format="fp8")
    assert (found.verdict, found.limit) == ("impossible", pytest.approx(8 * 1979e12, rel=1e-3))
    assert any("sparsity" in line for line in found.arithmetic)
    with pytest.raises(InputError, match="unknown peak of h100-sxm5-80gb 'fp9'; nearest: fp8"):
        checked(h100, quantity="flops", per="job", value=1e15, format="fp9")


def test_both_directions_of_a_link_are_not_one():
    found = checked(A100, quantity="bus_bandwidth", value="600GB/s")
    assert (found.verdict, found.limit) == ("impossible", 300e9)
    assert any("both directions" in line for line in found.arithmetic)
    assert checked(A100, quantity="bus_bandwidth", value="229GB/s").verdict == "plausible"
    assert checked(A100, quantity="bus_bandwidth", value="290GB/s").verdict == "optimistic"


@pytest.mark.parametrize(
    ("collective", "limit"),
    [
        # two nodes of eight behind 25 GB/s: each passes on the whole buffer, times 2 x 15/16
        ("all-reduce", 25e9 * 15 / 8),
        # each must receive the other's half: 1/2 S, times 15/16
        ("all-gather", 25e9 * 2 * 15 / 16),
        # 8 buffers, half of each across: 4 S, times 15/16
        ("all-to-all", 25e9 / 4 * 15 / 16),
        ("broadcast", 25e9),
    ],
)
def test_two_nodes_behind_one_adapter_by_hand(collective, limit):
    scenario = {
        "accelerator": "a100-sxm4-80gb",
        "world_size": 16,
        "inter_link": "ethernet-200g-rdma",
        "nics": 1,
    }
    found = checked(scenario, quantity="bus_bandwidth", value=1e9, collective=collective)
    assert found.limit == pytest.approx(limit)


def test_oversubscribed_racks_narrow_the_bisection():
    """Four racks of 2 nodes, a quarter of 2 x 25 GB/s upwards: 12.5 GB/s; 16 of 64 buffers, 3/4 of each."""
    scenario = {
        "accelerator": "a100-sxm4-80gb",
        "world_size": 64,
        "inter_link": "ethernet-200g-rdma",
        "nics": 1,
        "oversubscription": 4,
        "rack_nodes": 2,
    }
    found = checked(scenario, quantity="bus_bandwidth", value=1e6, collective="all-to-all")
    assert found.limit == pytest.approx(12.5e9 / (16 * 3 / 4) * 63 / 64)


def test_a_switch_that_adds_may_beat_the_link():
    h100 = {"accelerator": "h100-sxm5-80gb", "world_size": 8}
    found = checked(h100, quantity="bus_bandwidth", value="483GB/s", size="16GB")
    assert found.verdict in ("plausible", "optimistic")  # measured, though the link has 450 GB/s
    assert checked(h100, quantity="bus_bandwidth", value="900GB/s").verdict == "impossible"


def test_efficiency_above_one_is_explained():
    found = checked(A100, quantity="scaling_efficiency", value="115%")
    assert found.verdict == "impossible"
    assert any("baseline" in line for line in found.arithmetic)
    assert checked(A100, quantity="speedup", value=9).verdict == "impossible"
    assert checked(A100, quantity="speedup", value=4.5, from_gpus=2).verdict == "impossible"
    assert checked(A100, quantity="scaling_efficiency", value=0.2).verdict == "pessimistic"


def test_boards_counted_as_devices_are_pointed_out():
    """A K80 device boosts to 4.37e12 of its board's 8.74e12 FLOP/s."""
    assert (
        checked({"accelerator": "k80"}, quantity="flops", per="accelerator", value=4.3e12).verdict
        == "possible"
    )
    found = checked({"accelerator": "k80"}, quantity="flops", per="accelerator", value="8.7TFLOP/s")
    assert found.verdict == "impossible"
    assert any("boards" in line for line in found.arithmetic)


@pytest.mark.parametrize(
    "claim", [{"quantity": "images_per_second", "value": 3000}, {"quantity": "speedup", "value": 4.0}]
)
def test_a_job_that_does_not_fit_is_told_in_the_verdict(claim, tmp_path, invoke):
    large = {"accelerator": "v100-sxm2-16gb", "world_size": 8, "local_batch_size": 100_000}
    found = checked(large, **claim)
    need = predict(Scenario(**large)).memory.bytes / 2**30
    assert found.verdict == "oversized"
    assert found.memory == f"needs {need:.1f} GiB of each accelerator's 15.8 GiB"
    assert found.expected is found.low_80 is found.high_80 is None
    assert checked(large | {"local_batch_size": 64}, **claim).memory is None
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in claim.items())
    options = "".join(f"{key} = {json.dumps(value)}\n" for key, value in large.items())
    path = write(tmp_path, f'title = "x"\n[scenario]\n{options}[[claims]]\n{lines}')
    shown = invoke("check-quote", path)
    assert shown.exit_code == 0
    head = " ".join(shown.stdout.split("the job")[1].split())
    assert f"1. OVERSIZED: {'3,000' if claim['value'] == 3000 else 'speed-up'}" in shown.stdout
    assert head.startswith(f"does not fit, it {found.memory}")
    assert "model" not in shown.stdout
    table = json.loads(invoke("check-quote", path, "--json").stdout)["claims"][0]
    assert (table["verdict"], table["memory"]) == ("oversized", found.memory)


def test_what_cannot_be_computed_is_impossible_whether_it_fits_or_not():
    large = {"accelerator": "v100-sxm2-16gb", "world_size": 8, "local_batch_size": 100_000}
    assert checked(large, quantity="images_per_second", value=1e6).verdict == "impossible"


def test_speedup_and_efficiency_say_the_same():
    for baseline in (1, 2, 4):
        speedup = checked(A100, quantity="speedup", value=2.0, from_gpus=baseline)
        efficiency = checked(A100, quantity="scaling_efficiency", value=0.5, from_gpus=baseline)
        assert speedup.expected == pytest.approx(efficiency.expected * 8 / baseline)
        assert speedup.low_80 == pytest.approx(efficiency.low_80 * 8 / baseline)


def test_the_models_own_answer_is_plausible_and_its_interval_decides():
    options = A100 | {"workload": "bert-large", "local_batch_size": 16}
    answer = predict(Scenario(**options))
    rate = answer.samples_per_second
    samples = rate * answer.iteration_time
    slow = samples / answer.interval.high_80
    fast = rate**2 / slow  # a claim may beat what specs say of one accelerator, where this interval is cut
    for value, verdict in (
        (rate, "plausible"),
        (0.999 * fast, "plausible"),
        (1.001 * fast, "optimistic"),
        (1.001 * slow, "plausible"),
        (0.999 * slow, "pessimistic"),
    ):
        assert checked(options, quantity="sequences_per_second", value=value).verdict == verdict
        tokens = checked(options, quantity="tokens_per_second", value=128 * value)
        assert tokens.verdict == verdict
        time = checked(options, quantity="iteration_time", value=samples / value)
        assert time.verdict == verdict


# --- the file


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "quote.toml"
    path.write_text(text)
    return path


GOOD = 'title = "x"\n[scenario]\ngpus = 8\n[[claims]]\nquantity = "images_per_second"\nvalue = 1000\n'


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("gpus = 8", "gpu = 8", "claim 1: scenario: unknown option 'gpu'; nearest: gpus"),
        ("gpus = 8", "gpus = 0", "scenario: gpus = 0: expected"),
        ("gpus = 8", "world-size = 0", "scenario: world-size = 0: expected"),
        ("gpus = 8", 'gpus = 8\nworkload = "resnet5"', "claim 1: unknown workload 'resnet5'; nearest"),
        ("gpus = 8", "gpus = 8\nworld_size = 8", "give one"),
        ("value = 1000", "value = 0", "claim 1: value = 0.0: expected a number above 0"),
        ("value = 1000", "value = 1e30", "claim 1: value = 1e.30: expected a number above 0 and up to 1e"),
        ("value = 1000", 'value = "1000GB"', "claim 1: value = '1000GB' is not a rate"),
        ("value = 1000", 'value = "fast"', "claim 1: value = 'fast' is not a rate"),
        ("value = 1000", 'value = "12,00"', "claim 1: value = '12,00' is not a rate"),
        ("value = 1000", "value = -3", "claim 1: value = '-3.0' is negative"),
        ("value = 1000", "value = nan", "claim 1: value = 'nan' is not a rate"),
        ("images_per_second", 'bus_bandwidth"\nsize = "big', "claim 1: size = 'big' is not an amount"),
        ("images_per_second", 'bus_bandwidth"\nsize = "-1GB', "claim 1: size = '-1GB' is negative"),
        ("value = 1000", "", "claim 1: value: the key is missing"),
        ("value = 1000", "value = 1\nvalu = 2", "claim 1: unknown key 'valu'; nearest: value"),
        ("value = 1000", "value = 1\nepochs = 90", "claim 1: epochs goes with time_to_train"),
        ("value = 1000", 'value = 1\nsource = "x"', "claim 1: source = 'x': the file's sources are none"),
        ("images_per_second", "image_per_second", "claim 1: unknown quantity.*nearest.*images_per"),
        ("images_per_second", "tokens_per_second", "claim 1: resnet50 has no tokens"),
        ("images_per_second", "sequences_per_second", "claim 1: quantity = .* is no sequence"),
        (
            'gpus = 8\n[[claims]]\nquantity = "images_per_second',
            'workload = "vgg16"\n[[claims]]\nquantity = "time_to_train',
            "claim 1: time_to_train needs epochs.* samples.* tokens.* resnet50",
        ),
        ("images_per_second", "flops", "claim 1: flops needs per"),
        ('title = "x"', "", "title: the key is missing"),
        ('title = "x"', 'title = "x"\ntitel = "x"', "unknown key 'titel'; nearest: title"),
        ("[[claims]]", "[[claim]]", "claims: the key is missing|unknown key 'claim'"),
        ("[scenario]", "[scenario", "not TOML"),
        ("[[claims]]", "[claims]", "claims = .*: expected a list of tables"),
    ],
)
def test_a_mistake_is_named_with_file_and_key(old, new, told, tmp_path, invoke):
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new))
    result = invoke("check-quote", path)
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith(f"perfmodel: {path}: ")
    assert re.search(told, result.stderr)
    assert len(result.stderr.splitlines()) == 1


def test_no_file_and_no_such_example(invoke):
    assert "examples" in invoke("check-quote").stderr
    assert "nearest: imagenet-one-hour" in invoke("check-quote", "imagenet-hour").stderr
    assert "cannot be read" in invoke("check-quote", "no/such.toml").stderr


def test_options_of_a_claim_are_laid_over_those_of_the_quote():
    claim = Claim(quantity="speedup", value=2.0, scenario={"gpus": 4, "global-batch-size": 64})
    quote = Quote(title="x", scenario={"gpus": 8, "local_batch_size": 32}, claims=(claim,))
    scenario = scenario_of_claim(quote, claim)
    assert (scenario.world_size, scenario.global_batch_size, scenario.local_batch_size) == (4, 64, None)


def test_every_key_that_goes_with_a_quantity_is_a_key():
    assert GOES_WITH.keys() <= Claim.model_fields.keys()
    assert {kind for kinds in GOES_WITH.values() for kind in kinds} <= KINDS.keys()


@pytest.mark.parametrize("where", ["", "[[claims]]\nquantity = 'mfu'\nvalue = 0.4\n[claims.scenario]\n"])
def test_tokens_in_the_scenario_are_sent_to_the_claim(tmp_path, invoke, where):
    text = f"title = 't'\n[scenario]\n{where}tokens = '1T'\n"
    text += "" if where else "[[claims]]\nquantity = 'days_to_train'\nvalue = 30\n"
    done = invoke("check-quote", write(tmp_path, text))
    assert done.exit_code == 2
    assert "scenario: tokens is a key of a claim: write it under [[claims]], next to quantity" in done.stderr


def test_the_example_of_the_help_runs(tmp_path, invoke):
    lines = invoke("check-quote", "--help").stdout.splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("    title = "))
    done = invoke("check-quote", write(tmp_path, "\n".join(lines[start : lines.index("", start)])))
    assert done.exit_code == 0, done.stderr


# --- the examples and the command


@pytest.mark.parametrize("name", example_names())
def test_every_example_names_its_sources(name):
    quote, _ = read_quote(name)
    assert all(claim.source for claim in quote.claims)
    assert all(source.url and source.title for source in quote.sources.values())


def test_three_public_quotes_ship_and_one_is_refuted():
    verdicts = {name: {c.verdict for c in check_quote(read_quote(name)[0])} for name in example_names()}
    assert len(verdicts) >= 3
    assert "impossible" in verdicts["dgx-a100-petaflops"]
    assert "plausible" in verdicts["imagenet-one-hour"] & verdicts["horovod-512-gpus"]
    assert "impossible" not in verdicts["imagenet-one-hour"] | verdicts["horovod-512-gpus"]


@pytest.mark.parametrize("name", example_names())
def test_the_exit_code_says_whether_a_claim_is_impossible(name, invoke):
    told = json.loads(invoke("check-quote", name, "--json").stdout)
    text = invoke("check-quote", name)
    assert text.exit_code == (1 if told["impossible"] else 0)
    assert told["impossible"] == sum(claim["verdict"] == "impossible" for claim in told["claims"])
    taken = {option for claim in told["claims"] for option in claim["defaults"]}
    assert all(option in " ".join(text.stdout.split()) for option in taken)
    assert max(len(line) for line in text.stdout.splitlines() if "https://" not in line) <= 80
    rows = list(csv.DictReader(io.StringIO(invoke("check-quote", name, "--csv").stdout)))
    assert [row["verdict"] for row in rows] == [claim["verdict"] for claim in told["claims"]]
    assert invoke("check-quote", name, "--markdown").stdout.count("| ") > len(rows)


def test_examples_are_listed_by_name(invoke):
    assert [
        row["name"] for row in json.loads(invoke("check-quote", "--examples", "--json").stdout)
    ] == example_names()
    assert "give one of them" in invoke("check-quote", "--examples", "--json", "--csv").stderr


@pytest.mark.parametrize("name", example_names())
def test_a_check_speaks_of_what_is_stated(name, invoke):
    assert " told" not in invoke("check-quote", name).stdout
