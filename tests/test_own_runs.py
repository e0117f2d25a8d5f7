"""A user's own runs: what they move, what they leave, and what ``--calibration`` makes of them everywhere."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import perfmodel
from perfmodel import InputError, calibrate, predict, sweep
from perfmodel.core.units import per_cent, show
from perfmodel.evidence.fitting.components import Scaled, learn_components, shipped_components
from perfmodel.evidence.fitting.own_runs import OwnRun, update
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.cli import main
from perfmodel.model.fitted.calibration import FITTED, calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.alone import efficiency_range
from perfmodel.model.prediction.card import throughput_range
from perfmodel.model.setting.resolve import resolve

MACHINE = {"workload": "resnet50", "accelerator": "v100-sxm2-16gb"}
SLOWER = 1.3
BATCHES = (16, 32, 64, 96)
PLACES = (
    (MACHINE, [{"local_batch_size": batch} for batch in BATCHES]),
    (MACHINE, [{"world_size": n, "local_batch_size": 64} for n in (1, 4, 8, 32)]),
    (
        MACHINE | {"workload": "vgg16", "inter_link": "ethernet-10g-tcp"},
        [{"world_size": n} for n in (16, 32, 64)],
    ),
    ({"workload": "bert-base", "accelerator": "h100-sxm5-80gb"}, [{"world_size": n} for n in (1, 2, 4, 8)]),
)


def written(path: Path, rows: list[dict[str, Any]], factor: float | list[float] = SLOWER) -> str:
    """Write runs that take ``factor`` times what is predicted of them, the same of all or each its own."""
    factors = factor if isinstance(factor, list) else [factor] * len(rows)
    names = [*dict.fromkeys(name for row in rows for name in row)]
    lines = [",".join([*names, "iteration_time"])]
    for row, slower in zip(rows, factors, strict=True):
        time = predict(**row).iteration_time * slower
        lines.append(",".join([*(str(row.get(name, "")) for name in names), repr(time)]))
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def calibrated(folder: Path) -> Path:
    """Write what a small table of runs teaches."""
    rows = [MACHINE | {"world_size": n, "local_batch_size": 64} for n in (1, 8)]
    calibrate(data=written(folder / "mine.csv", rows)).write(folder / "mine.json")
    return folder / "mine.json"


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A calibration file of four runs of one network on one machine."""
    folder = tmp_path_factory.mktemp("own")
    rows = [
        MACHINE | {"world_size": n, "local_batch_size": b} for n, b in ((1, 32), (1, 64), (8, 64), (32, 64))
    ]
    path = folder / "mine.json"
    calibrate(data=written(folder / "mine.csv", rows)).write(path)
    return str(path)


@pytest.mark.any_version
@pytest.mark.parametrize(("job", "rows"), PLACES)
@pytest.mark.parametrize("factor", [SLOWER, 1 / SLOWER])
def test_four_runs_bring_their_own_kind_within_three_per_cent(tmp_path, job, rows, factor):
    runs = [job | row for row in rows]
    learned = calibrate(data=written(tmp_path / "mine.csv", runs, factor))
    learned.write(tmp_path / "mine.json")
    for run in runs:
        before = predict(**run).iteration_time
        after = predict(**run, calibration=str(tmp_path / "mine.json")).iteration_time
        assert after / (before * factor) == pytest.approx(1, abs=0.035 if "inter_link" in job else 0.03)
    for answer in learned.answers:
        assert answer.before == pytest.approx(-math.log(factor))
        assert abs(answer.after) <= abs(answer.left_out) < abs(answer.before)


def test_efficiency_is_relative_to_one_accelerator_where_that_was_measured(tmp_path):
    """Runs that scale worse than predicted: efficiency is that of the file, also of a size between them."""
    rows = [MACHINE | {"world_size": n, "local_batch_size": 64} for n in (1, 16, 32)]
    calibrate(data=written(tmp_path / "mine.csv", rows, [1.0, 1.2, 1.4])).write(tmp_path / "mine.json")
    answers = [
        predict(**MACHINE, world_size=n, local_batch_size=64, calibration=str(tmp_path / "mine.json"))
        for n in (1, 16, 24, 32)
    ]
    for answer in answers:
        speed = answer.samples_per_second / answers[0].samples_per_second
        assert answer.speedup == pytest.approx(speed, rel=1e-9)


def test_neighbours_come_nearer_and_others_stay_within_their_intervals(mine):
    def moved(**options: Any) -> float:
        return predict(**options, calibration=mine).iteration_time / predict(**options).iteration_time

    same = moved(**MACHINE, local_batch_size=48)
    other_network = moved(workload="vgg16", accelerator="v100-sxm2-16gb")
    other_machine = moved(workload="resnet50", accelerator="k80")
    assert same == pytest.approx(SLOWER, rel=0.03)
    assert 1.05 < other_network < same
    assert 1.02 < other_machine < same
    for options in (
        {"workload": "vgg16", "accelerator": "k80"},
        {"workload": "bert-base", "accelerator": "t4"},
        {"workload": "vit-base-16", "accelerator": "a100-sxm4-80gb", "world_size": 64},
    ):
        answer = predict(**options)
        assert (
            answer.interval.low_80
            < predict(**options, calibration=mine).iteration_time
            < answer.interval.high_80
        )
    assert moved(workload="vgg16", accelerator="k80") == 1


def test_intervals_narrow_where_runs_speak_and_never_below_their_scatter(tmp_path, mine):
    def width(path: str | None, **options: Any) -> float:
        answer = predict(**MACHINE | options, calibration=path)
        return math.log(answer.interval.high_80 / answer.iteration_time)

    assert width(mine) < 0.6 * width(None)
    assert width(mine, local_batch_size=48) < width(mine, workload="vgg16") < width(None, workload="vgg16")
    lines = Path(
        written(tmp_path / "mine.csv", [MACHINE | {"local_batch_size": b} for b in BATCHES])
    ).read_text()
    header, *rows = lines.split()
    scattered = [
        f"{row.rpartition(',')[0]},{float(row.rpartition(',')[2]) * f}"
        for row, f in zip(rows, (0.6, 1.6, 0.7, 1.5), strict=True)
    ]
    (tmp_path / "mine.csv").write_text("\n".join([header, *scattered]))
    learned = calibrate(data=tmp_path / "mine.csv")
    learned.write(tmp_path / "mine.json")
    near = width(str(tmp_path / "mine.json"), local_batch_size=BATCHES[0] + 1)
    assert near >= 1.28 * 0.99 * learned.learned.own.scatter
    worst = learned.worth.worse[0].where
    assert learned.worth.standing == "worse"
    assert learned.card.advice.startswith("Do not use it: predictions of your 4 runs were off by ")
    assert f"; worse for {worst} by " in learned.card.advice


