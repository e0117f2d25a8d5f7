"""Compression: what is moved, and when it pays, against the collectives it has to use."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import perfmodel
from perfmodel.decide.explanations.sources import references
from perfmodel.equations import compression, ring_all_reduce, shuffles
from perfmodel.model.options.compression import KINDS, Scheme, parse_scheme
from perfmodel.model.prediction.training.compressed_exchange import CompressedExchange
from perfmodel.model.step.compression import Gradient, coded, gradient_of, square_gradient
from perfmodel.workloads import workload

ranks = st.integers(2, 4096)
elements = st.integers(1000, 10**9)


@given(n=ranks, d=elements, dense_bytes=st.sampled_from([2, 4]))
def test_break_even_density_is_where_the_two_exchanges_are_equally_fast(
    n: int, d: int, dense_bytes: int
) -> None:
    density = compression.break_even_density(n, dense_bytes)
    dense = ring_all_reduce.ring_all_reduce_time(n, d * dense_bytes, 0, 1e9)

    def sparse(share: float) -> float:
        return float(shuffles.ring_all_gather_time(n, n * compression.top_k_bytes(d, share), 0, 1e9))

    assert sparse(density) == pytest.approx(dense, rel=1e-9)
    assert sparse(0.9 * density) < dense < sparse(1.1 * density)


NAMED = "fp16 topk:0.01 topk:0.3 randomk:0.01 qsgd:2bit qsgd:8bit signsgd terngrad powersgd:1 onebit"
SCHEMES = st.sampled_from(NAMED.split())
NETWORK = square_gradient(100e6)


@given(matrices=st.lists(st.tuples(st.integers(2, 300), st.integers(2, 300)), min_size=1, max_size=6))
def test_what_is_sent_is_what_formulas_of_each_tensor_sum_to(matrices: list[tuple[int, int]]) -> None:
    gradient = Gradient(tuple((float(y), float(x)) for y, x in matrices), 10.0, len(matrices) + 1)
    d = sum(y * x for y, x in matrices) + 10
    sent = {name: coded(parse_scheme(name), gradient, 4).bytes for name in KINDS}
    assert sent["fp16"] == 2 * d
    assert sent["signsgd"] == pytest.approx(d / 8)
    assert sent["terngrad"] == pytest.approx(d / 4 + 4 * (len(matrices) + 1))
    assert sent["onebit"] == pytest.approx(d / 8 + 8 * sum(x for _, x in matrices))
    assert sent["qsgd"] == pytest.approx(d / 2 + 4 * d / 512)
    assert sent["topk"] == pytest.approx(0.08 * d)
    assert sent["randomk"] == pytest.approx(0.04 * d)
    whole = 4 * sum(min(4 * (y + x), y * x) for y, x in matrices) + 40
    assert sent["powersgd"] == pytest.approx(whole)


@given(rows=st.integers(20, 5000), columns=st.integers(20, 5000), rank=st.integers(1, 8))
def test_a_low_rank_product_is_as_small_as_published(rows: int, columns: int, rank: int) -> None:
    ratio = rows * columns / compression.powersgd_elements(rows, columns, rank)
    gradient = Gradient(((float(rows), float(columns)),), 0.0, 1)
    sent = coded(Scheme("powersgd", rank), gradient, 4).bytes
    assert sent == pytest.approx(4 * rows * columns / max(1, ratio))


@given(scheme=SCHEMES, n=st.integers(2, 64))
def test_coding_more_ranks_takes_longer_only_where_they_are_gathered(scheme: str, n: int) -> None:
    one, more = (coded(parse_scheme(scheme), NETWORK, ranks) for ranks in (n, n + 1))
    assert more.encode == one.encode
    gathered = parse_scheme(scheme).kind.collective == "all-gather"
    assert (more.decode.traffic > one.decode.traffic) == gathered
    assert more.decode.kernels == one.decode.kernels


@given(n=st.integers(2, 512), size=st.floats(1e6, 1e10), share=st.floats(0.001, 1), coding=st.floats(1e-4, 1))
def test_at_the_break_even_bandwidth_both_exchanges_take_as_long(
    n: int, size: float, share: float, coding: float
) -> None:
    port = share * 2 * (n - 1) * size / n
    bandwidth = compression.break_even_bandwidth(n, size, port, coding / 3, 2 * coding / 3)
    if bandwidth:
        dense = ring_all_reduce.ring_all_reduce_time(n, size, 0, bandwidth)
        assert dense == pytest.approx(coding + port / bandwidth, rel=1e-6)
    assert compression.break_even_bandwidth(n, size, 3 * size, coding, 0) == 0


def test_every_scheme_is_coded_and_has_a_source() -> None:
    for name, kind in KINDS.items():
        assert coded(parse_scheme(name), NETWORK, 8).bytes > 0
        assert kind.source in references()
        assert parse_scheme(str(parse_scheme(name))) == parse_scheme(name)
    summable = {name for name, kind in KINDS.items() if kind.collective == "all-reduce"}
    assert summable == {"fp16", "randomk", "powersgd"}


@pytest.mark.parametrize("name", ["resnet50", "vgg16", "bert-base", "mobilenet-v2", "gpt2", "dlrm"])
def test_a_networks_gradient_has_all_its_parameters(name: str) -> None:
    network = workload(name)
    gradient = gradient_of(network)
    assert gradient.elements == network.parameters
    assert gradient.vector_elements < 0.03 * network.parameters


def test_times_are_those_of_a_step_near_the_collectives_and_of_coding() -> None:
    """What ports carry in a training step is learned from such; a collective alone from collectives."""
    place = {"gpus": 16, "node": "aws-p3.2xlarge", "inter_link": "ethernet-10g-tcp"}
    answer = perfmodel.compression(["topk:0.01", "fp16"], workload="vgg16", **place)
    top, half = answer.rows
    fabric = {"ranks": 16, "node": "aws-p3.2xlarge", "inter_link": "ethernet-10g-tcp", "nodes": 16}
    gathered = perfmodel.collective("all-gather", size=16 * top.sent_bytes, **fabric)
    assert top.communication_time == pytest.approx(gathered.time, rel=0.03)
    assert half.communication_time == pytest.approx(
        perfmodel.collective(size=half.sent_bytes, **fabric).time, rel=0.03
    )
    assert answer.dense_time == pytest.approx(
        perfmodel.collective(size=answer.gradient_bytes, **fabric).time, rel=0.03
    )
    for row in answer.rows:
        assert row.time == pytest.approx(row.encode_time + row.communication_time + row.decode_time)
        assert row.low_80 < row.time < row.high_80
        assert row.saves == pytest.approx(answer.dense_time - row.time)


def test_compression_pays_on_slow_networks_and_not_on_fast_ones() -> None:
    def row(scheme: str, **place: object) -> CompressedExchange:
        return perfmodel.compression(scheme, **place).rows[0]  # type: ignore[arg-type]

    slow = {"gpus": 16, "node": "aws-p3.2xlarge", "inter_link": "ethernet-10g-tcp"}
    slow["framework"] = "pytorch@2023"
    for scheme in ("topk:0.01", "powersgd:4", "fp16", "onebit"):
        assert row(scheme, **slow).saves > 0
    for scheme in ("topk:0.01", "powersgd:4", "onebit"):
        fast = row(scheme, gpus=8)  # NVLink in one machine
        assert fast.saves < 0
        assert fast.break_even_bandwidth < 100e9
    # what a port gathers grows with the ranks: two bits are too many for sixty-four of them
    assert row("terngrad", **slow | {"gpus": 64}).break_even_bandwidth == 0


@pytest.mark.published("pytorch/pytorch issue 22812: torch.topk, 2e6 fp32 elements, 25.6 ms on a GP100")
def test_old_software_searches_for_the_largest_elements_as_slowly_as_measured() -> None:
    def encode(framework: str) -> float:
        place = {"accelerator": "p100-sxm2-16gb", "size": "8MB", "framework": framework}
        return perfmodel.compression("topk:0.0005", **place).rows[0].encode_time

    old, new = encode("pytorch@2019"), encode("pytorch@2023")
    assert old == pytest.approx(25.6e-3, rel=0.05)
    assert new < old / 20


def test_a_slower_accelerator_codes_longer() -> None:
    kinds = ("k80", "v100-sxm2-16gb", "h100-sxm5-80gb")
    times = [perfmodel.compression("topk", workload="vgg16", accelerator=kind).rows[0] for kind in kinds]
    assert times[0].encode_time > times[1].encode_time > times[2].encode_time


def test_text_says_when_it_pays(invoke) -> None:  # type: ignore[no-untyped-def]
    printed = invoke("compression", "--scheme", "topk:0.001", "--gpus", "64").stdout
    words = " ".join(printed.split())
    assert "pays below" in words
    assert "published effect" in words
    assert "Deep gradient compression" in words
    assert "never pays" in invoke("compression", "--scheme", "qsgd:8bit", "--gpus", "64").stdout
