"""What text says first and last: memory that lacks, defaults that decide, times that are nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from perfmodel.core.units import shown_part
from perfmodel.interfaces.cli import main
from perfmodel.interfaces.cli.trace_render import show_difference
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict

LARGE = ("--workload", "llama-3-8b", "--gpus", "8", "--sequence-length", "2048")
"""More than 8 V100 hold."""


def text(*words: str) -> list[str]:
    result = CliRunner().invoke(main, list(words))
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def test_a_job_that_does_not_fit_says_so_first_and_claims_no_throughput():
    memory = predict(Scenario(workload="llama-3-8b", world_size=8, sequence_length=2048)).memory
    line = f"DOES NOT FIT: {memory.bytes / 2**30:.1f} of {memory.capacity / 2**30:.1f} GiB per accelerator"
    said = text("predict", *LARGE)
    assert said[0].startswith("It does not fit: ")
    needed = f"{memory.bytes / 2**30:.1f}"
    assert sum(needed in row for row in said) == 2  # in the advice and the row of memory
    assert any("iteration, if it fitted" in row for row in said)
    marked = text("predict", *LARGE, "--markdown")
    assert marked[0].startswith("**It does not fit: ")
    for row in (
        *said,
        *marked,
        *str(predict(Scenario(workload="llama-3-8b", world_size=8, sequence_length=2048))).splitlines(),
    ):
        assert not any(word in row for word in ("throughput", "MFU", "sequences/s", "tokens/s", "speed-up"))
    answer = json.loads("\n".join(text("predict", *LARGE, "--json")))
    assert {"samples_per_second", "mfu", "speedup"} <= answer.keys()
    assert text("scale", *LARGE)[1] == line
    assert not any("FIT" in row for row in text("predict", "--gpus", "8"))


def test_a_table_says_which_numbers_of_accelerators_do_not_fit():
    job = {"workload": "llama-3-8b", "node": "dgx-h100", "sharding": "zero3", "micro_batch_size": 2}
    words = [f"--{name.replace('_', '-')}={value}" for name, value in job.items()] + ["--gpus", "2,4,64"]
    said = predict(Scenario(**job, world_size=2)).memory.verdict
    assert said.startswith("fits with probability")
    assert text("scale", *words)[1].startswith(said.upper())
    assert "per accelerator at 2 GPUs, 120.2 at 4 GPUs" in " ".join(" ".join(text("scale", *words)).split())
    assert f"on 2 GPUs it {said}" in " ".join(" ".join(text("scale", *words)).split())


def test_a_report_says_first_that_a_job_does_not_fit(tmp_path):
    text("predict", *LARGE, "--report", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    assert page.index("It does not fit") < page.index("-bound: ")


def test_a_table_names_its_links_and_adapters():
    words = ("--node", "dgx-a100-80gb", "--gpus", "8,64")
    line = "NVLink 3 through NVSwitch inside, 8 x InfiniBand HDR 200 Gbit/s between"
    assert line in text("scale", *words)
    assert line in " ".join(" ".join(text("predict", *words[:2], "--gpus", "64")).split())


@pytest.mark.parametrize(("network", "tokens"), [("bert-large", 128), ("llama-3-8b", 8192)])
def test_tokens_of_a_sample_are_a_default_where_nobody_says_them(network, tokens):
    assert f"--sequence-length {tokens}" in predict(Scenario(workload=network)).defaults
    said = predict(Scenario(workload=network, sequence_length=tokens)).defaults
    assert not any(option.startswith("--sequence-length") for option in said)


def test_images_have_no_tokens_by_default():
    assert not any(option.startswith("--sequence-length") for option in predict(Scenario()).defaults)


def test_adapters_taken_for_a_link_that_was_asked_for_are_a_default():
    asked = {"node": "dgx-a100-80gb", "world_size": 16}
    assert "--nics 8" in predict(Scenario(**asked, inter_link="ib-hdr-200g")).defaults
    for said in (asked, {**asked, "inter_link": "ib-hdr-200g", "nics": 8}, {**asked, "world_size": 8}):
        assert not any(option.startswith("--nics") for option in predict(Scenario(**said)).defaults)


def test_what_rounding_leaves_is_shown_as_nothing():
    words = ("--workload", "llama-3-8b", "--lora", "16", "--node", "dgx-h100", "--gpus", "8")
    left = json.loads("\n".join(text("predict", *words, "--json")))["traffic"][0]["exposed_time"]
    assert 0 < left < 1e-9  # else this asks nothing
    assert not any(" ns" in row for row in text("predict", *words))
    compared = text("compare", *words, "--set", "gpus=16")
    assert not any(" ns" in row for row in compared)
    assert [shown_part(time, 0.1) for time in (-2.8e-17, 1e-9, -0.01)] == ["0 s", "1 ns", "-10 ms"]


def test_a_difference_that_rounding_leaves_is_none(capsys):
    rows = [("iteration_time", 0.25, 0.2), ("idle_time", 2.78e-17, 0.0), ("input_time", 0.1, 0.1 - 2.78e-17)]
    show_difference(
        [
            {"part": part, "first": one, "second": two, "difference": two - one, "ratio": two / one}
            for part, one, two in rows
        ]
    )
    shown = [line.split("  ") for line in capsys.readouterr().out.splitlines()]
    cells = {line[0].strip(): [cell.strip() for cell in line[1:] if cell.strip()] for line in shown}
    assert cells["iteration time"] == ["250 ms", "200 ms", "-50 ms", "0.80"]
    assert cells["idle"] == ["0 s", "0 s", "0 s", "-"]


def test_the_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "perfmodel", "predict", "--gpus", "0"],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )
    assert done.returncode == 2
    assert "perfmodel: " in done.stderr
    assert "perfmodel predict --help" in done.stderr or "--gpus" in done.stderr