def test_what_is_left_out_is_what_the_others_say(tmp_path):
    rows = [MACHINE | {"local_batch_size": b} for b in BATCHES]
    settings = [resolve(Scenario(**row), Catalogue.built_in()) for row in rows]
    times = [predict(**row).iteration_time * f for row, f in zip(rows, (1.2, 1.3, 1.25, 1.4), strict=True)]
    runs = [OwnRun(f"line {n}", "", s, t) for n, (s, t) in enumerate(zip(settings, times, strict=True))]
    known = shipped_components()
    freedom = known.pop("freedom")
    whole = update(runs, calibration(), known, freedom, "mine")
    for n, answer in enumerate(whole.answers):
        others = update(runs[:n] + runs[n + 1 :], calibration(), known, 1e9, "mine")
        assert answer.left_out - answer.before == pytest.approx(
            sum(others.own.logarithms[name] for name in others.own.logarithms), abs=0.03
        )


@pytest.mark.parametrize(
    "options",
    [
        MACHINE,
        MACHINE | {"inter_link": "ethernet-10g-tcp", "workload": "vgg16"},
        {"workload": "vgg16", "accelerator": "k80"},
    ],
)
def test_a_sweep_and_an_explanation_say_what_predict_says(mine, options):
    """But of jobs that were measured themselves, of which a sweep says so."""
    crossed = sweep(options | {"calibration": mine}, world_size=[1, 8, 32], local_batch_size=[31, 65])
    assert any("measured themselves" in note for note in crossed.notes)
    table = crossed.table()
    for row in range(6):
        asked = options | {name: int(table[name][row]) for name in ("world_size", "local_batch_size")}
        answer = predict(**asked, calibration=mine)
        for name in ("iteration_time", "baseline_time"):
            assert table[name][row] == pytest.approx(getattr(answer, name), rel=1e-9)
        for name in ("low_80", "high_80"):
            assert table[name][row] == pytest.approx(getattr(answer.interval, name), rel=1e-9)
    explained = perfmodel.explain(**asked, calibration=mine)
    assert explained.complete
    assert explained.to_json() != perfmodel.explain(**asked).to_json()
    assert mine in explained.to_json()
    again = predict(answer.scenario)
    assert again.iteration_time == answer.iteration_time


def test_every_door_takes_it(mine, tmp_path):
    job = [f"--{name}={value}" for name, value in (MACHINE | {"local-batch-size": 64}).items()]
    runner = CliRunner()
    for words in (
        ["predict", *job],
        ["scale", *job, "--gpus", "1,8"],
        ["compare", *job, "--set", "gpus=8"],
        ["explain", *job],
        ["sensitivity", *job],
        ["sweep", *job, "--gpus", "1,8"],
        [
            "plan",
            "--workload",
            "resnet50",
            "--epochs",
            "1",
            "--accelerator",
            "v100-sxm2-16gb",
            "--max-gpus",
            "8",
        ],
    ):
        plain = runner.invoke(main, [*words, *(["--json"] if words[0] != "sweep" else [])])
        done = runner.invoke(
            main, [*words, "--calibration", mine, *(["--json"] if words[0] != "sweep" else [])]
        )
        assert done.exit_code == 0, (words, done.output)
        assert plain.exit_code == 0, (words, plain.output)
        assert done.stdout != plain.stdout, words
    job[-1] = "--local-batch-size=48"  # not measured itself
    told = json.loads(runner.invoke(main, ["predict", *job, "--calibration", mine, "--json"]).stdout)
    assert told["scenario"]["calibration"] == mine
    assert any(f"4 runs of your own ({mine}): computation x 1.2" in line for line in told["warnings"])


def test_what_was_measured_of_the_job_itself_rules(mine, tmp_path):
    anchored = MACHINE | {"local_batch_size": 64, "anchor": "iteration_time=0.2s@1"}
    assert predict(**anchored, calibration=mine).iteration_time == pytest.approx(0.2)
    times = tmp_path / "t.csv"
    times.write_text("iteration_time\n" + "0.2\n0.21\n0.2\n0.19\n0.2\n" * 4)
    profile = calibrate(times=times, **MACHINE, local_batch_size=64)
    profile.write(tmp_path / "p.toml")
    profiled = MACHINE | {"local_batch_size": 64, "profile": str(tmp_path / "p.toml")}
    with_both = predict(**profiled, calibration=mine).iteration_time
    assert with_both == pytest.approx(predict(**profiled).iteration_time, rel=1e-9)


NCCL = """# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728
#  Rank  0 a
#  Rank  1 a
#       size         count      type   redop    root     time   algbw   busbw
"""


