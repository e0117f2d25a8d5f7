"""Sweeps by the workers of a Dask cluster, some of whom are killed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from perfmodel import InputError, sweep
from perfmodel.decide.sweeps import dask_jobs
from perfmodel.decide.sweeps.manifest import NAME, description
from perfmodel.decide.sweeps.part_files import PartWriter, part_name, write_part
from tests.test_sweep_parts import ASKED, _end, cut, files

distributed = pytest.importorskip("distributed")
pytest.importorskip("pyarrow")
pytestmark = pytest.mark.any_version  # an old cluster may hang at its end, where a worker was killed


@pytest.fixture(scope="module")
def cluster():
    """Two workers, each a process that is started again where it ends."""
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs="CRITICAL"
    )
    yield cluster
    # one that is just being started again may never answer; the processes end with this one
    with contextlib.suppress(TimeoutError, asyncio.TimeoutError):
        cluster.close(timeout=20)


def pids(cluster):
    return [nanny.pid for nanny in cluster.workers.values() if nanny.pid]


def test_a_killed_worker_loses_nothing_and_nothing_is_twice(cluster, tmp_path):
    found = cut(sweep(**ASKED), 30)
    expected = found.to_dataset(str(tmp_path / "whole"), jobs=1)
    killed, written = [], []

    def kill_some(part, _):
        if part is None:
            return
        written.append(part.number)
        if len(written) in (2, 9):  # while the other parts wait or are worked on
            killed.append(pids(cluster)[0])
            os.kill(killed[-1], signal.SIGKILL)

    answer = found.to_dataset(str(tmp_path / "killed"), dask=cluster.scheduler_address, progress=kill_some)
    assert len(killed) == 2
    assert sorted(written) == [*range(len(found.parts))]
    assert (answer.rows, answer.refused) == (expected.rows, expected.refused)
    assert files(tmp_path / "killed") == files(tmp_path / "whole")
    assert json.loads((tmp_path / "killed" / NAME).read_text())["is_complete"] is True


def test_the_command_goes_on_with_a_cluster(cluster, tmp_path, invoke):
    words = ("sweep", "--gpus", "1-64", "--output", f"{tmp_path}/")
    assert invoke(*words).exit_code == 0
    (tmp_path / part_name(0)).unlink()
    said = invoke(*words, "--dask", cluster.scheduler_address, "--json")
    assert said.exit_code == 0, said.stderr
    assert (tmp_path / part_name(0)).is_file()
    answer = json.loads(said.stdout)
    assert (answer["rows_written"], answer["continued"]) == (64, 0)


def test_workers_check_what_is_there_and_write_the_rest(cluster, tmp_path, monkeypatch):
    """In tasks of several parts, none of which is lost or done twice."""
    monkeypatch.setattr(dask_jobs, "TASKS", 7)
    whole = cut(sweep(**ASKED), 30)
    whole.to_dataset(str(tmp_path / "all"), jobs=1)
    expected = files(tmp_path / "all")
    (tmp_path / "all" / part_name(3)).unlink()
    (tmp_path / "all" / part_name(20)).write_bytes(b"cut off")
    written = []
    answer = whole.to_dataset(
        str(tmp_path / "all"),
        dask=cluster.scheduler_address,
        progress=lambda part, _: written.append(part and part.number),
    )
    assert written[0] is None
    assert sorted(written[1:]) == [3, 20]
    assert answer.continued == len(whole.parts) - 2
    assert files(tmp_path / "all") == expected
    assert whole.to_dataset(str(tmp_path / "all"), dask=cluster.scheduler_address).continued == len(
        whole.parts
    )
    whole.to_dataset(str(tmp_path / "new"), dask=cluster.scheduler_address)
    assert files(tmp_path / "new") == expected
    with distributed.Client(cluster) as client:
        deadline = time.monotonic() + 20
        while client.run_on_scheduler(lambda dask_scheduler: [*dask_scheduler.tasks]):
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_what_ends_its_workers_again_and_again_is_said(cluster, tmp_path):
    parts = cut(sweep(**ASKED), 500).parts
    writer = PartWriter(parts, str(tmp_path), ".parquet", description(parts)["sha256"])
    (tmp_path / NAME).touch()

    def allow(failures, dask_scheduler):
        before, dask_scheduler.allowed_failures = dask_scheduler.allowed_failures, failures
        return before

    with distributed.Client(cluster) as client:
        usual = client.run_on_scheduler(allow, 0)
        with (
            dask_jobs.connected(cluster.scheduler_address) as workers,
            pytest.raises(InputError, match="workers ended again and again at the same parts"),
        ):
            list(workers.each(_end, writer, [0]))
        client.run_on_scheduler(allow, usual)


def test_a_lost_scheduler_is_said_in_words_and_the_sweep_goes_on(tmp_path, capfd):
    """Killed while the client waits for the second part, whose worker has stopped; the first one stays."""
    whole = cut(sweep(**ASKED), 30)
    whole.to_dataset(str(tmp_path / "whole"), jobs=1)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "dask", *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        for words in (
            ["scheduler", "--host", address, "--no-dashboard"],
            ["worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny"],
        )
    ]

    def kill(part, _):
        if part is not None:
            os.kill(processes[1].pid, signal.SIGSTOP)
            threading.Timer(1.0, processes[0].kill).start()

    try:
        with pytest.raises(InputError, match=rf"dask {address}: the scheduler is lost .*the same command"):
            whole.to_dataset(str(tmp_path / "lost"), dask=address, progress=kill)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert "Traceback" not in capfd.readouterr().err
    held = json.loads((tmp_path / "lost" / NAME).read_text())
    assert held["is_complete"] is False
    assert whole.to_dataset(str(tmp_path / "lost"), jobs=1).continued == len(held["complete"]) >= 1
    assert files(tmp_path / "lost") == files(tmp_path / "whole")


def test_a_worker_that_sees_another_folder_says_so(cluster, tmp_path):
    found = cut(sweep(**ASKED), 200)
    writer = PartWriter(found.parts, str(tmp_path), ".parquet", "of another version")
    with dask_jobs.connected(cluster.scheduler_address) as workers:
        with pytest.raises(InputError, match="does not see what was begun there; name a folder that all"):
            list(workers.each(write_part, writer, range(2)))
        (tmp_path / NAME).touch()
        with pytest.raises(InputError, match="has another perfmodel, or other files"):
            list(workers.each(write_part, writer, range(2)))


def test_no_scheduler_is_said_in_a_line(tmp_path, invoke, monkeypatch):
    monkeypatch.setattr(dask_jobs, "PATIENCE", 0.2)
    for address in ("tcp://127.0.0.1:1", "nonsense://x"):
        said = invoke("sweep", "--gpus", "1-4", "--output", f"{tmp_path}/", "--dask", address)
        assert said.exit_code == 2
        waits, refused = said.stderr.splitlines()
        assert (
            waits == f"--dask {address}: waits up to 0.2 s for its scheduler, then as long for a first worker"
        )
        assert refused.startswith(f"perfmodel: --dask {address}: no Dask scheduler answers there")


def test_what_is_waited_for_is_said_before_the_wait(tmp_path, invoke, monkeypatch):
    address = "tcp://10.0.0.1:8786"
    said: list[str] = []

    def asked(*_, **__):
        said.append("asked")
        raise OSError("nobody answers")

    monkeypatch.setattr(distributed, "Client", asked)
    monkeypatch.setattr(
        "perfmodel.decide.sweeps.dask_jobs.waiting_words", lambda address: said.append(address) or ""
    )
    invoke("sweep", "--gpus", "1-4", "--output", f"{tmp_path}/", "--dask", address)
    assert said == [address, "asked"]


def test_a_web_server_is_no_scheduler(tmp_path, invoke, monkeypatch):
    """As the scheduler's dashboard, whose port is the next one."""
    monkeypatch.setattr(dask_jobs, "PATIENCE", 5)
    page = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answers():
            connection, _ = server.accept()
            with connection:
                connection.sendall(page)
                while connection.recv(4096):
                    pass

        threading.Thread(target=answers, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        said = invoke("sweep", "--gpus", "1-4", "--output", f"{tmp_path}/", "--dask", address)
    assert said.exit_code == 2
    assert f"perfmodel: --dask {address}: no Dask scheduler answers there (another server" in said.stderr
