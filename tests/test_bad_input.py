"""What a user can get wrong ends in one or two lines on stderr and exit code 2, never in a traceback."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.core.files.resources import folder
from perfmodel.interfaces.cli import main

WRONG = {
    "predict --workload resnt50": "nearest: resnet50",
    "predict --accelerator v10": "nearest: v100-",
    "predict --accelerator titan-x": "titan-x-maxwell (NVIDIA GeForce GTX Titan X (Maxwell)) and ",
    "predict --accelerator ''": "unknown accelerator",
    "predict --gpus 16 --inter-link edr": "nearest: ib-edr-100g",
    "predict --node dgx-9": "unknown node",
    "predict --gpus 0": "whole number from 1",
    "predict --gpus -3": "whole number from 1",
    "predict --gpus 2.5": "whole number from 1",
    "predict --gpus 1e3": "whole number from 1",
    "predict --gpus 99999999999": "whole number from 1",
    "predict --gpus 32 --global-batch-size 100": "96 or 128 would",
    "predict --local-batch-size 8 --global-batch-size 8": "give one",
    "predict --accelerator v100-sxm2-16gb --precision bf16": "it has",
    "diagnose train.log --gpus 32": "train.log: write --measured train.log",
    "predict --precision fp12": "fp16",
    "predict --anchor iteration_time=5kg@1": "145ms",
    "predict --anchor iteration_time=nan@1": "145ms",
    "predict --anchor iteration_time=-1s@1": "",
    "predict --anchor fast": "iteration_time=0.145s@1",
    "predict --anchor iteration_time=1s@2000000": "1,000,000",
    "predict --anchor iteration_time=0s@1": "between",
    "predict --anchor samples_per_second=0@1": "between",
    "predict --anchor iteration_time=145GB@1": "not a time",
    "predict --anchor iteration_time=1e300@1": "between",
    "predict --anchor samples_per_second=220ms@1": "not a rate",
    "predict --servers 2": "parameter-server",
    "predict --gpus 16 --strategy data-parallel-single-process": "one machine",
    "predict --gpus 8 --strategy data-parallel-single-process --overlap wfbp": "single process",
    "predict --gpus 8 --accelerators-per-node 9 --node dgx-1v": "dgx-1v has 8",
    "predict --workload resnet50 --sequence-length 5": "takes no sequences",
    "predict --input real --storage floppy": "local-ssd",
    "predict --scenario /nowhere.toml": "cannot be read",
    "predict --specs /nowhere": "no such file or folder",
    "stragglers --interval 5s": "--interval goes with --adaptive",
    "predict --algorithm nvls --gpus 8 --accelerator k80": "unknown algorithm",
    "predict --gpsu 3": "--gpus",
    "predict --gpus 16 --intra-link pcie3": "fits pcie3-switch (PCIe 3 x16 below one switch) and pcie3-x16",
    "predict --node dgx-1": "fits dgx-1p (NVIDIA DGX-1 (P100)) and dgx-1v (NVIDIA DGX-1 (V100 16 GB))",
    "predict --local-batch-size 0": "whole number from 1",
    "predict --local-batch-size 1.5": "whole number from 1",
    "predict --global-batch-size -8": "whole number from 1",
    "predict --accumulation-steps 0": "whole number from 1",
    "predict --gpus ٣٫٥": "whole number from 1",
    "predict --gpus 4 --global-batch-size 3": "4 would",
    "predict --scenario ''": "names no file",
    "predict --workload missing.onnx": "no such file",
    "predict --workload missing/config.json": "no such file",
    "predict --gpus 8 --jitter lognormal:cv=1e300": "between 1e-30 and 1e30",
    "predict --gpus 8 --jitter lognormal:cv=1e9": "at most 1e6",
    "predict --gpus 8 --jitter gamma:shape=1e-5": "at least 0.02",
    "predict --gpus 8 --jitter exponential:rate=1e-300": "between 1e-30 and 1e30",
    "validate --data /nowhere.csv": "/nowhere.csv",
    "validate --report /nowhere/report.md": "cannot be written",
    "predic": "nearest: predict",
    "scale --gpus 1,x": "1,2,4,8 or 1-8",
    "scale --gpus 8-1": "rising",
    "scale --accelerator v100,a100": "one goes here, not a list: compare and sweep take several",
    "scale --local-batch-size 32,64": "one goes here, not a list: scale takes --gpus 8,16",
    "diagnose --measured 400": "say 400ms or 400s",
    "scale --json --csv": "one of them",
    "specs show v101": "unknown spec",
    "specs list cpus": "accelerators",
    "workloads show resnt50": "nearest: resnet50",
    "collective --ranks 8 --size 10kg --link pcie3-x16": "100MB",
    "collective --ranks 8 --size 1GB..1MB --link pcie3-x16": "smaller first",
    "collective --ranks 9 --nodes 2 --size 1MB --link pcie3-x16 --inter-link ib-edr-100g": "evenly",
    "collective --ranks 8 --nodes 2 --size 1MB --link pcie3-x16": "--inter-link",
    "collective --ranks 8 --size 1MB --link pcie3-x16 --algorithm nvls": "reducing switch",
    "collective --ranks 8 --size 1MB --link pcie3-x16 --algorithm rng": "ring",
    "collective --size 1MB --link pcie3-x16": "--ranks",
    "predict --gpus 8 --jitter lognormal:cv=-1": "cv",
    "predict --gpus 8 --jitter pareto:scale=1,shape=0.5": "does not exist",
    "predict --gpus 8 --jitter empirical:/nowhere": "/nowhere",
    "stragglers --variant k-sync --workers 16 --k 20": "at most 16",
    "stragglers --variant sync --workers 4 --k 2": "has --k 4",
    "stragglers --variant k-batch-sync --k 0": "whole number",
    "stragglers --distribution exponential --param rate=-1": "positive",
    "stragglers --distribution exponential --param rate": "NAME=VALUE",
    "stragglers --distribution expontial --param rate=1": "nearest: exponential",
    "stragglers --variant sync --distribution pareto:scale=1,shape=0.9": "does not exist",
    "stragglers --order-statistic 5:4": "1 <= k <= n",
    "stragglers --order-statistic five": "K:N",
    "stragglers --order-statistic 5:8 --k 3": "leave --k out",
    "stragglers --order-statistic 5:8 --curve": "leave --curve out",
    "stragglers --variant gossip": "k-sync",
    "stragglers --variant sync --server-time 1s": "async",
    "stragglers --curve --learning-rate 0": "above 0",
    "compression --scheme topq": "nearest: topk",
    "compression --scheme topk:2": "from 1e-06 to 1",
    "compression --scheme powersgd:1.5": "whole number from 1 to 256",
    "compression --scheme fp16:2": "takes no parameter",
    "compression --gpus 1": "from 2 to",
    "compression --gradient-size 1kg": "100MB",
    "compression --gradient-size 1B": "4.1 kB to 10 TB",
    "downpour --replicas 10 --lost 10": "fewer than the 10 replicas",
    "downpour --replica-machines 8": "go together",
    "downpour --replica-model vision --replica-machines 8": "speech",
    "downpour --step-time 2": "has no unit",
    "downpour --push-every 0": "whole number from 1",
    "downpour --inter-link edr": "nearest: ib-edr-100g",
    "model-parallel --point 8": "8:2.2",
    "model-parallel --point 8:9": "from 1 to as many",
    "model-parallel --point 8:6 --peak": "4.27 at most",
    "model-parallel --peak": "goes with --point",
    "learning-rate --global-batch-size 0": "whole number from 1",
    "learning-rate --global-batch-size 512 --base -1": "above 0",
    "learning-rate --global-batch-size 512 --staleness -1": "from 0",
    "learning-rate --global-batch-size 512 --squared-distance 1": "give both",
    "learning-rate --global-batch-size 512 --warm-up-epochs 1e9": "1000",
    "stragglers --curve --variant local-sgd": "no bound is known for local-sgd",
}


def refused(words: list[str]) -> str:
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2, (result.exit_code, result.output, result.exception)
    assert not result.stdout
    lines = result.stderr.splitlines()
    assert 1 <= len(lines) <= 2, result.stderr
    assert "Traceback" not in result.stderr
    return result.stderr


@pytest.mark.parametrize(("line", "told"), WRONG.items())
def test_a_mistake_is_named_with_what_would_be_right(line, told):
    assert told in refused([word.strip("'") for word in line.split()])


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("x = = 1", "not TOML"),
        ('wrkload = "alexnet"', "nearest: workload"),
        ("world_size = 2.5", "world_size = 2.5"),
        ("world_size = -1", "greater than or equal to 1"),
        ('strategy = "gossip"', "all-reduce"),
        ("workload = 7", "workload = 7: expected text"),
        ("gpus = nan", "expected a whole number"),
        ("gpus = true", "expected a whole number"),
        ("gpus = 0", "greater than or equal to 1"),
        ("gpus = 4\nworld-size = 8", "give one"),
        ("gpus = 4\nglobal-batch-size = 6", "4 or 8 would"),
        ("local-aggregation = 'maybe'", "expected true or false"),
        ("local-batch-size = 8\nglobal-batch-size = 8", "give one"),
        ('[plan]\nstrategy = "all-reduce"', "unknown option 'plan'"),
        (f"gpus = {'9' * 5000}", "not TOML"),
        (f"gpus = {'[' * 100_000}", "not TOML"),
        ('workload = "a\\u0000.csv"', "cannot be read"),
        ('gpus = 2\njitter = "empirical:a\\u0000"', "cannot be read"),
    ],
)
def test_a_scenario_file_is_checked(tmp_path, content, told):
    file = tmp_path / "job.toml"
    file.write_text(content)
    assert told in refused(["predict", "--scenario", str(file)])


def test_files_that_are_something_else(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"\x00\xff not a model")
    (tmp_path / "config.json").write_text("{")
    (tmp_path / "layers.csv").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "job.toml").write_bytes(b"\xff\xfe\x00")
    for name in ("model.onnx", "config.json", "layers.csv"):
        assert name in refused(["predict", "--workload", str(tmp_path / name)])
    assert "job.toml" in refused(["predict", "--scenario", str(tmp_path / "job.toml")])
    assert "cannot be read" in refused(["predict", "--scenario", str(tmp_path)])
    assert refused(["predict", "--workload", str(tmp_path)])
    (tmp_path / "folder.csv").mkdir()
    assert "folder.csv: cannot be read: is a folder" in refused(
        ["predict", "--workload", str(tmp_path / "folder.csv")]
    )
    assert refused(["predict", "--workload", str(tmp_path / "missing.onnx")])


DIGITS, LONG = "9" * 5000, "a" * 5000
"""More digits than Python reads, and a name too long for any file."""


@pytest.mark.parametrize(
    "words",
    [
        ["predict", "--gpus", DIGITS],
        ["predict", "--local-batch-size", DIGITS],
        ["predict", "--anchor", f"iteration_time=1s@{DIGITS}"],
        ["predict", "--anchor", f"iteration_time={DIGITS}s@1"],
        ["scale", "--gpus", DIGITS],
        ["scale", "--gpus", f"1-{DIGITS}"],
        ["collective", "--size", "1MB", "--link", "pcie3-x16", "--ranks", DIGITS],
        ["collective", "--ranks", "8", "--link", "pcie3-x16", "--size", DIGITS],
        ["stragglers", "--order-statistic", f"1:{DIGITS}"],
        ["predict", "--scenario", LONG],
        ["predict", "--specs", LONG],
        ["predict", "--workload", LONG],
        ["predict", "--workload", f"{LONG}.csv"],
        ["predict", "--workload", f"{LONG}/x.onnx"],
        ["predict", "--gpus", "2", "--jitter", f"empirical:{LONG}"],
        ["validate", "--data", LONG],
        ["predict", "--scenario", "a\nb\nc"],
        ["predict", "--workload", "a\nb\nc"],
    ],
    ids=lambda words: " ".join(words)[:40],
)
def test_what_no_one_types_is_refused_as_well(words):
    assert refused(words)


@pytest.mark.parametrize("content", [f"x = {'[' * 100_000}", f"x = {DIGITS}", "x = = 1", 'id = "k81"', ""])
def test_a_spec_file_that_is_none_is_refused(tmp_path, content):
    (tmp_path / "k80.toml").write_text(content)
    assert "k80.toml" in refused(["predict", "--accelerator", "k80", "--specs", str(tmp_path)])


def test_numbers_that_overflow_on_the_way_are_refused_and_not_warned_of(tmp_path):
    text = (folder("hardware_specs") / "accelerators" / "k80.toml").read_text()
    (tmp_path / "k80.toml").write_text(re.sub(r"value = \S+", "value = 1e-300", text))
    assert "absurd" in refused(["predict", "--accelerator", "k80", "--specs", str(tmp_path)])


def test_a_spec_that_names_nothing_known_is_refused(tmp_path):
    text = (folder("hardware_specs") / "accelerators" / "k80.toml").read_text()
    (tmp_path / "k80.toml").write_text(text.replace('usual_node = "aws-p2', 'usual_node = "aws-q2'))
    told = refused(["predict", "--accelerator", "k80", "--specs", str(tmp_path)])
    assert "nearest: aws-p2.8xlarge" in told


@pytest.mark.parametrize("value", ["nan", "inf", "-1.0", "0.0", '"900 GB/s"', "true"])
def test_a_spec_with_an_absurd_number_is_refused(tmp_path, value):
    text = (folder("hardware_specs") / "accelerators" / "k80.toml").read_text()
    head, _, tail = text.partition("[memory_bandwidth]\nvalue = ")
    (tmp_path / "k80.toml").write_text(
        f"{head}[memory_bandwidth]\nvalue = {value}\n{tail.partition(chr(10))[2]}"
    )
    told = refused(["predict", "--accelerator", "k80", "--specs", str(tmp_path)])
    assert "k80.toml" in told
    assert "memory_bandwidth" in told


@pytest.mark.parametrize(
    ("content", "told"), [("", "empty"), ("0.1\n-0.2\n", "-0.2"), ("0.1\nfast\n", "fast"), ("nan\n", "nan")]
)
def test_a_sample_file_is_checked(tmp_path, content, told):
    (tmp_path / "times.txt").write_text(content)
    refusal = refused(["stragglers", "--distribution", f"empirical:{tmp_path / 'times.txt'}"])
    assert "times.txt" in refusal
    assert told in refusal or told == "empty"


@given(st.lists(st.text(max_size=12), max_size=4))
def test_any_words_end_in_an_answer_or_a_refusal(words):
    result = CliRunner().invoke(main, ["predict", *words])
    assert result.exit_code in (0, 2), result.exception
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("predict --workload resnt50", "perfmodel: unknown workload 'resnt50'; nearest: resnet50"),
        ("predict --gpus 0", "try: perfmodel predict --help"),
        ("predict --gpus 4 --global-batch-size 10", "perfmodel: a global batch of 10 does not divide"),
        ("predict --accelerator k80 --specs {overflow}", "absurd number"),
        ("predict --workload {junk}", "junk.onnx"),
    ],
)
def test_a_real_process_exits_with_2_and_prints_no_traceback(line, told, tmp_path):
    text = (folder("hardware_specs") / "accelerators" / "k80.toml").read_text()
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "k80.toml").write_text(re.sub(r"value = \S+", "value = 1e-300", text))
    (tmp_path / "junk.onnx").write_bytes(b"\x00\xff not a model")
    words = line.format(overflow=tmp_path / "specs", junk=tmp_path / "junk.onnx").split()
    program = Path(sys.executable).with_name("perfmodel")
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert told in done.stderr
    assert 1 <= len(done.stderr.splitlines()) <= 2


LONG = "y" * 50_000
MESSAGES = [
    ("stragglers", "--workers", "4", "--distribution", "empirical:long.csv"),
    ("predict", "--workload", LONG),
    ("predict", "--gpus", LONG),
    ("predict", "--overlap", LONG),
    ("predict", "--anchor", LONG),
    ("predict", f"--{LONG}", "3"),
    ("predict", LONG),
    ("predict", "--scenario", f"{LONG}.toml"),
    ("compare", "--set", f"gpus={LONG}"),
    ("plan", "--have", LONG),
    ("check-quote", "long.toml"),
]


@pytest.mark.parametrize("words", MESSAGES, ids=lambda words: " ".join(word[:12] for word in words))
def test_a_message_repeats_no_more_than_two_hundred_letters_at_once(words, tmp_path, monkeypatch, invoke):
    monkeypatch.chdir(tmp_path)
    Path("long.csv").write_text(f"1.0\n2.0, {LONG}\n")
    Path("long.toml").write_text(f'title = "t"\n[[claims]]\nquantity = "mfu"\nvalue = "{LONG} {LONG}"\n')
    done = invoke(*words)
    assert done.exit_code == 2
    assert len(done.stderr) < 1000
    assert max(map(len, re.findall("[y. ]+", done.stderr))) <= 200 + len(".toml")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("1.0\n2.0, soon\n", "line 2, column 6"),
        ("# seconds\nstep,time\n1,1.0\n\n2,soon\n", "line 5, column time"),
    ],
)
def test_a_wrong_time_is_found_by_its_line_and_column(text, place, tmp_path, monkeypatch, invoke):
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text(text)
    done = invoke("stragglers", "--workers", "4", "--distribution", "empirical:mine.csv")
    assert f"mine.csv, {place} must be a finite number, not 'soon'" in done.stderr