def test_all_reduces_of_the_own_fabric_move_its_link(tmp_path):
    job = {
        "accelerator": "v100-sxm2-16gb",
        "node": "dgx-1v",
        "inter_link": "ib-edr-100g",
        "accelerators_per_node": 1,
    }
    scenario = Scenario(**job, world_size=2)

    from perfmodel.evidence.fitting.own_fabric import LEAST_BYTES
    from perfmodel.model.step.communication import message_times
    from perfmodel.model.step.fabric import fabric

    setting = resolve(scenario, Catalogue.built_in())
    sizes = [2.0**n for n in range(20, 28)]
    times = 2 * message_times(setting, np.array(sizes), fabric(setting, calibration()))
    rows = [
        f"{size:.0f} {size / 4:.0f} float sum -1 {time * 1e6:.2f} {rate:.3f} {rate:.3f}"
        for size, time, rate in zip(sizes, times, np.array(sizes) / times / 1e9, strict=True)
    ]
    (tmp_path / "nccl.txt").write_text(NCCL + "\n".join(rows) + "\n")
    learned = calibrate(collectives=tmp_path / "nccl.txt", **job)
    assert math.exp(learned.learned.own.logarithms["link/ib-edr-100g"]) == pytest.approx(0.5, rel=0.1)
    assert sum(size >= LEAST_BYTES for size in sizes) == 5
    learned.write(tmp_path / "mine.json")
    asked = job | {"workload": "vgg16", "world_size": 16, "local_batch_size": 16}
    slow = predict(**asked, calibration=str(tmp_path / "mine.json"))
    assert slow.iteration_time > 1.05 * predict(**asked).iteration_time
    (tmp_path / "other.txt").write_text("hello\n")
    with pytest.raises(InputError, match=r"other\.txt: not the output of an nccl-tests program"):
        calibrate(collectives=tmp_path / "other.txt", **job)
    with pytest.raises(InputError, match="2 ranks; gpus 8"):
        calibrate(collectives=tmp_path / "nccl.txt", **job, gpus=8)
    for options, words in (
        ({"strategy": "parameter-server"}, "strategy parameter-server: not with collectives"),
        ({"compression": "powersgd:4"}, "compression powersgd:4: not with collectives"),
        ({"anchor": "iteration_time=1s@1"}, "anchor .*: not with collectives"),
        ({"calibration": str(tmp_path / "mine.json")}, "by data too"),
        ({"skip": 3}, "skip 3: of marked steps; collectives have none"),
    ):
        with pytest.raises(InputError, match=words):
            calibrate(collectives=tmp_path / "nccl.txt", **job, **options)
    line = CliRunner().invoke(main, ["calibrate", "--collectives", str(tmp_path / "nccl.txt"), "--skip", "3"])
    assert line.exit_code == 2
    assert "--skip 3: of marked steps" in line.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1: empty; expected a line of column names"),
        ("\n\n", "line 1: empty; expected a line of column names"),
        (
            "workload,accelerator,world_size,local_batch_size,iteration_time,jitter\n"
            "resnet50,v100-sxm2-16gb,16,64,0.2s,\n"
            "resnet50,v100-sxm2-16gb,16,64,0.2s,lognormal:cv=abc\n",
            r"mine\.csv: line 3: lognormal: cv must be a finite number, not 'abc'",
        ),
    ],
    ids=["nothing", "blank", "jitter"],
)
def test_what_cannot_be_learned_from_is_named_with_its_line(text, words, tmp_path):
    (tmp_path / "mine.csv").write_text(text)
    with pytest.raises(InputError, match=words):
        calibrate(data=tmp_path / "mine.csv")


@pytest.mark.parametrize("option", ["calibration", "profile"])
def test_an_empty_name_of_a_file_is_said_to_be_one(option):
    with pytest.raises(InputError, match=r"'' names no file: give .* leave"):
        predict(gpus=8, **{option: ""})


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (
            "workload,acelerator,iteration_time\nresnet50,k80,1\n",
            "line 1: unknown column 'acelerator'; nearest: acc",
        ),
        ("workload,accelerator\nresnet50,k80\n", "line 1: no column iteration_time, samples_per_second"),
        ("workload,accelerator,iteration_time\n", "no runs below the header line"),
        ("workload,accelerator,iteration_time\nresnet5,k80,1\nvgg16,k80,1ms\n", "line 2: .*resnet5"),
        ("workload,accelerator,gpus,iteration_time\nresnet50,k80,0,1\n", "line 2: gpus = 0: expected"),
        ("workload,accelerator,iteration_time\nresnet50,k80\n", "line 2: 2 cells; the header has 3"),
        ("workload,accelerator,iteration_time\nresnet50,k80,fast\n", "line 2: .*fast"),
        (
            "workload,accelerator,iteration_time\nresnet50,k80,1e9\n",
            r"line 2: iteration_time 1e\+09; expected",
        ),
        ("workload,iteration_time\nresnet50,1\n", "line 2: no accelerator or node"),
        (
            "workload,accelerator,iteration_time,gpus,world_size\nresnet50,k80,1,2,2\n",
            "world_size is there twice",
        ),
        (
            "workload,accelerator,gpus,tensor_parallel,iteration_time\nllama-3-8b,h100-sxm5-80gb,8,3,1\n",
            "line 2: .*does not divide",
        ),
    ],
)
def test_every_wrong_line_is_named_and_nothing_is_written(tmp_path, text, wrong):
    (tmp_path / "mine.csv").write_text(text)
    done = CliRunner().invoke(
        main, ["calibrate", "--data", str(tmp_path / "mine.csv"), "--output", str(tmp_path / "mine.json")]
    )
    assert done.exit_code == 2, done.output
    assert "Traceback" not in done.output
    assert re.search(wrong, done.stderr), done.stderr
    assert not (tmp_path / "mine.json").exists()


def test_all_wrong_lines_are_named_at_once(tmp_path):
    (tmp_path / "mine.csv").write_text(
        "workload,accelerator,iteration_time\nresnet5,k80,1\nvgg16,k80,1\nvgg16,k81,1\n"
    )
    with pytest.raises(InputError, match=r"(?s)line 2: .*line 4: "):
        calibrate(data=tmp_path / "mine.csv")


def test_a_file_of_another_version_or_damaged_is_refused(mine, tmp_path):
    table = json.loads(Path(mine).read_text())
    other = tmp_path / "o.json"
    for changed, wrong in (
        ({"version": 2}, "version 2; this perfmodel reads 3"),
        ({"beside": "x"}, "learned from another fit"),
        ({"noise": 0.1}, "damaged, or changed by hand"),
    ):
        other.write_text(json.dumps(table | changed))
        with pytest.raises(InputError, match=wrong):
            predict(calibration=str(other))
    other.write_text('made_by = "perfmodel"\nfiles = ["step.json"]\n')
    with pytest.raises(InputError, match=r"profile .* goes to profile"):
        predict(calibration=str(other))
    with pytest.raises(InputError, match="made of measured runs goes to"):
        predict(profile=mine)
    other.write_text(Path(mine).read_text()[:500])
    with pytest.raises(InputError, match="not JSON"):
        predict(calibration=str(other))
    with pytest.raises(InputError, match=r"none\.json: cannot be read"):
        predict(calibration=str(tmp_path / "none.json"))
    with pytest.raises(InputError, match="calibration: one in a sweep"):
        sweep(calibration=[mine, str(other)])


def test_the_shipped_fit_is_never_replaced(mine, tmp_path):
    before = FITTED.read_bytes()
    data = written(tmp_path / "mine.csv", [MACHINE])
    done = CliRunner().invoke(main, ["calibrate", "--data", data])
    assert done.exit_code == 0, done.output
    assert "nothing was written: give --output FILE" in done.stderr
    assert FITTED.read_bytes() == before


