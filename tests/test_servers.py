"""Where parameter servers run: what each arrangement takes, and that it pays as published."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel import InputError
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.prediction.training.servers import arrangements

LINK = Catalogue.of(None).link("ethernet-25g-tcp")


def _of(workers: int, servers: int, size: float) -> list:
    return list(arrangements(LINK, workers, servers, size).rows)


@given(workers=st.integers(2, 64), servers=st.integers(1, 80), size=st.floats(1e6, 1e10))
def test_arrangements_are_ordered_as_physics_orders_them(workers, servers, size):
    barrier, blocks, beside, beside_blocks, both, ring = _of(workers, servers, size)
    assert blocks.time <= barrier.time
    assert both.time <= blocks.time * (1 + 1e-9)  # the same machines, and ports of workers besides
    assert both.time <= beside_blocks.time * (1 + 1e-9)
    assert beside_blocks.time <= beside.time * (1 + 1e-9)
    assert beside_blocks.server_port_bytes == beside.server_port_bytes >= 2 * size * (1 - 1 / workers)
    assert ring.total_bytes == beside.total_bytes < barrier.total_bytes
    assert servers * barrier.server_port_bytes == pytest.approx(barrier.total_bytes)


@pytest.mark.published("Jiang et al. 2020 (BytePS): with a CPU machine for each worker, up to twice a ring")
def test_as_many_servers_as_workers_halve_a_ring():
    both, ring = _of(64, 64, 1e10)[4:]
    assert ring.time / both.time == pytest.approx(2, rel=0.05)


@given(workers=st.integers(2, 12), data=st.data())
def test_the_port_of_a_worker_with_a_server_carries_both(workers, data):
    """Counted message by message: every worker sends every shard to its host and fetches it again."""
    servers = data.draw(st.integers(1, workers))
    through = [0] * workers
    for worker in range(workers):
        for host in set(range(servers)) - {worker}:
            through[worker] += 2
            through[host] += 2
    for row in _of(workers, servers, 1e9)[2:4]:
        assert row.server_port_bytes == pytest.approx(max(through) * 1e9 / servers)


def test_one_server_on_a_worker_is_one_worker():
    assert [row.name for row in _of(8, 1, 1e9)][2:4] == ["on 1 worker", "on 1 worker, in blocks"]


def test_the_command_prints_them(invoke):
    answer = json.loads(invoke("servers", "--workers", "8", "--servers", "8", "--json").stdout)
    assert len(answer["rows"]) == 6
    shown = invoke("servers", "--gradient-size", "528MB").stdout
    assert "BytePS" in shown
    assert "ring" in shown


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("--workers", "1"), "at least 2"),
        (("--gradient-size", "0B"), "above 0"),
        (("--inter-link", "ethernt-25g-tcp"), "nearest"),
        (("--inter-link", "nvlink2-cube-mesh"), "expected one between machines"),
    ],
)
def test_bad_input_is_named(asked, words, invoke):
    done = invoke("servers", *asked)
    assert done.exit_code == 2
    assert words in done.stderr
    with pytest.raises(InputError):
        arrangements(LINK, 8, 4, 0.0)
