"""Profiler files in every schema, read from synthetic traces; the real ones where they are there."""

from __future__ import annotations

import contextlib
import csv
import gzip
import json
import os
import random
import re
import sqlite3
import time
import zlib
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel import InputError, Scenario, predict
from perfmodel.core.units import per_cent
from perfmodel.decide.sweeps import sweep
from perfmodel.evidence.traces import json_stream, nsight
from perfmodel.evidence.traces.device_trace import intervals, length, overlap, union
from perfmodel.evidence.traces.emulate import Emulator
from perfmodel.evidence.traces.kineto import MOST_DEVICES, read_kineto
from perfmodel.evidence.traces.nccl_tests import read_nccl_tests
from perfmodel.evidence.traces.public_traces import COLUMNS, predicted_of, rows_of, section
from perfmodel.evidence.traces.read import files_of, read_trace
from perfmodel.evidence.traces.step_times import read_step_times
from perfmodel.evidence.traces.summary import summary
from perfmodel.evidence.traces.timeline import MOST_RANKS, write_timeline
from perfmodel.evidence.traces.traced_job import accelerators_called
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.cli import main
from perfmodel.model.setting.profile import read_profile, to_toml
from perfmodel.model.step.terms import of_kind, only_kind, only_of, sent

SHARED = Path(__file__).parents[1].parent / "shared" / "traces"
real = pytest.mark.skipif(not SHARED.exists(), reason="the public traces are not here")
read_once = cache(read_trace)
"""For the public traces, of which several tests look at each."""


def event(name, category, start, duration, **more):
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "ts": start,
        "dur": duration,
        "pid": 0,
        "tid": 7,
        **more,
    }


def kernel(name, start, duration, device=0, **arguments):
    return event(name, "kernel", start, duration, args={"device": device, "stream": 7, **arguments})


NCCL = "ncclKernel_AllReduce_RING_LL128_Sum_float(ncclDevComm*)"
STEP = [
    event("ProfilerStep#1", "user_annotation", 0, 1000, pid=4242),
    event("enumerate(DataLoader)#_Single.__next__", "user_annotation", 0, 100, pid=4242),
    event("Memcpy HtoD (Pinned -> Device)", "gpu_memcpy", 50, 40, args={"device": 0}),
    kernel("sgemm", 100, 300),
    kernel("relu", 350, 150),
    kernel(
        NCCL,
        450,
        250,
        **{"In msg nelems": 1000, "dtype": "Float", "Group size": 2, "Collective name": "allreduce"},
    ),
    event("ProfilerStep#2", "user_annotation", 1000, 1000, pid=4242),
    kernel("sgemm", 1100, 400),
]
HEADER = {
    "schemaVersion": 1,
    "deviceProperties": [{"id": 0, "name": "Tesla V100-SXM2-32GB"}],
    "distributedInfo": {"rank": 1, "world_size": 2},
}


def trace(path, events=STEP, header=HEADER, packed=False):
    text = json.dumps({**header, "traceEvents": events}).encode()
    path.write_bytes(gzip.compress(text) if packed else text)
    return path


def cli(*words):
    return CliRunner().invoke(main, ["trace", *map(str, words)])


# --- intervals


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 9)), max_size=12))
def test_union_is_that_of_the_points(pairs):
    spans = intervals((float(a), float(a + b)) for a, b in pairs)
    covered = {x for a, b in pairs for x in range(a, a + b)}
    assert length(spans) == len(covered)
    merged = union(spans)
    assert all(merged[i, 1] < merged[i + 1, 0] for i in range(len(merged) - 1))


@given(*[st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)), max_size=8)] * 2)
def test_overlap_is_that_of_the_points(first, second):
    sides = [intervals((float(a), float(a + b)) for a, b in pairs) for pairs in (first, second)]
    points = [{x for a, b in pairs for x in range(a, a + b)} for pairs in (first, second)]
    assert overlap(*sides) == len(points[0] & points[1])


# --- Kineto


@pytest.mark.parametrize("packed", [False, True])
def test_kineto_is_summed_by_hand(tmp_path, packed):
    """Kernels 100-400, 350-500, 1100-1500 compute 800 us; the all-reduce 450-700 runs 50 us beside them."""
    device = summary(read_kineto(trace(tmp_path / "t.json", packed=packed)))["devices"][0]
    assert device["totals"]["compute_time"] == pytest.approx(800e-6)
    assert device["totals"]["communication_time"] == pytest.approx(250e-6)
    assert device["totals"]["overlap_time"] == pytest.approx(50e-6)
    assert device["totals"]["span"] == pytest.approx(1400e-6)
    assert (device["rank"], device["world_size"], device["steps"]) == (1, 2, 2)
    assert device["iteration_time"] == pytest.approx(1e-3)
    assert device["per_step"]["input_time"] == pytest.approx(50e-6)
    assert device["per_step"]["copy_time"] == pytest.approx(20e-6)
    only = device["collectives"][0]
    assert (only["collective"], only["algorithm"], only["protocol"]) == ("all-reduce", "ring", "ll128")
    assert only["message_bytes"] == 4000
    assert only["bus_bandwidth"] == pytest.approx(4000 / 250e-6)


def test_kernels_belong_to_the_pass_that_launched_them(tmp_path):
    def launch(at, correlation):
        return event("cudaLaunchKernel", "cuda_runtime", at, 1, args={"correlation": correlation})

    events = [
        launch(0, 1),
        event("autograd::engine::evaluate_function: MulBackward0", "cpu_op", 10, 10, tid=9),
        launch(15, 2),
        event("Optimizer.step#SGD.step", "user_annotation", 30, 10),
        launch(35, 3),
        kernel("a", 100, 10, correlation=1),
        kernel("b", 120, 20, correlation=2),
        kernel("c", 150, 40, correlation=3),
    ]
    device = summary(read_kineto(trace(tmp_path / "t.json", events)))["devices"][0]
    assert device["passes"] == pytest.approx(
        {"forward_time": 10e-6, "backward_time": 20e-6, "update_time": 40e-6}
    )


def test_old_schema_and_amd_are_read(tmp_path):
    events = [
        event("ProfilerStep#5", "Operator", 0, 900),
        event("k", "Kernel", 10, 100, args={"device": 3}),
        event("rcclGenericKernel(x)", "Kernel", 200, 50, args={"device": 3}),
        event("Memcpy HostToDevice", "Memcpy", 0, 5, args={"device": 3}),
        {"ph": "i", "name": "[memory]", "ts": 1, "args": {"Device Type": 1, "Total Allocated": 123456}},
    ]
    (found,) = read_kineto(trace(tmp_path / "t.json", events, {}))
    assert (found.device, found.accelerator, found.rank) == (3, None, None)
    assert length(found.communication) == pytest.approx(50e-6)
    assert found.peak_memory == 123456