def test_components_are_those_that_errors_were_drawn_from():

    random, rows = np.random.default_rng(0), []
    for source in range(150):
        own, nets = random.normal(0, 0.5), random.normal(0, 0.8, 4)
        for n in range(12):
            keys = {name: name for name in ("accelerator", "run", "link")}
            keys = {
                "software": "s",
                "accelerator": str(n),
                "network": str(n % 4),
                "run": str(n),
                "link": None,
            }
            error = own + nets[n % 4] + random.normal(0, 0.4)
            rows.append(Scaled(str(source), error, 0.1, 0.0, keys))
    learned = learn_components(rows)
    assert learned["software"] == pytest.approx(0.5, rel=0.2)
    assert learned["network"] == pytest.approx(0.8, rel=0.15)
    alone = learned["rest"] ** 2 + learned["accelerator"] ** 2 + learned["run"] ** 2
    assert alone == pytest.approx(0.16, rel=0.15)


def test_the_documented_example_prints_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parents[1] / "docs" / "own-runs.md").read_text("utf-8")
    table, command, output = re.findall(r"```(?:text|sh)\n(.*?)```", text, re.DOTALL)[:3]
    Path("mine.csv").write_text(table)
    assert CliRunner().invoke(main, command.split()[1:]).stdout == output
    said = {"vgg16": 1.14, "resnet50": 1.12}
    for (network, factor), accelerator in zip(said.items(), ("v100-sxm2-16gb", "t4"), strict=True):
        job = {"workload": network, "accelerator": accelerator}
        after = predict(**job, calibration="mine.json").iteration_time
        assert after / predict(**job).iteration_time == pytest.approx(factor, abs=0.005)


def test_a_quote_is_held_against_ones_own_runs(mine):
    from perfmodel.decide.quote import Claim, Quote, check_quote

    claim = Claim(quantity="images_per_second", value=300.0)
    quote = Quote(title="A rate", scenario=MACHINE | {"local_batch_size": 64}, claims=(claim,))
    plain, own = check_quote(quote)[0], check_quote(quote, calibration=mine)[0]
    assert own.model_dump() != plain.model_dump()
    done = CliRunner().invoke(main, ["check-quote", "imagenet-one-hour", "--calibration", mine, "--json"])
    assert json.loads(done.stdout)["claims"], done.output
    with pytest.raises(InputError, match=r"none\.json: cannot be read"):
        check_quote(quote, calibration="none.json")


def test_only_the_link_that_binds_is_moved(tmp_path):
    job = "vgg16,aws-g4dn.metal,false,ib-hdr-200g,4,none,16"
    (tmp_path / "pc.csv").write_text(
        "workload,node,network_cap,inter_link,nics,overlap,local_batch_size,world_size,iteration_time\n"
        f"{job},8,0.23\n{job},16,0.28\n"
    )
    moved = calibrate(data=tmp_path / "pc.csv").learned.own.logarithms
    assert moved["link/ib-hdr-200g"] == pytest.approx(0, abs=0.01)
    assert moved["link/pcie3-x16"] < -0.2


def test_a_link_that_binds_only_where_it_is_slow_is_found():
    from perfmodel.model.step.communication import message_times
    from perfmodel.model.step.fabric import fabric

    setting = resolve(Scenario(node="dgx-h100", world_size=16), Catalogue.built_in())
    sizes = (1.3e8, 2.7e8)
    time = 12 * math.exp(
        np.log(message_times(setting, np.array(sizes), fabric(setting, calibration()))).mean()
    )
    known = shipped_components()
    freedom = known.pop("freedom")
    run = OwnRun("nccl.txt", "", setting, time, sizes, 0.03**2)
    (answer,) = update([run], calibration(), known, freedom, "mine").answers
    assert abs(answer.after) < 0.1 * abs(answer.before)
    assert answer.left_out == answer.before


def test_a_run_on_several_is_left_out_as_by_a_fit_to_the_others(tmp_path):
    rows = [
        MACHINE | {"node": "aws-p3.16xlarge", "world_size": n, "local_batch_size": b}
        for n, b in ((1, 64), (8, 64), (16, 64))
    ]
    data = Path(written(tmp_path / "mine.csv", rows))
    answer = calibrate(data=data).answers[-1]
    data.write_text("\n".join(data.read_text().splitlines()[:-1]) + "\n")
    calibrate(data=data).write(tmp_path / "others.json")
    again = predict(**rows[-1], calibration=str(tmp_path / "others.json")).iteration_time
    assert answer.left_out == pytest.approx(math.log(again / answer.time), abs=5e-3)  # effects of all runs


def test_repeats_of_a_run_say_no_more_of_others(tmp_path):
    row = MACHINE | {"local_batch_size": 64}
    once, often = (calibrate(data=written(tmp_path / f"{n}.csv", [row] * n)).learned.own for n in (1, 20))
    assert often.settled == once.settled
    assert (often.noise, often.scatter) == (once.noise, once.scatter)


def test_a_job_that_was_measured_keeps_the_noise_of_repeats(tmp_path):
    """Its interval is theirs; contradictions among repeats widen it."""
    job = {"workload": "resnet50", "node": "dgx-1v", "world_size": 8, "local_batch_size": 64}
    specs = predict(**job).iteration_time
    for factors, within in ((1.01, 1.02, 1.03), 0.05), ((0.8, 1.0, 1.25), 0.4):
        learned = calibrate(data=written(tmp_path / "mine.csv", [job] * 3, list(factors)))
        learned.write(tmp_path / "mine.json")
        answer = predict(**job, calibration=str(tmp_path / "mine.json"))
        mean = math.exp(sum(map(math.log, factors)) / 3)
        assert answer.iteration_time == pytest.approx(specs * mean, rel=1e-6)
        half = math.log(answer.interval.high_80 / answer.iteration_time)
        assert half < within
        assert answer.interval.scale == 1
        again = predict(answer.scenario)
        assert again.iteration_time == pytest.approx(answer.iteration_time, rel=1e-12)
        assert again.interval.high_80 == pytest.approx(answer.interval.high_80, rel=1e-12)
    assert half > 0.15
    anchored = predict(**job, anchor=f"iteration_time={1.1 * specs!r}s@8")
    assert math.log(anchored.interval.high_80 / anchored.iteration_time) < 0.05


