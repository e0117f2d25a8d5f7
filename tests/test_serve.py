"""``perfmodel serve``: safe by default, settings by option and environment, an end that loses no request."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from dataclasses import fields
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

pytest.importorskip("fastapi")

from perfmodel.core.errors import InputError
from perfmodel.core.units import show
from perfmodel.interfaces.cli import main
from perfmodel.interfaces.service import logs, tokens
from perfmodel.interfaces.service.settings import Settings, of_environment, option_of, variable_of
from perfmodel.interfaces.service.tokens import Tokens
from tests.serving import PATIENCE, Served, comes, parsed, rest_of, started

DOCS = Path(__file__).parents[1] / "docs" / "operating.md"
BODY = b'{"gpus": 8}'


def check(*words: str, **environment: str) -> Result:
    return CliRunner().invoke(main, ["serve", "--check", "--port", "0", *words], env=environment)


def test_without_an_option_nobody_else_can_reach_it():
    settings = Settings()
    assert settings.is_loopback
    assert settings.hosts == {"localhost", "127.0.0.1", "[::1]"}
    assert not settings.cors_origin
    assert check().output == "ready: would listen on http://127.0.0.1:0\n"


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "", "10.0.0.1", "example.org", "127.0.0.1.example.org", "0"]
)
def test_another_address_needs_tokens_or_an_order(host, tmp_path):
    assert "--token-file" in check("--host", host).stderr
    with pytest.raises(InputError, match="reached by other machines"):
        Settings(host=host)
    assert Settings(host=host, without_token=True).hosts is None
    file = tmp_path / "tokens"
    file.write_text("x" * 32)
    file.chmod(0o600)
    assert Settings(host=host, token_file=str(file)).hosts is None
    assert [*Tokens(str(file)).names.values()] == ["line 1"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "::1"])
def test_loopback_needs_none(host):
    assert Settings(host=host).is_loopback


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "No such file"),
        ("", "no token"),
        ("# only this\n", "no token"),
        ("short", "shorter than 16"),
        ("alice short", "shorter than 16"),
        ("alice and-her-0123456789 token", "line 1 has 3 words"),
    ],
)
def test_a_file_of_tokens_that_protects_nothing_is_refused(tmp_path, text, words):
    file = tmp_path / "tokens"
    if text is not None:
        file.write_text(text)
        file.chmod(0o600)
    done = check("--token-file", str(file))
    assert (done.exit_code, words in done.stderr) == (2, True)


@pytest.mark.skipif(os.name != "posix", reason="permissions and devices of POSIX")
def test_a_file_of_tokens_is_a_small_regular_file_that_others_cannot_read(tmp_path):
    file, pipe, large = tmp_path / "tokens", tmp_path / "pipe", tmp_path / "large"
    file.write_text("x" * 32)
    os.mkfifo(pipe, 0o600)
    large.write_text(f"{'x' * 32}\n" * 2000)
    large.chmod(0o600)
    for mode in (0o604, 0o644, 0o602, 0o620, 0o660):
        file.chmod(mode)
        done = check("--token-file", str(file))
        assert (done.exit_code, f"chmod g-w,o-rwx {file}" in done.stderr) == (2, True)
    for mode in (0o600, 0o400, 0o440):
        file.chmod(mode)
        assert check("--token-file", str(file)).exit_code == 0
    (tmp_path / "link").symlink_to(file)  # as secrets are that Kubernetes mounts
    assert check("--token-file", str(tmp_path / "link")).exit_code == 0
    for odd, words in (
        (pipe, "no regular file"),
        ("/dev/zero", "no regular file"),
        (tmp_path, "no regular file"),
        (large, "longer than 65,536 bytes"),
    ):
        done = check("--token-file", str(odd))
        assert (done.exit_code, words in done.stderr) == (2, True), done.stderr


BAD = {
    "port": "65536",
    "workers": "0",
    "body_bytes": "1e30",
    "nesting": "201",
    "candidates": "0",
    "seconds": "nan",
    "memory_bytes": "1MB",
    "queue": "-1",
    "head_seconds": "0",
    "drain_seconds": "2h",
}


@pytest.mark.parametrize(("name", "value"), BAD.items(), ids=BAD.keys())
def test_numbers_out_of_range_are_refused_in_option_and_environment(name, value):
    for done in (
        check(f"{option_of(name)}={value}"),
        check(**{variable_of(name): value} if name != "port" else {}),
    ):
        if name != "port" or "65536" in done.output:
            assert done.exit_code == 2, done.output
            assert "Traceback" not in done.output


def test_every_setting_is_an_option_and_a_variable_and_handed_down(monkeypatch):
    seen: list[Settings] = []
    monkeypatch.setattr(
        "perfmodel.interfaces.service.serve.serve", lambda settings, listening: seen.append(settings)
    )
    values = {
        "port": (9000, "9000"),
        "allowed_host": (("a.example.org",), "a.example.org"),
        "cors_origin": (("https://example.org",), "https://example.org"),
        "body_bytes": (1_000_000, "1MB"),
        "seconds": (90.0, "90"),
        "idle_seconds": (120.0, "2min"),
        "memory_bytes": (2**30, "1GiB"),
        "access_log": (False, "0"),
        "without_token": (True, "1"),
    }
    environment = {variable_of(name): text for name, (_, text) in values.items()}
    done = CliRunner().invoke(main, ["serve"], env=environment)
    assert done.exit_code == 0, done.output
    assert {name: getattr(seen[0], name) for name in values} == {
        name: value for name, (value, _) in values.items()
    }
    assert of_environment(seen[0].handed_down()) == seen[0]
    assert of_environment({}) == Settings()
    words = [option_of(one.name) for one in fields(Settings)]
    assert all(word in CliRunner().invoke(main, ["serve", "--help"]).output for word in words)


def test_an_address_that_is_taken_is_said_so():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        for words in (["--check"], []):
            done = CliRunner().invoke(main, ["serve", "--port", port, *words])
            assert done.exit_code == (1 if words else 2)
            assert f"cannot listen on 127.0.0.1, port {port}" in done.output
        told = json.loads(CliRunner().invoke(main, ["serve", "--port", port, "--check", "--json"]).stdout)
        assert told["ready"] is False


def test_tokens_are_read_again_when_their_file_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(tokens, "LOOK", -1.0)
    log = StringIO()
    monkeypatch.setattr(logs, "_outputs", [log])
    file = tmp_path / "tokens"
    file.write_text("alice first-token-0123456789\n")
    file.chmod(0o600)
    known = Tokens(str(file))
    assert [*known.names.values()] == ["alice"]
    file.write_text("alice first-token-0123456789\nbob second-token-0123456789\n")
    assert [*known.names.values()] == ["alice", "bob"]
    file.write_text("short")  # while somebody writes it
    assert [*known.names.values()] == ["alice", "bob"]
    file.unlink()
    assert [*known.names.values()] == ["alice", "bob"]
    file.write_text("bob second-token-0123456789\n")
    file.chmod(0o600)
    assert [*known.names.values()] == ["bob"]
    events = [json.loads(line)["event"] for line in log.getvalue().splitlines()]
    assert events == ["tokens read again", *["tokens not read again"] * 2, "tokens read again"]
    assert "0123456789" not in log.getvalue()


def refused(served: Served) -> bool:
    """Return whether nobody listens any more."""
    try:
        served.connect().close()
    except ConnectionError:
        return True
    return False


def test_sigterm_lets_what_is_in_flight_finish_and_refuses_what_is_new():
    with started("--drain-seconds", "60", "--body-seconds", "60") as (served, process, logged):
        assert served.ask("/v1/predict", BODY)[0] == 200
        with served.connect() as half:
            head = f"POST /v1/predict HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(BODY)}\r\n"
            half.sendall(f"{head}content-type: application/json\r\n\r\n".encode() + BODY[:4])
            in_flight = b"perfmodel_requests_in_flight 2.0\n"  # this one, and that which asks
            assert comes(lambda: in_flight in served.ask("/metrics")[2])
            process.send_signal(signal.SIGTERM)
            assert comes(lambda: refused(served))
            half.sendall(BODY[4:])
            status, _, body = parsed(rest_of(half))  # which ends: the connection is closed
        assert status == 200
        assert json.loads(body)["iteration_time"] > 0
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        events = [json.loads(line) for line in logged().splitlines()]
    assert [line["event"] for line in events] == ["listening", "request", "request", "ended"]


def counted(served: Served, name: str) -> float:
    lines = served.ask("/metrics")[2].decode().splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(name))


def test_several_processes_answer_on_one_address_and_one_that_is_killed_comes_back():
    with started("--workers", "2") as (served, process, _):
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        if not children.exists():
            pytest.skip("no /proc")

        def answering() -> set[str]:
            words = b"of_environment_protected"
            several = children.read_text().split()
            return {one for one in several if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes()} or {
                one for one in several if words in Path(f"/proc/{one}/cmdline").read_bytes()
            }

        assert comes(lambda: counted(served, "perfmodel_build_info") == 1)
        statuses: list[int] = []
        threads = [
            threading.Thread(target=lambda: statuses.append(served.ask("/v1/predict", BODY)[0]))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert statuses == [200] * 8
        assert counted(served, 'perfmodel_requests_total{route="/v1/predict",status="200"}') == 8
        assert comes(lambda: len(answering()) == 2)
        killed = min(answering())
        os.kill(int(killed), signal.SIGKILL)
        # the other one is started anew too where a busy machine keeps it from answering for five seconds
        assert comes(lambda: len(answering() - {killed}) == 2)
        assert comes(lambda: served.answers("/readyz"))
        assert served.ask("/v1/predict", BODY)[0] == 200
        assert counted(served, 'perfmodel_requests_total{route="/v1/predict",status="200"}') == 9
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0


def table() -> str:
    """The settings as a table of the documentation."""
    lines = ["| option | what it allows | default | beyond it |", "| --- | --- | --- | --- |"]
    for one in fields(Settings):
        default, unit = one.default, one.metadata["unit"]
        shown = (
            show(default, unit)
            if unit
            else {"None": "", "()": "", "True": "on", "False": "off"}.get(str(default), default)
        )
        words = one.metadata["words"].partition("  [")[0]
        lines.append(f"| `{option_of(one.name)}` | {words} | {shown} | {one.metadata['answers']} |")
    return "\n".join(lines)


def test_the_table_of_settings_is_as_they_are():
    assert table() in DOCS.read_text("utf-8")
