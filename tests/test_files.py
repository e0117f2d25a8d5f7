"""Files that users name: every option refuses what is no ordinary file, at once and in a line."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from perfmodel.core.errors import InputError
from perfmodel.core.files import reading
from perfmodel.core.files.reading import LARGEST_OPTIONS, MOST_ROWS, read_json, read_text, read_toml

OPTIONS = {
    "predict --scenario {}": ".toml",
    "predict --workload {}": ".json",
    "predict --workload  {}": ".onnx",
    "predict --workload   {}": ".csv",
    "predict --profile {}": ".toml",
    "predict --specs {} --accelerator k80": ".toml",
    "predict --gpus 2 --jitter empirical:{}": ".txt",
    "stragglers --distribution empirical:{}": ".txt",
    "sweep --scenario {}": ".toml",
    "scale --scenario {}": ".toml",
    "plan --scenario {}": ".toml",
    "compare {} {}": ".toml",
    "compare  {} {}": ".json",
    "compare --compare-to {}": ".json",
    "check-quote {}": ".toml",
    "calibrate --times {}": ".csv",
    "calibrate --trace {}": ".json",
    "calibrate --data {} --output fit.json": ".csv",
    "calibrate --check --output {}": ".json",
    "validate --data {}": ".csv",
    "validate --kind collectives --data {}": ".csv",
    "validate --kind mlperf --data {}": ".csv",
    "trace summary {}": ".json",
    "trace diff {} {}": ".sqlite",
    "specs list --specs {}": ".toml",
    "specs show k80 --specs {}": ".toml",
    "workloads show {}": ".json",
}
"""Commands that read a file, and the ending of its name."""


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    """A reader that waits for a pipe, or reads a device without end, fails and holds nothing up."""
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("still reading after a minute"))
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(params=["device", "pipe", "folder"])
def odd(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A path that is there and no file; a reader that opens it waits, or never ends."""
    path = tmp_path / "odd"
    if request.param == "device":
        path.symlink_to("/dev/zero")
    elif request.param == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    return path


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no devices and pipes of Unix")
@pytest.mark.parametrize("line", OPTIONS)
def test_no_option_reads_a_device_a_pipe_or_a_folder(line, odd, invoke, monkeypatch, tmp_path):
    path = odd.rename(tmp_path / f"odd{OPTIONS[line]}")
    monkeypatch.chdir(tmp_path)
    if "fit" in line or "--check" in line:  # the file is read before anything is fitted
        monkeypatch.setattr(
            "perfmodel.evidence.fitting.out_of_sample.shipped", lambda: pytest.fail("fitted first")
        )
    done = invoke(*line.format(path, path).split())
    assert done.exit_code == 2, (done.stdout, done.exception)
    assert f"odd{OPTIONS[line]}" in done.stderr
    assert len(done.stderr.splitlines()) <= 2
    assert not done.stdout


def test_a_link_to_a_device_in_a_folder_of_specs_is_refused(tmp_path, invoke):
    for folder in (tmp_path, tmp_path / "accelerators"):
        folder.mkdir(exist_ok=True)
        (folder / "k80.toml").symlink_to("/dev/zero")
        for words in (["specs", "list"], ["specs", "check"], ["predict", "--accelerator", "k80"]):
            done = invoke(*words, "--specs", tmp_path)
            assert done.exit_code in (0, 2), done.exception  # a list names files that it does not open
            assert done.exit_code == 0 or "k80.toml" in done.stderr


@pytest.mark.parametrize("read", [read_toml, lambda path: read_json(path, LARGEST_OPTIONS)])
def test_larger_files_than_anybody_writes_are_refused_unread(read, tmp_path):
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(LARGEST_OPTIONS + 1)
    with pytest.raises(InputError, match=f"262,145 bytes; at most {LARGEST_OPTIONS:,} are read"):
        read(path)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="no /proc")
def test_files_of_the_system_without_a_size_are_bounded_too(monkeypatch):
    monkeypatch.setattr(reading, "LARGEST_TEXT", 10)
    with pytest.raises(InputError, match="at most 10 are read"):
        read_text("/proc/self/status", 10)
    with pytest.raises(InputError, match="cannot be read"):
        read_text("/proc/self/mem")


def test_text_of_another_encoding_is_refused_with_the_place(tmp_path):
    (tmp_path / "latin").write_bytes("naïve".encode("latin-1"))
    with pytest.raises(InputError, match="not UTF-8 text: byte 3"):
        read_text(tmp_path / "latin")
    (tmp_path / "marked").write_bytes(b"\xef\xbb\xbfx = 1")
    assert read_toml(tmp_path / "marked") == {"x": 1}


@pytest.mark.parametrize(
    "text",
    [
        "a." * 100_000 + "a = 1",
        "[" + "a." * 100_000 + "a]",
        "x = {y = 1, " + "a . " * 60_000 + "a = 1}",
        "x = {" + '"a=\\"" .\t' * 20_000 + "a = 1}",
        "'a'." * 60_000 + "a = 1",
        "x = " + "{a = " * 40_000,
        "x = " + "[" * 100_000,
        "x = [" + "1," * 130_000 + "]",
        "\n".join(f"[t{number}]" for number in range(20_000)),
    ],
    ids=["key", "heading", "inline", "quoted", "single quotes", "tables", "arrays", "long array", "headings"],
)
def test_toml_takes_seconds_at_most(text, tmp_path):
    (tmp_path / "x.toml").write_text(text)
    start = time.process_time()
    try:
        read_toml(tmp_path / "x.toml")
    except InputError as error:
        assert "nested more than 64 deep" in str(error)  # noqa: PT017
    assert time.process_time() - start < 20


@pytest.mark.parametrize("depth", [64, 500, 900, 100_000])
def test_json_is_not_nested_deeper_than_anything_of_ours(depth, tmp_path):
    (tmp_path / "x.json").write_text("[" * depth + "]" * depth)
    if depth == 64:
        assert read_json(tmp_path / "x.json", LARGEST_OPTIONS)
        return
    with pytest.raises(InputError, match="nested more than 64 deep"):
        read_json(tmp_path / "x.json", LARGEST_OPTIONS)


@pytest.mark.parametrize("kind", ["bert", "gpt2", "llama"])
def test_a_network_of_a_million_layers_is_refused_at_once(kind, tmp_path, invoke):
    sizes = {"hidden_size": 8, "num_attention_heads": 1, "intermediate_size": 8, "vocab_size": 8}
    sizes |= {"n_embd": 8, "n_head": 1, "n_positions": 8, "max_position_embeddings": 8}
    layers = {"num_hidden_layers": 10**6, "n_layer": 10**6}
    (tmp_path / "config.json").write_text(json.dumps({"model_type": kind, **sizes, **layers}))
    done = invoke("predict", "--workload", tmp_path)
    assert done.exit_code == 2
    assert "is 1000000; expected a whole number above 0, at most 10,000" in done.stderr


@pytest.mark.parametrize("kind", ["training", "collectives", "mlperf"])
def test_a_table_of_a_million_rows_is_refused_at_once(kind, tmp_path, invoke):
    (tmp_path / "runs.csv").write_text("a,b\n" + "1,2\n" * 10**6)
    done = invoke("validate", "--kind", kind, "--data", tmp_path / "runs.csv", "--json")
    assert done.exit_code == 2
    assert f"1,000,001 lines; at most {MOST_ROWS:,} are read" in done.stderr