LLAMA = {"workload": "llama-3-8b", "node": "dgx-h100", "tensor_parallel": 2, "global_batch_size": 128}


def test_own_runs_of_transformers_buy_certainty(tmp_path):
    """Of the job itself all, of a near one more than of another network."""
    runs = [LLAMA | {"world_size": size} for size in (16, 16, 32)]
    learned = calibrate(data=written(tmp_path / "mine.csv", runs, 1.3))
    learned.write(tmp_path / "mine.json")
    mine = str(tmp_path / "mine.json")

    def half(**options: Any) -> float:
        answer = predict(LLAMA | options)
        return math.log(answer.interval.high_80 / answer.iteration_time)

    def moved(**options: Any) -> float:
        before = predict(LLAMA | options).iteration_time
        return predict(LLAMA | options, calibration=mine).iteration_time / before

    far = {"world_size": 64, "tensor_parallel": 4}
    assert moved(world_size=16) == pytest.approx(1.3, rel=0.005)
    assert half(world_size=16, calibration=mine) < 0.05
    assert 1.1 < moved(**far) < 1.3
    assert 1.02 < moved(**far, workload="llama-2-13b") < moved(**far)
    widths = [
        half(**far, calibration=mine),
        half(**far, workload="llama-2-13b", calibration=mine),
        half(**far),
    ]
    assert widths == sorted(widths)
    for answer in learned.answers:
        assert abs(answer.after) < 0.005 < abs(answer.left_out) < abs(answer.before)
        assert answer.width_after < 0.05 < answer.width_before
    table = sweep(LLAMA | {"calibration": mine}, world_size=[16, 64]).table()
    for row, size in enumerate((16, 64)):
        one = predict(LLAMA, world_size=size, calibration=mine)
        assert table["iteration_time"][row] == pytest.approx(one.iteration_time, rel=1e-9)
        assert table["high_80"][row] == pytest.approx(one.interval.high_80, rel=1e-9)
    assert "runs of your own" in " ".join(one.warnings)


def test_runs_that_contradict_each_other_widen(tmp_path):
    runs = [LLAMA | {"world_size": size} for size in (8, 16, 32, 64)]
    widths = []
    for factors in [1.1, 1.12, 1.08, 1.1], [0.6, 1.7, 0.7, 1.6]:
        calibrate(data=written(tmp_path / "mine.csv", runs, factors)).write(tmp_path / "mine.json")
        near = LLAMA | {"tensor_parallel": 4}
        answer = predict(near, world_size=16, calibration=str(tmp_path / "mine.json"))
        widths.append(math.log(answer.interval.high_80 / answer.iteration_time))
    assert widths[1] > 1.3 * widths[0]


def test_validate_reads_the_file_that_calibrate_learns_from(tmp_path):
    runs = [LLAMA | {"world_size": 16}, {"workload": "resnet50", "node": "dgx-1v", "world_size": 8}]
    file = written(tmp_path / "mine.csv", runs, 1.25)
    rows = perfmodel.validate(data=file).rows
    assert [row.predicted / row.measured for row in rows] == pytest.approx([0.8, 0.8])
    learned = calibrate(data=file)
    assert [math.exp(answer.before) for answer in learned.answers] == pytest.approx([0.8, 0.8])


def test_repeats_that_contradict_each_other_widen_what_predict_says(tmp_path):
    job = {"workload": "resnet50", "accelerator": "v100-sxm2-16gb", "local_batch_size": 64}
    learned = calibrate(data=written(tmp_path / "mine.csv", [job, job], [0.7, 1.4]))
    learned.write(tmp_path / "mine.json")
    answer = predict(**job, calibration=str(tmp_path / "mine.json"))
    half = math.log(answer.interval.high_80 / answer.iteration_time)
    assert half == pytest.approx(learned.answers[0].width_after)
    assert half > 0.3
    one = predict(**job | {"gpus": 1}, anchor="iteration_time=130ms@8")
    assert math.log(one.interval.high_80 / one.iteration_time) > 0.05


def test_two_measured_transformers_are_compared_by_the_noise_of_both(tmp_path):
    runs = [LLAMA | {"world_size": 16, "tensor_parallel": degree} for degree in (2, 4)]
    calibrate(data=written(tmp_path / "mine.csv", runs, [2.0, 1.5])).write(tmp_path / "mine.json")
    first, second = (run | {"calibration": str(tmp_path / "mine.json")} for run in runs)
    ratio = perfmodel.compare(first, second).cases[1].ratio
    assert math.log(ratio.high_80 / ratio.value) < 0.08


# --- what to look at


NODE = {"workload": "resnet50-v1.5", "node": "dgx-a100", "local_batch_size": 256}


def looked_at(tmp_path, rows):
    """Return what to look at in runs, each an option by name and the factor on its predicted time."""
    rows = [(NODE | row, factor) for row, factor in rows]
    names = list(dict.fromkeys(name for row, _ in rows for name in row))
    lines = [",".join([*names, "iteration_time"])]
    for row, factor in rows:
        time = predict(**row).iteration_time * factor
        lines.append(",".join([*(str(row[name]) for name in names), repr(time)]))
    (tmp_path / "odd.csv").write_text("\n".join(lines))
    return calibrate(data=tmp_path / "odd.csv")


def test_the_run_that_does_not_fit_the_others_is_named(tmp_path):
    rows = [({"world_size": n}, factor) for n, factor in ((8, 1.007), (16, 1.032), (32, 5.2))]
    answer = looked_at(tmp_path, rows)
    (line,) = answer.warnings
    assert line.startswith(
        "line 4 is 5.2 x as slow as predicted, lines 2 and 3 within 3 %: check it, or remove"
    )
    assert line in str(answer).replace("\n", " ")
    assert answer.worth.standing == "worse"
    assert json.loads(answer.to_json())["warnings"] == [line]
    assert answer.other_sizes.job == "ResNet-50 v1.5 on A100 SXM4 80 GB, batch 256 each"
    assert [size.world_size for size in answer.other_sizes.sizes] == [8, 16, 32, 64]


@pytest.mark.any_version
def test_a_slow_network_is_no_odd_run(tmp_path):
    """The one run inside a node is far from the others, but all that pass the network are slow."""
    rows = [({"world_size": n}, factor) for n, factor in ((8, 1.0), (16, 2.0), (32, 2.2), (64, 2.4))]
    assert looked_at(tmp_path, rows).warnings == ()
    alike = [({"world_size": n}, 1.6) for n in (8, 16, 32)]
    assert looked_at(tmp_path, alike).warnings == ()