def test_a_list_of_events_is_a_trace(tmp_path):
    (tmp_path / "t.json").write_text(json.dumps(STEP))
    assert len(read_kineto(tmp_path / "t.json")) == 1


def test_kernels_outside_the_marks_are_of_no_step(tmp_path):
    """900 ms of setting up, then two steps of 100 ms with 30 ms of kernels each."""
    events = [kernel("init", 0, 900_000)]
    for start in (1_000_000, 1_100_000):
        events += [
            event("ProfilerStep#1", "user_annotation", start, 100_000),
            kernel("k", start + 10_000, 30_000),
        ]
    device = summary(read_kineto(trace(tmp_path / "t.json", events)))["devices"][0]
    assert device["totals"]["compute_time"] == pytest.approx(0.96)
    assert device["per_step"]["compute_time"] == pytest.approx(0.03)
    assert device["utilisation"] == pytest.approx(0.3)
    assert device["verdict"] == "host-bound"


def test_a_mark_of_no_length_marks_no_step(tmp_path):
    path = trace(tmp_path / "t.json", [event("ProfilerStep#1", "user_annotation", 0, 0), kernel("k", 1, 5)])
    assert summary(read_kineto(path))["devices"][0]["steps"] == 0
    assert cli("summary", path).exit_code == 0
    assert cli("summary", path, "--json").exit_code == 0


def test_steps_can_be_skipped(tmp_path):
    device = summary(read_kineto(trace(tmp_path / "t.json")), skip=1)["devices"][0]
    assert device["steps"] == 1
    assert device["totals"]["compute_time"] == pytest.approx(400e-6)


def test_over_ranks_the_least_time_is_the_wires(tmp_path):
    for rank, duration in ((0, 250), (1, 100)):
        events = [kernel("sgemm", 0, 10), kernel(NCCL, 20, duration)]
        trace(tmp_path / f"rank{rank}.json", events, {"distributedInfo": {"rank": rank, "world_size": 2}})
    found = [one for path in files_of([str(tmp_path)]) for one in read_trace(path)]
    (row,) = summary(found)["collectives"]
    assert row["wire_time"] == pytest.approx(100e-6)
    assert row["waiting_time"] == {"0": pytest.approx(150e-6), "1": 0}


def test_over_ranks_like_is_set_beside_like(tmp_path):
    """Messages of 4 and 36 kB that come in another order; one that only one rank has."""

    def message(at, duration, elements):
        return kernel(NCCL, at, duration, **{"In msg nelems": elements, "dtype": "Float", "Group size": 2})

    orders = ([(1000, 10), (9000, 20), (77, 5)], [(9000, 30), (1000, 40)])
    for rank, order in enumerate(orders):
        events = [message(100 * n, long, size) for n, (size, long) in enumerate(order)]
        trace(tmp_path / f"q{rank}.json", events, {"distributedInfo": {"rank": rank, "world_size": 2}})
    found = [one for path in files_of([str(tmp_path)]) for one in read_trace(path)]
    told = {
        row["message_bytes"]: [1e6 * row["wire_time"], 1e6 * row["waiting_time"]["1"]]
        for row in summary(found)["collectives"]
    }
    assert told == {4000: pytest.approx([10, 30]), 36000: pytest.approx([20, 10])}


@pytest.mark.parametrize("ranks", [None, 0])
def test_ranks_that_do_not_say_theirs_are_told_apart(tmp_path, ranks):
    for index in range(3):
        header = {} if ranks is None else {"distributedInfo": {"rank": ranks}}
        trace(tmp_path / f"r{index}.json", [kernel(NCCL, 0, 100 * (index + 1))], header)
    found = [one for path in files_of([str(tmp_path)]) for one in read_trace(path)]
    (row,) = summary(found)["collectives"]
    assert {name: round(1e6 * time) for name, time in row["waiting_time"].items()} == {
        "r0.json": 0,
        "r1.json": 100,
        "r2.json": 200,
    }


@pytest.mark.parametrize(
    ("events", "verdict"),
    [
        (
            [event("enumerate(DataLoader)#x.__next__", "user_annotation", 0, 400), kernel("k", 400, 590)],
            "input-bound",
        ),
        ([kernel("k", 0, 980)], "compute-bound"),
        ([kernel("k", 0, 300)], "host-bound"),
        ([kernel("k", 0, 500), kernel(NCCL, 500, 480)], "communication-bound"),
    ],
)
def test_verdicts(tmp_path, events, verdict):
    step = event("ProfilerStep#1", "user_annotation", 0, 1000)
    device = summary(read_kineto(trace(tmp_path / "t.json", [step, *events])))["devices"][0]
    assert device["verdict"] == verdict


def test_json_events_may_be_cut_by_a_piece_anywhere(tmp_path, monkeypatch):
    whole = read_kineto(trace(tmp_path / "t.json"))[0]
    for size in (1, 2, 7, 64):
        monkeypatch.setattr(json_stream, "CHUNK", size)
        again = read_kineto(tmp_path / "t.json")[0]
        assert np.array_equal(again.compute, whole.compute)
        assert again.collectives == whole.collectives


# --- what is refused


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "neither"),
        (b"hello", "neither"),
        (b"{}", "no traceEvents"),
        (b'{"traceEvents": [', "not a whole JSON trace"),
        (b'{"traceEvents": [{"name": 1}', "not a whole JSON trace"),
        (b'{"traceEvents": []}', "no kernel"),
        (b'{"traceEvents": 7}', "no traceEvents"),
        (b'{"traceEvents": [{"cat":"kernel","name":"k","ts":"x","dur":[]}]}', "no kernel"),
        (b'{"traceEvents": [{"cat":"kernel","name":"k","ts":1,"dur":2}]}', "names no device"),
        (b'{"traceEvents": [1 2]}', "commas"),
        (b"[" * 100_000, "nested too deeply"),
        (gzip.compress(b'{"traceEvents": []}', mtime=0)[:-9], "cannot be read"),
        (b"\x1f\x8b\x08\x00junk", "cannot be read"),
        (nsight.SQLITE_MAGIC + b"junk" * 50, "not a whole Nsight"),
        (b"SQLite format 3\x00", "not a whole Nsight"),
    ],
)
def test_broken_files_are_refused_in_a_line(tmp_path, content, told):
    path = tmp_path / "t.bin"
    path.write_bytes(content)
    with pytest.raises(InputError, match=told):
        read_trace(path)
    result = cli("summary", path)
    assert result.exit_code == 2
    assert "Traceback" not in result.output
    assert len(result.output.strip().splitlines()) <= 2


