"""Profilers' views of a trace: shares, efficiency, memory, ranks, ranges, what would save time; as a page."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel import InputError, Scenario, predict
from perfmodel.evidence.traces import activity, allocations, nsight
from perfmodel.evidence.traces.activity import SHARES, Spans
from perfmodel.evidence.traces.allocations import CATEGORIES, Allocations
from perfmodel.evidence.traces.device_trace import intervals, length, union
from perfmodel.evidence.traces.marked_ranges import MOST_NAMES, OTHERS, Ranges
from perfmodel.evidence.traces.read import read_trace
from perfmodel.evidence.traces.recommendations import BUCKET_BYTES, recommendations
from perfmodel.evidence.traces.summary import summary
from perfmodel.evidence.traces.timeline import write_timeline
from perfmodel.evidence.traces.trace_page import html_report

SHARED = Path(__file__).parents[1].parent / "shared" / "traces"
real = pytest.mark.skipif(not SHARED.exists(), reason="the public traces are not here")
ALL_REDUCE = "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)"
V100 = {"deviceProperties": [{"id": 0, "name": "Tesla V100-SXM2-32GB"}]}


def event(name, category, start, duration, **more):
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "ts": start,
        "dur": duration,
        "pid": 1,
        "tid": 1,
        **more,
    }


def kernel(start, duration, name="sgemm", **arguments):
    return event(name, "kernel", start, duration, args={"device": 0, **arguments})


def held(time, size, total, address=1):
    arguments = {"Device Type": 1, "Device Id": 0, "Bytes": size, "Addr": address, "Total Allocated": total}
    return {"ph": "i", "name": "[memory]", "ts": time, "args": arguments | {"Total Reserved": 4 * total}}


def step(number, start, duration):
    return event(f"ProfilerStep#{number}", "user_annotation", start, duration)


def trace(path, events, header=V100, rank=0):
    info = {"distributedInfo": {"rank": rank, "world_size": 2}}
    path.write_text(json.dumps({**header, **info, "traceEvents": events}))
    return read_trace(path)


SEEN = [
    step(1, 0, 1000),
    kernel(0, 200, **{"blocks per SM": 0.5, "est. achieved occupancy %": 40}),
    kernel(200, 100, **{"blocks per SM": 8, "est. achieved occupancy %": 100}),
    event("Memcpy DtoD (Device -> Device)", "gpu_memcpy", 250, 100, args={"device": 0}),
    event("Memset (Device)", "gpu_memset", 350, 50, args={"device": 0}),
    kernel(300, 200, ALL_REDUCE),
    event("cudaLaunchKernel", "cuda_runtime", 450, 150),
    event("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "user_annotation", 600, 100),
    event("aten::mm", "cpu_op", 550, 350),
]


def test_each_moment_belongs_to_the_first_kind_that_was_at_work(tmp_path):
    """Kernels to 300, copies 400, communication 500, runtime 600, loader 700, operators to 900 us."""
    (device,) = summary(trace(tmp_path / "t.json", SEEN))["devices"]
    assert list(device["shares"]) == list(SHARES)
    assert list(device["shares"].values()) == pytest.approx([0.3, 0.1, 0.1, 0.1, 0.1, 0.2, 0.1])


def test_how_well_kernels_fill_the_device(tmp_path):
    """Half of the multiprocessors for 200 us, all for 100, of 1000; threads 40 % and 100 %."""
    (device,) = summary(trace(tmp_path / "t.json", SEEN))["devices"]
    assert device["utilisation"] == pytest.approx(0.5)
    assert device["sm_efficiency"] == pytest.approx(0.2)
    assert device["achieved_occupancy"] == pytest.approx((200 * 0.4 + 100) / 300)


@given(st.lists(st.tuples(st.integers(0, 900), st.integers(1, 400), st.sampled_from(list(SHARES)[:6]))))
def test_shares_sum_to_one_whatever_overlaps(pieces):
    kinds = {
        "kernels": lambda s, d: kernel(s, d),
        "copies": lambda s, d: event("Memcpy DtoH", "gpu_memcpy", s, d, args={"device": 0}),
        "communication": lambda s, d: kernel(s, d, ALL_REDUCE),
        "runtime": lambda s, d: event("cudaMalloc", "cuda_runtime", s, d),
        "loader": lambda s, d: event("DataLoader.__next__", "user_annotation", s, d),
        "cpu": lambda s, d: event("aten::add", "cpu_op", s, d),
    }
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        events = [step(1, 0, 1000), kernel(0, 1), *(kinds[kind](s, d) for s, d, kind in pieces)]
        (device,) = summary(trace(Path(folder) / "t.json", events))["devices"]
    assert sum(device["shares"].values()) == pytest.approx(1)
    assert all(0 <= share <= 1 for share in device["shares"].values())


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 9)), max_size=60))
def test_spans_that_are_united_now_and_then_are_the_union(pairs):
    spans = Spans()
    spans._held = 8
    for start, long in pairs:
        spans.add((start, start + long))
    assert spans.united().tolist() == union(intervals((s, s + n) for s, n in pairs)).tolist()


def test_what_is_held_while_reading_stays_small(monkeypatch):
    monkeypatch.setattr(activity, "MOST_HELD", 100)
    spans = Spans()
    for at in range(10_000):
        spans.add((at, at + 1.5))
        assert len(spans._ends) <= 204
    assert length(spans.united()) == pytest.approx(10_000.5)


def test_memory_at_its_peak_by_what_allocated_it(tmp_path):
    events = [
        step(1, 0, 1000),
        kernel(0, 10),
        event("autograd::engine::evaluate_function: X", "cpu_op", 400, 200),
        event("Optimizer.step#SGD.step", "user_annotation", 700, 100),
        held(10, 100, 1100, address=1),
        held(20, 50, 1150, address=2),
        held(30, -50, 1100, address=2),
        held(500, 30, 1130, address=3),
        held(750, 70, 1200, address=4),
        held(760, -100, 1100, address=1),
    ]
    memory = summary(trace(tmp_path / "t.json", events))["devices"][0]["memory"]
    assert memory["peak"] == 1200
    assert memory["peak_reserved"] == 4800
    assert memory["peak_by_category"] == {"before": 1000, "forward": 100, "backward": 30, "update": 70}
    assert list(memory["peak_by_category"]) == list(CATEGORIES)
    assert (memory["relative"], memory["whole"]) == (False, True)
    assert max(size for _, size in memory["curve"]) == 1200


def test_an_old_file_has_memory_on_top_of_what_was_held():
    own = Allocations()
    for time, size in enumerate((100, -300, 250, -40)):
        own.add(float(time), {"Bytes": size})
    memory = own.memory(intervals([]), intervals([]))
    assert memory.relative
    assert memory.peak_by_category is None
    assert [size for _, size in memory.curve] == [300, 0, 250, 210]


def test_no_more_events_of_memory_are_kept_than_are_drawn(monkeypatch):
    monkeypatch.setattr(allocations, "MOST", 3)
    own = Allocations()
    for time in range(9):
        own.add(float(time), {"Bytes": 1, "Addr": time})
    memory = own.memory(intervals([]), intervals([]))
    assert (memory.peak, memory.whole) == (3, False)


@pytest.mark.parametrize("odd", [None, "x", [1], {}, True, 10**400, -(10**20), float("nan")])
@pytest.mark.parametrize("key", ["Bytes", "Addr", "Total Allocated", "Device Id", "Device Type"])
def test_odd_events_of_memory_are_left_out(tmp_path, odd, key):
    one = held(10, 5, 100)
    one["args"][key] = odd
    report = summary(trace(tmp_path / "t.json", [kernel(0, 10), one, held(20, 5, 105)]))
    assert report["devices"][0]["memory"]["peak"] >= 5
    assert "NaN" not in json.dumps(report["devices"][0]["memory"])


def test_ranges_of_a_program_are_summed_by_name(tmp_path):
    events = [
        kernel(0, 10),
        event("## forward ##", "user_annotation", 0, 100),
        event("## forward ##", "user_annotation", 200, 50),
        event("## forward ##", "gpu_user_annotation", 10, 60),
        event("Optimizer.step#SGD.step", "user_annotation", 300, 5),
    ]
    rows = summary(trace(tmp_path / "t.json", events))["ranges"]
    assert [row["name"] for row in rows] == ["## forward ##", "Optimizer.step#SGD.step"]
    assert rows[0]["occurrences"] == 2
    assert rows[0]["host_time"] == pytest.approx(150e-6)
    assert rows[0]["device_time"] == pytest.approx(60e-6)
    assert rows[1]["device_time"] is None


def test_names_of_ranges_without_end_share_a_row():
    ranges = Ranges()
    for number in range(MOST_NAMES + 50):
        ranges.add(ranges.name(f"{number} block"), 1.0, count=1)
    rows = {row.name: row for row in ranges.listed()}
    assert len(rows) == MOST_NAMES + 1
    assert rows[OTHERS].occurrences == 50


def exported(path):
    """Two threads; thread 9 launches kernel 1 in outer and inner, kernel 2 in outer, kernel 3 in none."""
    with contextlib.closing(sqlite3.connect(path)) as base, base:
        base.execute(
            f'create table {nsight.KERNELS} (start, "end", deviceId, shortName, correlationId, globalPid)'
        )
        base.execute(f'create table {nsight.RUNTIME} (start, "end", correlationId, globalTid)')
        base.execute(f'create table {nsight.MARKS} (start, "end", text, globalTid)')
        base.execute(f'create table {nsight.COPIES} (start, "end", deviceId, copyKind)')
        base.execute("create table StringIds (id, value)")
        base.execute("insert into StringIds values (1, 'gemm')")
        kernels = [(1000, 1100, 0, 1, 1, 0), (1200, 1230, 0, 1, 2, 0), (1300, 1307, 0, 1, 3, 0)]
        base.executemany(f"insert into {nsight.KERNELS} values (?,?,?,?,?,?)", kernels)
        launches = [(150, 160, 1, 9), (350, 360, 2, 9), (600, 610, 3, 9), (150, 160, 7, 8)]
        base.executemany(f"insert into {nsight.RUNTIME} values (?,?,?,?)", launches)
        marks = [(100, 400, "outer", 9), (120, 200, "inner, op_id = 3", 9), (100, 900, "elsewhere", 8)]
        base.executemany(f"insert into {nsight.MARKS} values (?,?,?,?)", marks)
        base.execute(f"insert into {nsight.COPIES} values (1310, 1320, 0, 8)")
    return path


def test_kernels_count_in_the_nvtx_ranges_that_launched_them(tmp_path):
    report = summary(nsight.read_nsight(exported(tmp_path / "e.sqlite")))
    rows = {row["name"]: row for row in report["ranges"]}
    assert rows["outer"]["device_time"] == pytest.approx(130e-9)
    assert rows["inner"]["device_time"] == pytest.approx(100e-9)
    assert rows["elsewhere"]["device_time"] is None
    assert rows["outer"]["host_time"] == pytest.approx(300e-9)
    assert report["devices"][0]["shares"]["kernels"] == pytest.approx(137 / 307)


def ranks(folder, late=1):
    """Two ranks; the one that computes 400 us comes late to both of its messages."""
    traces = []
    for rank in range(2):
        slow = 400 if rank == late else 100
        events = [step(1, 0, 2000)]
        for start in (0, 1000):
            events += [kernel(start, slow), kernel(start + slow, 450 - slow, ALL_REDUCE)]
        traces += trace(folder / f"rank{rank}.json", events, rank=rank)
    return traces


def test_a_straggler_is_named_with_what_the_others_wait(tmp_path):
    report = summary(ranks(tmp_path))
    first, second = report["ranks"]
    assert (first["straggler"], second["straggler"]) == (False, True)
    assert second["last_in"] == 2
    assert second["waited_for"] == pytest.approx(600e-6)
    assert first["waiting_time"] == pytest.approx(600e-6)
    assert first["transfer_time"] == second["transfer_time"] == pytest.approx(100e-6)
    advice = recommendations(ranks(tmp_path), report)
    assert advice[0]["change"] == "rank 1 as fast as the others"
    assert advice[0]["saves"] == pytest.approx(600e-6)


def loaded(loading):
    """Two steps of 1000 us and what the training process takes to load in each."""
    name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    events = []
    for number, start in enumerate((0, 1000 + loading)):
        events += [
            step(number, start, 1000 + loading),
            event(name, "user_annotation", start, loading),
            kernel(start + loading, 900),
        ]
    return events


def test_the_fewest_workers_that_hide_loading_are_recommended(tmp_path):
    """1800 us of loading beside 1000 us of work: two workers take 900 each, and nothing is waited for."""
    traces = trace(tmp_path / "t.json", loaded(1800))
    (row,) = recommendations(traces, summary(traces))
    assert row["change"] == "2 loader workers in place of the training process"
    assert row["saves"] == pytest.approx(1800e-6)
    assert row["option"] == "--loader-workers 2"


def test_pinned_memory_saves_what_the_link_is_faster(tmp_path):
    """16 MB in 4 ms from pageable memory; the link of a V100 carries 15.8 GB/s, so 1 ms is enough."""
    copy = {"device": 0, "bytes": 16_000_000}
    events = [step(1, 0, 10_000), kernel(4000, 6000)]
    events.append(event("Memcpy HtoD (Pageable -> Device)", "gpu_memcpy", 0, 4000, args=copy))
    traces = trace(tmp_path / "t.json", events)
    (row,) = recommendations(traces, summary(traces))
    assert row["change"].startswith("pinned memory")
    assert row["saves"] == pytest.approx(4e-3 - 16e6 / 15.754e9, rel=1e-3)


def test_small_messages_are_put_together(tmp_path):
    """Forty messages whose times lie on 20 us and 10 GB/s: one bucket starts once."""
    size = {"dtype": "Float", "Group size": 2, "Collective name": "allreduce"}
    events = [step(1, 0, 10_000)]
    for index in range(40):
        elements = 25_000 * (1 + index % 2)
        events.append(
            kernel(100 * index, 20 + elements * 4e-4, ALL_REDUCE, **{"In msg nelems": elements}, **size)
        )
    traces = trace(tmp_path / "t.json", events)
    (row,) = recommendations(traces, summary(traces))
    assert BUCKET_BYTES > 40 * 150_000
    assert row["change"] == "buckets of 25 MiB: 1 all-reduce a step, not 40"
    assert row["saves"] == pytest.approx(39 * 20e-6, rel=1e-3)


def test_the_model_tries_precisions_and_batches_of_the_job(tmp_path):
    traces = trace(tmp_path / "t.json", loaded(0))
    job = Scenario(workload="resnet50", local_batch_size=32, precision="fp32")
    rows = {row["option"].split()[0]: row for row in recommendations(traces, summary(traces), 0, job)}
    assert rows["--precision"]["change"] == "amp arithmetic in place of fp32"
    assert 0 < rows["--precision"]["saves"] < 1e-3
    for row in rows.values():
        assert row["low_80"] < row["saves"] < row["high_80"]
    batch = int(rows["--local-batch-size"]["option"].split()[1])
    fits = predict(job, accelerator="v100-sxm2-32gb").memory.largest_local_batch_size
    assert 32 < batch <= fits


def test_a_prediction_gets_no_advice_of_a_trace(tmp_path):
    write_timeline(tmp_path / "step.json", predict(gpus=2))
    traces = read_trace(tmp_path / "step.json")
    assert recommendations(traces, summary(traces)) == []


def test_a_page_stands_alone_and_shows_what_the_summary_says(tmp_path, invoke):
    ranks(tmp_path)
    files = [str(tmp_path / f"rank{rank}.json") for rank in range(2)]
    page = tmp_path / "report.html"
    done = invoke("trace", "report", *files, "--report", page, "--json")
    text = page.read_text("utf-8")
    assert not re.search(r"https?:|//|src=|href=|url\(|@import|<script", text)
    assert json.loads(done.stdout) == json.loads(invoke("trace", "summary", *files, "--json").stdout)
    for words in ("1 (straggler)", "rank 1 as fast as the others", "SM efficiency", "rank0.json: device 0"):
        assert words in text


def test_names_in_a_trace_do_not_become_part_of_the_page(tmp_path):
    attack = "<script>alert(1)</script>"
    events = [*SEEN, event(attack, "user_annotation", 0, 10)]
    header = {"deviceProperties": [{"id": 0, "name": attack}]}
    report = summary(trace(tmp_path / "t.json", events, header))
    report["recommendations"] = []
    assert attack not in (text := html_report(report))
    assert "&lt;script&gt;" in text


def test_a_page_that_cannot_be_written_is_refused_before_reading(tmp_path, invoke):
    refused = invoke("trace", "report", tmp_path / "t.json", "--report", "/nowhere/report.html")
    assert refused.exit_code == 2
    assert "/nowhere" in refused.stderr


def test_options_of_a_job_need_its_network(tmp_path, invoke):
    trace(tmp_path / "t.json", SEEN)
    refused = invoke("trace", "summary", tmp_path / "t.json", "--precision", "fp32")
    assert refused.exit_code == 2
    assert "--precision goes with --workload" in refused.stderr
    unknown = invoke("trace", "summary", tmp_path / "t.json", "--workload", "resnt50")
    assert "nearest: resnet50" in unknown.stderr


def test_text_has_the_figures(tmp_path, invoke):
    trace(tmp_path / "t.json", SEEN)
    printed = " ".join(invoke("trace", "summary", tmp_path / "t.json").stdout.split())
    for words in (
        "SM efficiency 20.0 %",
        "achieved occupancy 60.0 %",
        "kernels 30.0 %",
        "nothing recorded 10.0 %",
    ):
        assert words in printed


@real
def test_the_recommended_workers_save_what_the_traced_pair_differs_by():
    """Without workers 176 ms, with four 125 ms: 51 ms; kernels, copies and host differ between the files."""
    traces, others = (read_trace(SHARED / f"resnet50_v100_ws1_workers{count}_a.json.gz") for count in (0, 4))
    report, other = summary(traces, 1), summary(others, 1)
    row = next(row for row in recommendations(traces, report, 1) if "loader" in row["change"])
    measured = report["devices"][0]["iteration_time"] - other["devices"][0]["iteration_time"]
    assert row["saves"] == pytest.approx(measured, rel=0.2)


@real
def test_memory_of_a_real_trace_is_what_its_profiler_says():
    (device,) = summary(read_trace(SHARED / "transformer_ddp_v100_ws2_rank1.json.gz"))["devices"]
    memory = device["memory"]
    assert memory["peak"] == device["peak_memory"]
    assert sum(memory["peak_by_category"].values()) == pytest.approx(memory["peak"])
    assert memory["peak_by_category"]["forward"] > 1e9
    assert np.all(np.diff([time for time, _ in memory["curve"]]) >= 0)


@real
def test_the_rank_that_a_recommender_waits_for_is_named():
    traces = [one for path in sorted(SHARED.glob("dlrm*")) for one in read_trace(path)]
    late = [row["rank"] for row in summary(traces)["ranks"] if row["straggler"]]
    assert late == ["7"]


def test_another_accelerator_than_the_traces_is_refused(tmp_path):
    traces = trace(tmp_path / "t.json", loaded(0))
    with pytest.raises(InputError, match="v100"):
        recommendations(traces, summary(traces), 0, Scenario(accelerator="k80"))