def test_milliseconds_read_as_seconds_are_named(tmp_path):
    answer = looked_at(tmp_path, [({"world_size": 8}, 1.0), ({"world_size": 16}, 1e3)])
    (line,) = answer.warnings
    assert re.match(
        r"line 3: [\d.]+ is read as seconds, 1,000 x the prediction; did you mean [\d.]+ ms\?", line
    )
    assert answer.other_sizes is None
    assert answer.worth.standing == "unchecked"
    assert answer.card.advice.startswith(f"Check before you use it: {line}")
    assert "left out" not in str(answer)
    assert "80 % interval" not in str(answer)


def test_a_factor_far_from_one_names_its_runs(tmp_path):
    job = {"workload": "vgg16", "world_size": 8}
    slow = [(job | {"local_batch_size": b}, 5.0) for b in (1, 2)]
    alone = [(job | {"world_size": 1, "local_batch_size": b}, 1.0) for b in (1, 2)]
    (line,) = looked_at(tmp_path, [*slow, *alone]).warnings
    assert re.match(
        r"link NVLink 3 through NVSwitch x 0\.0\d+ is far from 1 .*: it comes from lines 2 and 3, up to 5.0",
        line,
    )


def test_all_unknown_columns_are_named_at_once(tmp_path):
    (tmp_path / "mine.csv").write_text("model,gpu,gpus,images_per_second,step_time_ms\nresnet50,v100,8,1,2\n")
    with pytest.raises(InputError) as raised:
        calibrate(data=tmp_path / "mine.csv")
    for column, meant in (("model", "workload"), ("gpu", "accelerator"), ("step_time_ms", "iteration_time")):
        assert f"{column!r} (here {meant}" in str(raised.value)


def learned_from_rates(folder: Path, rates: dict[int, float]) -> str:
    """Write what runs of one job teach, by the samples/s of each GPU on some numbers of GPUs."""
    lines = [f"resnet50,v100-sxm2-16gb,{n},64,{n * rate}" for n, rate in rates.items()]
    head = "workload,accelerator,world_size,local_batch_size,samples_per_second"
    (folder / "mine.csv").write_text("\n".join([head, *lines]))
    calibrate(data=str(folder / "mine.csv")).write(folder / "mine.json")
    return str(folder / "mine.json")


JOB = MACHINE | {"local_batch_size": 64}


def test_what_only_more_gpus_lose_is_no_computation_and_no_lever_claims_it(tmp_path):
    mine = learned_from_rates(tmp_path, {1: 540, 32: 453})
    one, many = (predict(**JOB, world_size=n, calibration=mine) for n in (1, 32))
    for name in ("forward_time", "backward_time", "update_time"):
        assert many.terms[name] == pytest.approx(one.terms[name], rel=1e-9)
    assert many.iteration_time == pytest.approx(64 / 453)
    assert sum(many.terms.values()) == pytest.approx(many.iteration_time)
    assert many.scaling_efficiency == pytest.approx(453 / 540)
    assert many.terms["measured_loss_time"] > 0.1 * many.iteration_time
    assert "measured_loss_time" not in one.terms
    assert "twice the bandwidth" not in many.verdict
    assert "the loss measured on your own runs; its cause is not known" in many.verdict
    assert "a loss measured on your own runs, 12 %" in many.card.limit
    levers = perfmodel.sensitivity(**JOB, world_size=32, calibration=mine)
    assert not levers.crossovers
    assert any("nor how it changes with the accelerators" in note for note in levers.notes)


def test_one_machine_anchors_computation_where_one_gpu_was_not_measured(tmp_path):
    mine = learned_from_rates(tmp_path, {8: 508, 32: 400})
    machine, many = (predict(**JOB, world_size=n, calibration=mine) for n in (8, 32))
    assert many.terms["forward_time"] == pytest.approx(machine.terms["forward_time"], rel=1e-9)
    assert many.terms["measured_loss_time"] > 0


def test_a_loss_within_the_noise_of_repeats_is_none(tmp_path):
    scale = {n: 500 * predict(**JOB, world_size=n).scaling_efficiency for n in (1, 8)}
    mine = learned_from_rates(tmp_path, scale)
    assert "measured_loss_time" not in predict(**JOB, world_size=8, calibration=mine).terms


def test_one_gpu_is_the_same_job_whatever_its_row_says_of_an_exchange(tmp_path):
    mine = learned_from_rates(tmp_path, {1: 540})
    one = predict(**JOB, world_size=1, inter_link="ethernet-25g-tcp", overlap="none", calibration=mine)
    assert one.samples_per_second == pytest.approx(540)


@pytest.mark.parametrize("rates", [{1: 540, 8: 510, 32: 453}, {1: 540, 32: 453}])
def test_a_loss_that_own_runs_show_stays_on_more_gpus(tmp_path, rates):
    mine = learned_from_rates(tmp_path, rates)
    each = [predict(**JOB, world_size=n, calibration=mine).samples_per_second / n for n in (32, 64, 128)]
    assert each == sorted(each, reverse=True)


def test_efficiency_is_as_uncertain_as_the_throughput_whatever_else_is_in_the_table(tmp_path):
    mine = learned_from_rates(tmp_path, {1: 540, 8: 510, 32: 453})
    tables = [perfmodel.scale(**JOB, gpus=counts, calibration=mine) for counts in ([64], [32, 64], [1, 64])]
    linear = 540 * 64
    ends = [end / linear for end in throughput_range(tables[0].predictions[-1])]
    words = f" of linear scaling (80 %: {' to '.join(per_cent(end, 0) for end in ends)}): "
    for table in tables:
        assert efficiency_range(table.predictions[-1], table.alone) == pytest.approx(ends, rel=1e-3)
        assert words in table.card.advice
    of_one, of_32 = tables[2].rows[-1].ratio, tables[1].rows[-1].ratio
    assert (of_one.low_80 / 64, of_one.high_80 / 64) == pytest.approx(ends, rel=0.01)
    assert of_32.low_80 == pytest.approx(ends[0] * linear / (453 * 32), rel=0.01)
    (row,) = perfmodel.enough(**JOB, until=0.5, vary="gpus", values=[64], calibration=mine).tried
    assert (row.low_80, row.high_80) == pytest.approx(ends, rel=1e-3)