@pytest.mark.any_version
def test_a_zip_bomb_is_refused_early(tmp_path):
    packer = zlib.compressobj(9, wbits=31)
    pieces = [packer.compress(b'{"traceEvents": [')]
    pieces += [packer.compress(b" " * (1 << 20)) for _ in range(260)]
    (tmp_path / "bomb.json.gz").write_bytes(b"".join([*pieces, packer.flush()]))
    with pytest.raises(InputError, match="unpacks to over"):
        read_trace(tmp_path / "bomb.json.gz")


def test_one_endless_value_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(json_stream, "LARGEST_VALUE", 1 << 16)
    monkeypatch.setattr(json_stream, "CHUNK", 1 << 12)
    (tmp_path / "t.json").write_text('{"traceEvents": [{"name": "' + "x" * (1 << 18))
    with pytest.raises(InputError, match="too large"):
        read_trace(tmp_path / "t.json")


@pytest.mark.any_version
def test_entries_beside_the_events_cost_little(tmp_path, monkeypatch):
    """Large ones are passed over in one go; nothing of them is kept, and without end they are refused."""
    entry = json.dumps({"a": ['x"]\\', {"b": 1.5}], "c": "}"})
    whole = json.dumps({**HEADER, "traceEvents": STEP})
    rest = [entry, '"t\\"]"', "1e3", "null", "[[]]"]
    beside = "".join(f'"k{n}": {value}, ' for n, value in enumerate(rest))
    (tmp_path / "t.json").write_text("{" + beside + whole[1:])
    for size in (1, 3, 1 << 20):
        monkeypatch.setattr(json_stream, "CHUNK", size)
        header = {}
        events = list(json_stream.read_events(tmp_path / "t.json", header, ("distributedInfo",)))
        assert events == STEP
        assert header == {"distributedInfo": HEADER["distributedInfo"]}
    large = "[" + "[]," * (1 << 20) + "[]]"
    (tmp_path / "l.json").write_text('{"k": ' + large + ", " + whole[1:])
    began = time.process_time()
    assert len(read_kineto(tmp_path / "l.json")) == 1
    assert time.process_time() - began < 5
    (tmp_path / "d.json").write_text('{"deviceProperties": ' + large + ", " + whole[1:])
    monkeypatch.setattr(json_stream, "LARGEST_ENTRY", 1 << 16)
    with pytest.raises(InputError, match="too large"):
        read_kineto(tmp_path / "d.json")
    monkeypatch.setattr(json_stream, "LARGEST_REST", 1 << 20)
    with pytest.raises(InputError, match="outside its events"):
        read_kineto(tmp_path / "l.json")


@settings(max_examples=60)
@given(st.data())
def test_damaged_traces_never_end_in_a_traceback(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("fuzz") / "t.json"
    whole = bytearray(json.dumps({**HEADER, "traceEvents": STEP}).encode())
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(whole[: data.draw(st.integers(1, len(whole)))]))
    with contextlib.suppress(InputError):
        summary(read_trace(path))


def test_nsights_own_format_gets_the_command(tmp_path):
    (tmp_path / "r.nsys-rep").write_bytes(b"x")
    with pytest.raises(InputError, match="nsys export --type sqlite"):
        read_trace(tmp_path / "r.nsys-rep")


def test_a_folder_of_nsights_own_files_gets_the_command(tmp_path):
    (tmp_path / "r.nsys-rep").write_bytes(b"x")
    assert "nsys export --type sqlite" in cli("summary", tmp_path).output


def test_slips_are_told_as_they_are(tmp_path):
    path = trace(tmp_path / "t.json")
    assert "--skip 2 leaves none of its 2" in cli("summary", path, "--skip", 2).output
    assert "unknown accelerator" in cli("summary", path, "--accelerator", "zzz").output
    (tmp_path / "out.txt").write_text(NCCL_TESTS)
    assert "out.txt: times of messages" in cli("diff", path, tmp_path / "out.txt").output
    many = trace(tmp_path / "m.json", [kernel("k", 0, 1, device=n) for n in range(MOST_DEVICES + 1)])
    assert f"more than {MOST_DEVICES} devices" in cli("summary", many).output
    words = ["calibrate", "--trace", str(export(tmp_path / "e.sqlite")), *JOB]
    assert "NVTX range" in CliRunner().invoke(main, words).output


def test_a_missing_file_is_named():
    assert "no such file" in cli("summary", "nothing.json").output


# --- Nsight Systems


def export(path, columns='start, "end", deviceId, demangledName', rows=((0, 1000, 0, 1), (500, 900, 1, 2))):
    with sqlite3.connect(path) as database:
        database.execute(f"create table {nsight.KERNELS} ({columns})")
        marks = ",".join("?" * len(rows[0]))
        database.executemany(f"insert into {nsight.KERNELS} values ({marks})", rows)
        database.execute("create table StringIds (id, value)")
        database.executemany(
            "insert into StringIds values (?, ?)", [(1, "gemm"), (2, "ncclDevKernel_AllGather_RING_LL")]
        )
        database.execute("create table TARGET_INFO_SYSTEM_ENV (name, value)")
        database.execute("insert into TARGET_INFO_SYSTEM_ENV values ('SECRET', 'hunter2')")
    database.close()
    return path


def test_nsight_kernels_are_told_apart(tmp_path):
    first, second = read_nsight_devices(export(tmp_path / "e.sqlite"))
    assert length(first.compute) == pytest.approx(1e-6)
    assert second.collectives[0].kind == "all-gather"
    told = cli("summary", tmp_path / "e.sqlite", "--accelerator", "h100-sxm5-80gb", "--json").output
    assert "hunter2" not in told
    assert json.loads(told)["devices"][1]["accelerator"] == "h100-sxm5-80gb"


def read_nsight_devices(path):
    return nsight.read_nsight(path)


def test_nsight_columns_vary(tmp_path):
    path = export(tmp_path / "e.sqlite", 'start, "end", deviceId, shortName, extra', [(0, 10, 0, 1, None)])
    assert len(nsight.read_nsight(path)) == 1
    packed = tmp_path / "e.sqlite.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert len(read_trace(packed)) == 1


def test_an_export_without_kernels_is_refused(tmp_path):
    with sqlite3.connect(tmp_path / "e.sqlite") as database:
        database.execute("create table t (x)")
    database.close()
    with pytest.raises(InputError, match="CUPTI_ACTIVITY_KIND_KERNEL"):
        read_trace(tmp_path / "e.sqlite")