def test_the_loss_of_own_runs_has_no_known_cause_and_is_constant_beyond_them(tmp_path):
    mine = learned_from_rates(tmp_path, {1: 540, 8: 510, 32: 453})
    answer = predict(**JOB, world_size=64, calibration=mine)
    assert "or is the loss measured on your own runs, whose cause is not known" in answer.card.rests_on
    assert any("beyond 32 GPUs what they lose is taken as constant" in note for note in answer.warnings)
    assert "loss measured on your own runs, taken as constant beyond 32 GPUs;" in answer.verdict
    assert "taken as constant" not in predict(**JOB, world_size=32, calibration=mine).verdict


def test_throughput_and_what_is_assumed_beyond_the_runs_stand_with_the_times(tmp_path):
    learned_from_rates(tmp_path, {1: 540, 8: 510, 32: 453})
    answer = calibrate(data=str(tmp_path / "mine.csv"))
    sizes = answer.other_sizes
    measured, more = sizes.sizes[-2:]
    low, high = (more.work / end for end in reversed(more.after_80))
    growth = (measured.measured / measured.before) / (sizes.sizes[1].measured / sizes.sizes[1].before)
    then = f"{more.rate:,.0f} images/s (80 %: {low:,.0f} to {high:,.0f})"
    then += f", or {more.rate / growth**0.5:,.0f} if the loss grows as it did from 8 to 32"
    said = f"{sizes.job}: 32 GPUs 14,496 images/s, measured; 64 GPUs {then}."
    assert said in answer.card.advice
    assert said in str(answer).replace("\n", " ")
    assert sizes.assumed in str(answer).replace("\n", " ")
    assert f"{measured.measured / measured.before:.2f} x the time predicted without" in sizes.assumed
    assert "If it grows as it did from 8 to 32, they take " in sizes.assumed
    assert more.after_80[0] < measured.measured
    assert sizes.assumed.endswith("allows less loss: some published jobs lost less.")
    assert json.loads(answer.to_json())["other_sizes"]["sizes"][-1]["rate"] == pytest.approx(more.rate)
    assert [row["rate"] for row in json.loads(answer.to_json())["rows"]] == pytest.approx([540, 4080, 14496])
    assert show(more.after * growth**0.5, "s") in sizes.assumed


def test_a_loss_that_did_not_grow_is_not_said_to(tmp_path):
    learned_from_rates(tmp_path, {1: 540, 8: 540, 32: 540})
    sizes = calibrate(data=str(tmp_path / "mine.csv")).other_sizes
    assert "the loss is assumed not to grow." in sizes.assumed
    assert "If it grows" not in sizes.assumed


def test_what_one_size_is_taken_to_lose_stands_next_to_what_it_lost(tmp_path):
    learned_from_rates(tmp_path, {1: 305})
    table = (tmp_path / "mine.csv").read_text().splitlines()
    lines = [table[0], *(table[1].replace(",1,64,", f",1,{batch},") for batch in (16, 32, 64))]
    (tmp_path / "mine.csv").write_text("\n".join(lines))
    sizes = calibrate(data=str(tmp_path / "mine.csv")).other_sizes
    one, two = sizes.sizes
    assert not sizes.follows_runs
    assert sizes.assumed == (
        f"2 GPUs were not measured: they are taken to need {two.after / two.before:.2f} x the time predicted "
        f"without your runs; 1 GPU needed {one.measured / one.before:.2f} x."
    )


def test_runs_of_a_job_that_state_it_otherwise_are_followed_too(tmp_path):
    head = "workload,accelerator,world_size,local_batch_size,inter_link,samples_per_second"
    rows = [f"resnet50,v100-sxm2-16gb,{n},64,{link},{n * 500}" for n, link in ((32, ""), (8, "ib-edr-100g"))]
    (tmp_path / "mine.csv").write_text("\n".join([head, *rows, rows[1].replace(",8,", ",1,")]))
    sizes = calibrate(data=str(tmp_path / "mine.csv")).other_sizes
    assert sizes.follows_runs
    assert [size.world_size for size in sizes.sizes] == [32, 64]
    assert "as 32 GPUs did; the loss is assumed not to grow." in sizes.assumed


TRANSFORMER_RATES = {8: 500_000, 16: 900_000, 64: 3_000_000}
TRANSFORMER: dict[str, Any] = {
    "workload": "gpt2",
    "accelerator": "a100-sxm4-40gb",
    "local_batch_size": 8,
    "sharding": "zero3",
}


def learned_from_a_transformer(tmp_path):
    """Return the answer to runs of GPT-2 that lose more on more GPUs than predicted, and its file."""
    names = [*TRANSFORMER, "world_size", "tokens_per_second"]
    rows = [[*TRANSFORMER.values(), n, rate] for n, rate in TRANSFORMER_RATES.items()]
    (tmp_path / "mine.csv").write_text("\n".join(",".join(map(str, row)) for row in [names, *rows]))
    answer = calibrate(data=str(tmp_path / "mine.csv"))
    answer.write(tmp_path / "mine.json")
    return answer, tmp_path / "mine.json"


def test_a_transformer_loses_on_more_gpus_what_its_runs_lost(tmp_path):
    """Not what the mean of its runs lost, with which 128 GPUs took less time than 64 were measured to."""
    answer, mine = learned_from_a_transformer(tmp_path)
    sizes = answer.other_sizes
    *_, most, more = sizes.sizes
    assert sizes.follows_runs
    assert more.after / more.before == pytest.approx(most.measured / most.before, rel=1e-6)
    assert more.after > most.measured
    words = "128 GPUs were not measured: they are taken to need 2.70 x the time predicted without your runs"
    assert sizes.assumed.startswith(f"{words}, as 64 GPUs did; the loss is assumed not to grow. ")
    times = [
        predict(**TRANSFORMER, world_size=n, calibration=str(mine)).iteration_time
        for n in (8, 12, 16, 32, 64, 128, 256)
    ]
    assert times == sorted(times)
    notes = predict(**TRANSFORMER, world_size=128, calibration=str(mine)).warnings
    assert any("the same job on other GPU counts: all times x 2.70" in note for note in notes)


def test_another_layout_or_batch_does_not_follow_the_runs_of_a_transformer(tmp_path):
    _, mine = learned_from_a_transformer(tmp_path)
    for other in ({"sharding": "zero2"}, {"local_batch_size": 16}, {"sequence_length": 512}):
        answer = predict(**TRANSFORMER | other, world_size=128, calibration=str(mine))
        assert not any("the same job" in note for note in answer.warnings)