def test_an_export_is_not_written_to(tmp_path):
    path = export(tmp_path / "e.sqlite")
    before = path.read_bytes()
    os.chmod(path, 0o444)
    nsight.read_nsight(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["e.sqlite"]


# --- text

NCCL_TESTS = """# nThread 1 nGpus 2 minBytes 8
#  Rank  0 Group  0 Pid 1 on host device  0
#  Rank  1 Group  0 Pid 1 on host device  1
#       size         count      type   redop    root     time   algbw   busbw #wrong
     1048576        262144     float     sum      -1   100.00   10.49   10.49      0
     2097152        524288     float     sum      -1   180.00   11.65   11.65      0
"""


def test_nccl_tests_are_read(tmp_path):
    (tmp_path / "out.txt").write_text(NCCL_TESTS)
    found = read_trace(tmp_path / "out.txt")
    assert found.group_size == 2
    assert found.rows[0].time == pytest.approx(100e-6)
    assert "10.49 GB/s" in cli("summary", tmp_path / "out.txt").output
    with pytest.raises(InputError, match="no line of results"):
        read_nccl_tests(Path("x"), "# nGpus")


OLD_NCCL_TESTS = """# nThread 1 nGpus 8
#   Rank  0 Pid  1 on host device  0 [0x1a] Tesla V100
#   Rank  1 Pid  1 on host device  1 [0x1a] Tesla V100
#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error
     1048576        262144   float     sum    48.52   21.61   21.61  1e-06    48.3   21.7   21.7  1e-06
    67108864      16777216   float     sum     1231   54.51   54.51  1e-06    1230   54.5   54.5  1e-06
"""


@pytest.mark.parametrize("headed", [True, False])
def test_columns_of_nccl_tests_are_those_of_the_heading(headed):
    """Older outputs have no root."""
    for text, times in ((OLD_NCCL_TESTS, [48.52e-6, 1231e-6]), (NCCL_TESTS, [100e-6, 180e-6])):
        kept = "\n".join(line for line in text.splitlines() if headed or "algbw" not in line)
        found = read_nccl_tests(Path("x"), kept)
        assert [row.time for row in found.rows] == pytest.approx(times)
        assert found.collective == "all-reduce"


def test_only_all_reduces_make_a_link(tmp_path):
    (tmp_path / "ag.txt").write_text(NCCL_TESTS.replace("  sum ", " none "))
    assert read_trace(tmp_path / "ag.txt").collective is None
    result = CliRunner().invoke(main, ["calibrate", "--trace", str(tmp_path / "ag.txt")])
    assert result.exit_code == 2
    assert "all_reduce_perf" in result.output
    halved = NCCL_TESTS.replace("10.49   10.49", "10.49    5.24").replace("11.65   11.65", "11.65    5.83")
    assert read_nccl_tests(Path("x"), halved).collective == "reduce-scatter"
    assert read_nccl_tests(Path("x"), NCCL_TESTS.replace("-1   1", " 0   1")).collective == "reduce"
    with pytest.raises(InputError, match="line 5"):
        read_nccl_tests(Path("x"), NCCL_TESTS.replace("100.00", " 10.00"))


def test_step_times_are_read(tmp_path):
    (tmp_path / "a.csv").write_text("step,iteration_time\n1,0.1\n2,0.12\n")
    (tmp_path / "b.txt").write_text("0.1\n0.12\n")
    assert read_step_times(tmp_path / "a.csv") == read_step_times(tmp_path / "b.txt") == [0.1, 0.12]
    (tmp_path / "c.txt").write_text("# seconds\n0.1\nfast\n")
    with pytest.raises(InputError, match="line 3, column 1: 'fast'"):
        read_step_times(tmp_path / "c.txt")
    (tmp_path / "d.csv").write_text("# seconds\nstep,time\n1,0.1\n\n2,0\n")
    with pytest.raises(InputError, match="line 5, column time: '0'"):
        read_step_times(tmp_path / "d.csv")


# --- profiles

JOB = (
    "--workload",
    "resnet50",
    "--accelerator",
    "v100-sxm2-16gb",
    "--precision",
    "fp32",
    "--local-batch-size",
    "32",
)


def calibrated(tmp_path, *words):
    path = tmp_path / "my.toml"
    result = CliRunner().invoke(main, ["calibrate", *map(str, words), *JOB, "--output", str(path)])
    assert result.exit_code == 0, result.output
    return path


def test_a_profile_takes_the_models_place(tmp_path):
    path = calibrated(tmp_path, "--trace", trace(tmp_path / "t.json"))
    profile = read_profile(str(path))
    assert profile.computation is not None
    asked = {
        "workload": "resnet50",
        "accelerator": "v100-sxm2-16gb",
        "precision": "fp32",
        "local_batch_size": 32,
    }
    found = predict(Scenario(**asked, profile=str(path)))
    busy = sum(found.terms[name] for name in ("forward_time", "backward_time", "update_time"))
    assert busy == pytest.approx(400e-6, rel=1e-4)  # the steps compute 400 us each
    assert found.mode == "traced"
    other = predict(Scenario(**{**asked, "workload": "vgg16"}, profile=str(path)))
    assert any("taken of resnet50" in why for why in other.warnings)


def test_what_a_question_leaves_open_comes_from_the_profile(tmp_path):
    path = calibrated(tmp_path, "--trace", trace(tmp_path / "t.json"))
    found = predict(Scenario(world_size=8, profile=str(path)))
    assert {key: found.scenario[key] for key in ("precision", "local_batch_size")} == {
        "precision": "fp32",
        "local_batch_size": 32,
    }
    assert "--precision fp32 (from the profile)" in found.defaults
    assert not any("taken of" in why for why in found.warnings)


def test_what_a_profile_is_unsure_of_widens_the_interval(tmp_path):
    """Each deviation as large as its value, one by one: the term it stands in for is that much unsure."""
    text = to_toml(read_profile(str(calibrated(tmp_path, "--trace", trace(tmp_path / "t.json")))))
    sure = re.sub("deviation = .*", "deviation = 0.0", text)

    def asked(name, text):
        (tmp_path / name).write_text(text)
        return predict(Scenario(world_size=8, profile=str(tmp_path / name)))

    plain = asked("sure.toml", sure)
    width = np.log(plain.interval.high_80 / plain.iteration_time)
    assert not any("uncertain" in why for why in plain.interval.wider_because)
    parts = {
        "computation": ("forward_time", "backward_time", "update_time", "shared_slowdown_time"),
        "input_time": ("input_time",),
    }
    for name, terms in parts.items():
        head, table, rest = sure.partition(f"[{name}]")
        value = float(re.search("value = (.*)", rest)[1])
        rest = rest.replace("deviation = 0.0", f"deviation = {value}", 1)
        found = asked(f"{name}.toml", head + table + rest)
        share = sum(found.terms[term] for term in terms) / found.iteration_time
        expected = np.hypot(width, 1.2816 * share)
        assert np.log(found.interval.high_80 / found.iteration_time) == pytest.approx(expected, rel=1e-3)
        # the made-up steps are faster than the accelerator's peak allows, so the lower end stays at the point
        assert found.interval.low_80 == found.iteration_time < found.interval.clipped_at
        assert any("uncertain" in why for why in found.interval.wider_because) == (share > 0.03)
    endless = asked("endless.toml", re.sub("deviation = .*", "deviation = 1e300", text))
    assert np.isfinite(endless.interval.high_80)


def test_a_sweep_carries_over_what_a_prediction_does(tmp_path):
    path = str(calibrated(tmp_path, "--trace", trace(tmp_path / "t.json"), "--loader-workers", 2))
    for asked in ({}, {"input": "synthetic"}, {"loader_workers": 1}):
        table = sweep(profile=path, world_size=[1, 8], local_batch_size=[32, 64], **asked).table()
        for index, size in enumerate(table["world_size"]):
            batch = int(table["local_batch_size"][index])
            one = predict(Scenario(profile=path, world_size=int(size), local_batch_size=batch, **asked))
            assert table["iteration_time"][index] == pytest.approx(one.iteration_time, rel=1e-9)
            assert table["input_time"][index] == pytest.approx(one.terms["input_time"], rel=1e-9)
            assert table["high_80"][index] == pytest.approx(one.interval.high_80, rel=1e-9)


def test_the_accelerator_is_the_traces_own(tmp_path):
    board = {"id": 0, "name": "NVIDIA A100-PG509-200", "totalGlobalMem": 42_297_524_224}
    path = trace(
        tmp_path / "t.json", header={"deviceProperties": [board], "distributedInfo": {"world_size": 2}}
    )
    words = ["calibrate", "--trace", str(path), "--output", str(tmp_path / "my.toml")]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert read_profile(str(tmp_path / "my.toml")).accelerator == "a100-sxm4-40gb"
    assert "note: --precision fp32: that of the trace's products" in result.output
    assert "a trace does not say --workload resnet50, --local-batch-size 64" in result.output
    assert "the trace is of 2" in CliRunner().invoke(main, [*words, "--gpus", "4"]).output
    for other in (["--accelerator", "v100-sxm2-16gb"], ["--node", "dgx-1v"]):
        result = CliRunner().invoke(main, [*words, *other])
        assert result.exit_code == 2
        assert "NVIDIA A100-PG509-200" in result.output
    unnamed = trace(tmp_path / "u.json", header={})
    assert "--accelerator" in CliRunner().invoke(main, ["calibrate", "--trace", str(unnamed)]).output
    unknown = trace(tmp_path / "w.json", header={"deviceProperties": [{"id": 0, "name": "Wonder 9"}]})
    assert "Wonder 9" in CliRunner().invoke(main, ["calibrate", "--trace", str(unknown)]).output


@pytest.mark.parametrize(
    ("name", "memory", "id"),
    [
        ("Tesla V100-DGXS-32GB", 34e9, "v100-sxm2-32gb"),
        ("NVIDIA H100 80GB HBM3", None, "h100-sxm5-80gb"),
        ("NVIDIA H100 PCIe", 85e9, "h100-pcie-80gb"),
        ("NVIDIA RTX 6000 Ada Generation", None, "rtx-6000-ada"),
        ("Quadro RTX 6000", None, "quadro-rtx-6000"),
        ("GeForce RTX 2080", None, "rtx-2080"),
        ("AMD Instinct MI300X", None, "mi300x"),
        ("v100-sxm2-16gb", None, "v100-sxm2-16gb"),
    ],
)
def test_drivers_names_are_understood(name, memory, id):
    assert accelerators_called(name, memory, Catalogue.built_in())[0] == id


def test_waits_and_idling_are_carried_over_and_dropped_in_words(tmp_path):
    """Of 1000 us the loader takes 600 us, kernels 300 us, the host the rest."""
    events = []
    for start in (0, 1000, 2000):  # thousands
        loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
        events += [
            event("ProfilerStep#1", "user_annotation", 1000 * start, 1_000_000),
            event(loader, "user_annotation", 1000 * start, 600_000),
            kernel("k", 1000 * start + 600_000, 300_000),
        ]
    path = calibrated(tmp_path, "--trace", trace(tmp_path / "t.json", events))
    profile = read_profile(str(path))
    assert (profile.input, profile.loader_workers) == ("real", 0)
    again = predict(Scenario(profile=str(path)))
    assert again.iteration_time == pytest.approx(1.0, rel=1e-5)
    assert again.terms["input_time"] == pytest.approx(0.6, rel=1e-5)
    assert again.terms["launch_overhead_time"] == pytest.approx(0.1, rel=1e-5)
    assert sum("carried over" in why for why in again.warnings) == 2
    one, many = (predict(Scenario(profile=str(path), loader_workers=n)) for n in (1, 4))
    assert one.terms["input_time"] == pytest.approx(0.2, rel=1e-5)  # 600 us, 400 of them beside the step
    assert many.iteration_time == pytest.approx(0.4, rel=1e-5)
    assert any("4 loader workers leave of 600 ms" in why for why in many.warnings)
    bare = predict(Scenario(profile=str(path), input="synthetic"))
    assert bare.iteration_time == pytest.approx(0.3, rel=1e-5)
    assert sum("dropped" in why for why in bare.warnings) == 2


def test_workers_that_set_the_pace_tell_what_they_take(tmp_path):
    """Two workers deliver a batch each second: one of them takes two."""
    events = [
        event("ProfilerStep#1", "user_annotation", 0, 1_000_000),
        event("enumerate(DataLoader)#_Multi.__next__", "user_annotation", 0, 500_000),
        kernel("k", 500_000, 500_000),
    ]
    words = ("--trace", trace(tmp_path / "t.json", events))
    path = calibrated(tmp_path, *words, "--loader-workers", 2)
    assert read_profile(str(path)).loader_time.value == pytest.approx(2.0)
    waits = [predict(Scenario(profile=str(path), loader_workers=n)).terms["input_time"] for n in (1, 2, 3, 4)]
    assert waits == pytest.approx([1.5, 0.5, 2 / 3 - 0.5, 0], abs=1e-5)
    (tmp_path / "more").mkdir()
    other = calibrated(tmp_path / "more", *words)
    unknown = predict(Scenario(profile=str(other), loader_workers=8))
    assert unknown.terms["input_time"] == pytest.approx(0.5, rel=1e-5)
    assert any("does not say what one worker takes" in why for why in unknown.warnings)


def test_times_make_a_profile(tmp_path):
    (tmp_path / "times.csv").write_text("\n".join(["0.2"] * 9 + ["0.3"]))
    path = calibrated(tmp_path, "--times", tmp_path / "times.csv")
    asked = {
        "workload": "resnet50",
        "accelerator": "v100-sxm2-16gb",
        "precision": "fp32",
        "local_batch_size": 32,
    }
    assert predict(Scenario(**asked, profile=str(path))).iteration_time == pytest.approx(0.21, rel=1e-5)
    assert read_profile(str(path)).jitter.value == pytest.approx(0.03 / 0.21, rel=1e-5)


@pytest.mark.parametrize(
    ("text", "more", "told"),
    [
        ("0.11\n0.12\n", ("--skip", "10"), "leaves none of its 2"),
        ("1e308\n1e308\n", (), "line 1"),
        ("110\n120\n", (), "expected seconds"),
        ("0.00011\n", (), "expected seconds"),
    ],
)
def test_times_that_are_none_are_refused(tmp_path, text, more, told):
    (tmp_path / "times.csv").write_text(text)
    result = CliRunner().invoke(main, ["calibrate", "--times", str(tmp_path / "times.csv"), *JOB, *more])
    assert result.exit_code == 2
    assert told in result.output


def test_a_measured_link_is_used(tmp_path):
    (tmp_path / "out.txt").write_text(NCCL_TESTS)
    path = calibrated(tmp_path, "--trace", tmp_path / "out.txt")
    link = read_profile(str(path)).link
    # 80 us for a MiB more: 13.1 GB/s, and 20 us without a byte
    assert link.bandwidth.value == pytest.approx(1048576 / 80e-6, rel=1e-3)
    assert link.latency.value == pytest.approx(20e-6, rel=1e-3)
    found = predict(Scenario(workload="vgg16", world_size=2, overlap="none", profile=str(path)))
    assert found.communication_time == pytest.approx(20e-6 + 4 * 138_357_544 * 80e-6 / 1048576, rel=1e-3)


@pytest.mark.parametrize(
    ("text", "told"),
    [("x", "not TOML"), ("made_by = 1", "made_by"), ("nonsense = 1", "files|made_by|nonsense")],
)
def test_bad_profiles_name_the_key(tmp_path, text, told):
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(InputError, match=told):
        predict(Scenario(profile=str(tmp_path / "p.toml")))


def test_a_profile_written_anew_is_read_anew(tmp_path):
    path = calibrated(tmp_path, "--trace", trace(tmp_path / "t.json"))
    before = predict(Scenario(profile=str(path))).iteration_time
    text = path.read_text().replace("value = ", "value = 2", 1)
    path.write_text(text)
    assert predict(Scenario(profile=str(path))).iteration_time != before


def test_what_the_profile_measured_is_no_default(tmp_path):
    events = []
    for index, busy in enumerate((340, 360, 400, 440, 460)):
        events += [
            event("ProfilerStep#1", "user_annotation", 1000 * index, 1000),
            event("enumerate(DataLoader)#x.__next__", "user_annotation", 1000 * index, 100),
            kernel("k", 1000 * index + 200, busy),
        ]
    path = str(calibrated(tmp_path, "--trace", trace(tmp_path / "t.json", events)))
    told = predict(Scenario(world_size=8, profile=path)).defaults
    assert [option for option in told if option.startswith(("--jitter", "--loader", "--storage"))] == [
        "--jitter lognormal:cv=0.114 (from the profile)"
    ]
    result = CliRunner().invoke(main, ["sensitivity", "--gpus", "8", "--profile", path])
    assert result.exit_code == 0
    assert "samples are there in time" not in result.output


def test_anchor_and_profile_exclude_each_other(tmp_path):
    path = calibrated(tmp_path, "--trace", trace(tmp_path / "t.json"))
    with pytest.raises(InputError, match="give one"):
        predict(Scenario(profile=str(path), anchor="iteration_time=0.1s@1"))


# --- the other way


@pytest.mark.parametrize(
    "asked",
    [
        {"world_size": 1},
        {"world_size": 4, "workload": "vgg16"},
        {"world_size": 2, "strategy": "data-parallel-single-process"},
        {"world_size": 16, "input": "real", "loader_workers": 4},
        {"world_size": 8, "strategy": "parameter-server", "overlap": "none"},
        {"world_size": 8, "strategy": "parameter-server-local", "overlap": "priority", "workload": "vgg16"},
        {"world_size": 32, "accumulation_steps": 4},
        {"world_size": 16, "overlap": "priority", "workload": "bert-large", "local_batch_size": 4},
    ],
)
def test_a_timeline_gives_the_terms_back(tmp_path, asked):
    prediction = predict(Scenario(**asked))
    write_timeline(tmp_path / "t.json", prediction)
    terms = prediction.terms
    devices = summary(read_kineto(tmp_path / "t.json"))["devices"]
    assert len(devices) == asked["world_size"]
    for device in devices:
        step = device["per_step"]
        busy = of_kind(terms, "busy")
        assert device["iteration_time"] == pytest.approx(prediction.iteration_time, rel=1e-6)
        assert step["compute_time"] == pytest.approx(busy, rel=1e-6)
        assert step["exposed_communication_time"] == pytest.approx(sent(terms), rel=1e-6, abs=1e-12)
        assert step["input_time"] == pytest.approx(terms["input_time"], rel=1e-6, abs=1e-12)
        for name in ("forward_time", "backward_time", "update_time"):
            assert device["passes"][name] == pytest.approx(terms[name], rel=1e-6)
        hidden = max(0.0, prediction.communication_time - sent(terms))
        assert step["hidden_communication_time"] == pytest.approx(hidden, rel=1e-6, abs=1e-12)
        assert device["verdict"] == prediction.verdict.split(":")[0]
        for name in ("straggler_time", *only_kind(terms, "host")):
            assert step.get(name, 0.0) == pytest.approx(terms[name], rel=1e-6, abs=1e-12)


def test_too_many_ranks_are_not_drawn(tmp_path):
    with pytest.raises(InputError, match="up to"):
        write_timeline(tmp_path / "t.json", predict(Scenario(world_size=MOST_RANKS + 1)))
    assert not list(tmp_path.iterdir())


def test_two_traces_are_set_side_by_side(tmp_path):
    one, two = trace(tmp_path / "a.json"), tmp_path / "b.json"
    write_timeline(two, predict(Scenario()))
    rows = json.loads(cli("diff", one, two, "--json").output)["parts"]
    assert rows[0]["part"] == "iteration_time"
    assert rows[0]["second"] == pytest.approx(predict(Scenario()).iteration_time)
    assert "iteration time" in cli("diff", one, two).output
    bare = trace(tmp_path / "c.json", [kernel("k", 0, 1)])
    assert "no marked steps" in cli("diff", one, bare).output


# --- emulation


def test_emulated_steps_are_the_predicted_ones_on_average():
    prediction = predict(Scenario(world_size=8, jitter="lognormal:cv=0.1"))
    slept: list[float] = []
    emulator = Emulator(prediction, seed=3, speed=10, sleep=slept.append)
    steps = [emulator.step() for _ in range(400)]
    mean = np.mean([step.iteration_time for step in steps])
    assert mean == pytest.approx(prediction.iteration_time, rel=0.03)
    assert sum(slept) == pytest.approx(sum(step.iteration_time for step in steps) / 10)
    assert all(len(step.ranks) == 8 for step in steps)


def test_emulated_steps_jitter_as_the_profile_does(tmp_path):
    """Kernels of 340 to 460 us: a spread of a tenth, three times the shipped one; 300 us of idling do not."""
    events = []
    for index, busy in enumerate((340, 360, 400, 440, 460)):
        events += [
            event("ProfilerStep#1", "user_annotation", 1000 * index, 700),
            kernel("k", 1000 * index, busy),
        ]
    path = calibrated(tmp_path, "--trace", trace(tmp_path / "t.json", events))
    spread = read_profile(str(path)).jitter.value
    assert spread == pytest.approx(np.std([340, 360, 400, 440, 460]) / 400, rel=1e-4)
    prediction = predict(Scenario(world_size=8, profile=str(path)))
    emulator = Emulator(prediction, sleep=lambda _: None)
    steps = [emulator.step() for _ in range(1500)]
    assert np.mean([step.iteration_time for step in steps]) == pytest.approx(
        prediction.iteration_time, rel=0.01
    )
    computing = sum(prediction.terms[name] for name in ("forward_time", "backward_time"))
    assert np.std([rank for step in steps for rank in step.ranks]) == pytest.approx(
        spread * computing, rel=0.05
    )


def test_the_same_seed_gives_the_same_steps():
    prediction = predict(Scenario(world_size=4))
    first, second, other = (
        [Emulator(prediction, seed=seed).next_step().iteration_time for _ in range(1)] for seed in (1, 1, 2)
    )
    assert first == second != other


def test_without_jitter_every_step_is_the_prediction():
    prediction = predict(Scenario(world_size=4, jitter="none"))
    step = Emulator(prediction, sleep=lambda _: None).step()
    assert step.iteration_time == pytest.approx(prediction.iteration_time)


def test_one_process_replicates_scatters_gathers_and_reduces():
    one, two = (
        predict(Scenario(world_size=n, strategy="data-parallel-single-process", jitter="none"))
        for n in (1, 2)
    )
    phases = Emulator(two).next_step().phases
    names = ["scatter", "replicate", "broadcast", "parallel_apply", "forward", "gather", "loss", "backward"]
    names += ["launch_overhead", "reduce", "update"]
    assert [phase.name for phase in phases] == [f"{name}_time" for name in names]
    assert all(phase.time > 0 for phase in phases)
    assert not {phase.name for phase in Emulator(one).next_step().phases} & {*only_of("one process")}
    assert Emulator(two).next_step().iteration_time == pytest.approx(two.iteration_time)


def test_a_speed_must_be_positive():
    with pytest.raises(InputError, match="positive"):
        Emulator(predict(Scenario()), speed=0)


# --- the real files


@pytest.mark.any_version
@real
@pytest.mark.published("traces/README.md: lengths of unions over the whole file")
@pytest.mark.parametrize(
    ("name", "step", "compute", "nccl", "both"),
    [
        ("alexnet_a100_ws1", None, 10.6, 0, 0),
        ("ddp_resnet50_a100_ws2_rank0", 222.4, 115.7, 46.9, 7.3),
        ("ddp_resnet50_v100_ws1_rank0", 95.6, 468.2, 0, 0),
        ("resnet50_v100_ws1_workers0_a", 176.3, 591.5, 0, 0),
        ("resnet50_v100_ws1_workers4_a", 125.1, 594.3, 0, 0),
        ("resnet_2080ti_ws1", None, 4103.1, 0, 0),
        ("transformer_ddp_v100_ws2_rank1", 345.8, 620.5, 357.3, 0),
    ],
)
def test_real_traces_are_as_described(name, step, compute, nccl, both):
    device = summary(read_once(SHARED / f"{name}.json.gz"))["devices"][0]
    totals = device["totals"]
    found = [totals["compute_time"], totals["communication_time"], totals["overlap_time"]]
    assert [1e3 * value for value in found] == pytest.approx([compute, nccl, both], abs=0.05)
    assert (device["iteration_time"] is None) == (step is None)
    if step:
        assert 1e3 * device["iteration_time"] == pytest.approx(step, abs=0.1)


@real
def test_five_buckets_hold_resnet50():
    (found,) = read_once(SHARED / "ddp_resnet50_a100_ws2_rank0.json.gz")
    sizes = {c.message_bytes for c in found.collectives if c.kind == "all-reduce"}
    assert len(sizes) == 5
    assert sum(sizes) / 4 == 25_557_032


@real
def test_ranks_of_a_recommender_wait_for_each_other():
    found = [one for path in sorted(SHARED.glob("dlrm_*")) for one in read_once(path)]
    rows = summary(found)["collectives"]
    assert len(rows) == 8
    assert all(set(row["waiting_time"]) == {str(rank) for rank in range(8)} for row in rows)
    assert all(min(row["waiting_time"].values()) == 0 for row in rows)
    assert sum(row["wire_time"] for row in rows) < 0.3e-3 < max(rows[0]["waiting_time"].values())


@pytest.mark.any_version
@real
def test_loader_workers_and_the_step_without_waiting():
    few, many = (
        summary(read_once(SHARED / f"resnet50_v100_ws1_workers{n}_a.json.gz"))["devices"][0] for n in (0, 4)
    )
    assert (few["verdict"], many["verdict"]) == ("input-bound", "host-bound")
    without = few["iteration_time"] - few["per_step"]["input_time"]
    assert without == pytest.approx(many["iteration_time"], rel=0.15)


@pytest.mark.any_version
@real
@pytest.mark.parametrize(
    ("traced", "asked", "measured"), [(0, {}, 0), (4, {}, 4), (0, {"loader_workers": 4}, 4)]
)
def test_a_profile_predicts_the_steps_of_the_loader_pair(tmp_path, traced, asked, measured):
    """Each its own, and the first with enough workers the second: within 15 %."""
    step = summary(read_once(SHARED / f"resnet50_v100_ws1_workers{measured}_a.json.gz"))["devices"][0]
    path = calibrated(tmp_path, "--trace", SHARED / f"resnet50_v100_ws1_workers{traced}_a.json.gz")
    found = predict(Scenario(profile=str(path), **asked))
    assert found.iteration_time == pytest.approx(step["iteration_time"], rel=0.15)


@pytest.mark.any_version
@real
def test_a_trace_predicts_another_board(tmp_path):
    """From one V100 board's trace, the step of another's, its first two steps dropped."""
    job = (
        "--workload",
        "resnet50",
        "--accelerator",
        "v100-sxm2-32gb",
        "--precision",
        "fp32",
        "--local-batch-size",
        "32",
    )
    path = tmp_path / "my.toml"
    words = [
        "calibrate",
        "--trace",
        str(SHARED / "resnet50_v100_ws1_workers4_a.json.gz"),
        *job,
        "--output",
        str(path),
    ]
    assert CliRunner().invoke(main, words).exit_code == 0
    asked = {
        "workload": "resnet50",
        "accelerator": "v100-sxm2-32gb",
        "precision": "fp32",
        "local_batch_size": 32,
    }
    asked["input"] = "synthetic"  # that run has no loader
    predicted = predict(Scenario(**asked, profile=str(path)), Catalogue.built_in()).iteration_time
    measured = summary(read_once(SHARED / "ddp_resnet50_v100_ws1_rank0.json.gz"), skip=2)["devices"][0]
    assert predicted == pytest.approx(measured["iteration_time"], rel=0.10)


def shipped(name):
    with (Path(__file__).parents[1] / "validation" / name).open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.any_version
@real
def test_shipped_figures_are_those_of_the_files(monkeypatch):
    monkeypatch.setattr("perfmodel.evidence.traces.public_traces.read_trace", read_once)
    found = [{key: "" if row[key] is None else str(row[key]) for key in COLUMNS} for row in rows_of(SHARED)]
    assert shipped("traces.csv") == found


@pytest.mark.any_version
@real
def test_shipped_predictions_are_those_of_the_profiles(monkeypatch):
    """Within one per cent: a new fit may move the last digit."""
    monkeypatch.setattr("perfmodel.evidence.traces.public_traces.read_trace", read_once)
    was, now = shipped("traces_predicted.csv"), predicted_of(SHARED)
    for row, new in zip(was, now, strict=True):
        assert [row[key] for key in ("profile", "asked", "file")] == [
            new[key] for key in ("profile", "asked", "file")
        ]
        assert float(row["error"]) == pytest.approx(float(new["error"]), abs=0.01)
        assert abs(float(new["error"])) < 0.10


def test_the_report_tells_what_profiles_predict():
    text = section()
    for row in shipped("traces_predicted.csv"):
        assert per_cent(float(row["error"]), signed=True) in text


@pytest.mark.parametrize(
    "number", ["1" + "0" * 400, "1e400", "-1e400", "1" * 4299, "true", "null", '"1e999"']
)
@pytest.mark.parametrize("key", ["ts", "dur", "pid"])
def test_absurd_numbers_in_a_trace_are_left_out(tmp_path, number, key):
    values = {"ts": "1", "dur": "2", "pid": "0"} | {key: number}
    event = ",".join(f'"{name}":{value}' for name, value in values.items())
    kernel = '{"cat":"kernel","name":"k","ts":5,"dur":1,"args":{"device":0,"correlation":' + number + "}}"
    (tmp_path / "t.json").write_text(
        '{"traceEvents":[{"cat":"kernel","name":"k",' + event + "}," + kernel + "]}"
    )
    done = cli("summary", tmp_path / "t.json")
    assert done.exit_code in (0, 2), done.exception
    assert "Traceback" not in done.output


@pytest.mark.parametrize("key", ["name", "cat", "pid", "args"])
def test_deeply_nested_values_in_a_trace_end_in_a_line(tmp_path, key):
    event = {"cat": '"kernel"', "name": '"k"', "ts": "1", "dur": "2", "pid": "0", "args": "{}"}
    event[key] = "[" * 900 + "]" * 900
    text = ",".join(f'"{name}":{value}' for name, value in event.items())
    (tmp_path / "t.json").write_text('{"traceEvents":[{' + text + "}]}")
    done = cli("summary", tmp_path / "t.json")
    assert done.exit_code in (0, 2), done.exception
    assert "Traceback" not in done.output


@pytest.mark.parametrize("seed", range(8))
def test_mutated_exports_are_refused_or_read(tmp_path, seed):
    rng = random.Random(seed)
    whole = export(tmp_path / "e.sqlite").read_bytes()
    for _ in range(40):
        mutated = bytearray(whole)
        for _ in range(rng.choice((1, 4, 30))):
            mutated[rng.randrange(16, len(mutated))] = rng.randrange(256)
        (tmp_path / "m.sqlite").write_bytes(
            mutated[: rng.choice((len(mutated), rng.randrange(len(mutated))))]
        )
        done = cli("summary", tmp_path / "m.sqlite")
        assert done.exit_code in (0, 2), done.exception
        assert "Traceback" not in done.output


@pytest.mark.parametrize("value", [b"\xff\xfe", "x", 1.5, None, 2**62, -(2**63)])
@pytest.mark.parametrize("column", range(4))
def test_wrong_types_in_an_export_are_left_out(tmp_path, value, column):
    row = [5, 900, 1, 1]
    row[column] = value
    path = export(tmp_path / "e.sqlite", rows=((0, 1000, 0, 1), tuple(row)))
    done = cli("summary", path)
    assert done.exit_code == 0, done.exception


def test_text_of_an_export_that_is_no_utf8_is_read(tmp_path):
    path = export(tmp_path / "e.sqlite")
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("update StringIds set value = cast(x'ff6b' as text)")
    assert cli("summary", path).exit_code == 0