def test_tokens_are_counted_where_the_file_counts_them(tmp_path):
    rows = ["bert-base,h100-sxm5-80gb,1,128,400000", "bert-base,h100-sxm5-80gb,8,128,3000000"]
    for quantity, unit in (("tokens_per_second", "tokens/s"), ("samples_per_second", "sequences/s")):
        head = f"workload,accelerator,world_size,sequence_length,{quantity}"
        (tmp_path / "mine.csv").write_text("\n".join([head, *rows]))
        assert calibrate(data=str(tmp_path / "mine.csv")).other_sizes.unit == unit


def test_between_own_runs_the_time_runs_on_a_line(tmp_path):
    mine = learned_from_rates(tmp_path, {1: 540, 4: 540, 8: 508, 32: 453})
    rates = [
        predict(**JOB, world_size=n, calibration=mine).samples_per_second / n
        for n in (4, 5, 6, 8, 16, 24, 32)
    ]
    assert rates == sorted(rates, reverse=True)
    between = predict(**JOB, world_size=16, calibration=mine)
    assert any("on other GPU counts" in note for note in between.warnings)
    assert between.interval.high_80 / between.interval.low_80 > 1.1  # not the noise of repeats
    assert predict(between.scenario).iteration_time == between.iteration_time
    assert {*between.warnings} >= set(predict(**JOB, world_size=8, calibration=mine).warnings)


def test_a_job_spread_over_machines_takes_what_was_measured_of_it(tmp_path):
    """Not what it would take in one machine, and its runs on as many GPUs of each machine are followed."""
    spread, packed = (
        [JOB | {"world_size": n, "accelerators_per_node": held or n} for n in sizes]
        for sizes, held in (((2, 4, 16), 1), ((2, 4), 0))
    )
    mine = written(tmp_path / "mine.csv", [*spread, *packed], [1.5] * 3 + [1.0] * 2)
    for job in spread:
        found = predict(**job, calibration=mine)
        assert found.iteration_time == pytest.approx(1.5 * predict(**job).iteration_time)
    job = JOB | {"world_size": 8, "accelerators_per_node": 1}
    followed = predict(**job, calibration=mine).iteration_time
    assert followed == pytest.approx(1.5 * predict(**job).iteration_time, rel=0.02)


@pytest.mark.any_version
def test_only_runs_of_the_same_work_are_looked_up(tmp_path, monkeypatch):
    from perfmodel.model.prediction.intervals import measured_jobs

    other = JOB | {"workload": "vgg16"}
    rows = [(JOB, n) for n in (1, 8, 32)] + [(other, n) for n in (1, 2, 4, 16, 64)]
    mine = written(tmp_path / "mine.csv", [job | {"world_size": n} for job, n in rows], 1.1)
    known: list[int] = []
    real = measured_jobs.setting_of_ranks

    def counted(scenario, whole, ranks, *more):
        known.append(ranks)
        return real(scenario, whole, ranks, *more)

    predict(**JOB, world_size=16, calibration=str(mine))
    monkeypatch.setattr(measured_jobs, "setting_of_ranks", counted)
    predict(**JOB, world_size=16, calibration=str(mine))
    assert {*known} == {1, 8, 32}


@pytest.mark.any_version
def test_a_table_of_runs_is_taken_as_what_is_learned_from_it(tmp_path):
    file = learned_from_rates(tmp_path, {1: 540, 8: 510, 32: 453})
    table = str(tmp_path / "mine.csv")
    for job in (JOB | {"world_size": 64}, JOB | {"world_size": 8, "profile": None}):
        by_file, by_table = (predict(**job, calibration=name) for name in (file, table))
        assert by_table.to_json().replace("mine.csv", "mine.json") == by_file.to_json()
    result = CliRunner().invoke(main, ["calibrate", "--data", table])
    shown = calibrate(data=table).other_sizes.sizes[-1]
    for row in shown.rows("images/s"):
        assert re.search(r" +".join(map(re.escape, row)), result.stdout)
    assert "not measured" in row
    assert shown.after == predict(**JOB, world_size=64, calibration=file).iteration_time
    assert "the largest, line 4 on 32 GPUs" in calibrate(data=table).card.advice


def test_hardware_of_ones_own_is_known_to_a_table_of_runs(tmp_path):
    (tmp_path / "mine.toml").write_text(
        (Path(perfmodel.__file__).parents[1] / "hardware_specs/accelerators/v100-sxm2-16gb.toml")
        .read_text()
        .replace('id = "v100-sxm2-16gb"', 'id = "mine"')
    )
    catalogue = perfmodel.Catalogue([tmp_path / "mine.toml"])
    job = {"workload": "resnet50", "accelerator": "mine", "local_batch_size": 64}
    (tmp_path / "mine.csv").write_text(",".join([*job, "iteration_time"]) + "\nresnet50,mine,64,0.2")
    answer = predict(**job, calibration=str(tmp_path / "mine.csv"), catalogue=catalogue)
    assert answer.iteration_time == pytest.approx(0.2)


def test_runs_that_should_not_be_used_are_said_to_be_so(tmp_path):
    rows = [NODE | {"world_size": n} for n in (8, 16, 32)]
    file = written(tmp_path / "odd.csv", rows, [1.007, 1.032, 5.2])
    assert any("Do not use it" in note for note in predict(**rows[0], calibration=str(file)).warnings)


def test_the_card_says_what_it_was_without_the_runs(mine):
    before = predict(**JOB, world_size=32)
    for n in (32, 16):
        after = predict(**JOB, world_size=n, calibration=mine)
        without = predict(**JOB, world_size=n).iteration_time
        assert after.time_without_own_runs == pytest.approx(without)
        assert f"({show(without, 's')} without them)" in after.card.rests_on
    assert before.time_without_own_runs is None
    assert "without them" not in before.card.rests_on


def test_a_note_on_the_measured_run_names_it_as_ones_own(tmp_path):
    mine = learned_from_rates(tmp_path, {32: 453})
    notes = predict(**JOB, world_size=32, calibration=mine).warnings
    assert any(note.startswith("your run on 32 accelerators, 4 nodes of 8") for note in notes)
    assert not any("anchor" in note for note in notes)
