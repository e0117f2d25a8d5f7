"""What strangers send to the service is refused or bounded, and the service stays alive."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO

import pytest

pytest.importorskip("fastapi")

from starlette.types import Message, Receive, Scope, Send

from perfmodel.interfaces.service import bodies, heads, logs, metrics, observe, server
from perfmodel.interfaces.service.metrics import Metrics
from perfmodel.interfaces.service.refusal import answer
from perfmodel.interfaces.service.settings import Settings
from tests.serving import Served, comes, parsed, rest_of, sample, serving

LIMIT = 10_000
AT_ONCE = 30
"""Connections open at once."""
LONG, SOON = 60.0, 0.4
"""Seconds that a limit of time is: more than a busy machine takes, or what a test waits for."""
WAIT = 25.0
"""Seconds in which what is cut off soon ends, however busy the machine is."""
POST = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"


@contextmanager
def limited(**seconds: float) -> Iterator[Served]:
    """Serve with low limits of size; those of time are long where they are not given."""
    settings = Settings(
        body_bytes=LIMIT,
        buffered_bytes=3 * LIMIT,
        nesting=20,
        connections=AT_ONCE,
        access_log=False,
        **{"body_seconds": LONG, **seconds},
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bodies, "LINGER", 0.1)
        with serving(settings) as served:
            yield served


@pytest.fixture(scope="module")
def service() -> Iterator[Served]:
    with limited() as served:
        yield served


@pytest.fixture(scope="module")
def bodies_in_haste() -> Iterator[Served]:
    with limited(body_seconds=SOON) as served:
        yield served


@pytest.fixture(autouse=True)
def _stays_alive(request):
    yield
    for one in request.node.funcargs.values():
        if isinstance(one, Served):
            assert comes(one.alive)


def detail(answer: tuple[int, dict[str, str], bytes]) -> str:
    status, headers, body = answer
    problem = json.loads(body)
    assert headers["content-type"] == "application/problem+json"
    assert problem["status"] == status
    return str(problem["detail"])


def test_a_body_comes_whole_to_the_application(service: Served):
    body = json.dumps({"a": "x" * (LIMIT - 100)}).encode()
    status, headers, answer = service.ask("/", body)
    assert (status, answer) == (200, body)
    assert len(headers["x-request-id"]) == 16
    assert headers["x-content-type-options"] == "nosniff"
    chunked = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\n"
    chunked += b"transfer-encoding: chunked\r\n\r\n2\r\n[1\r\n3\r\n,2]\r\n0\r\nx-trailer: a\r\n\r\n"
    assert parsed(service.raw(chunked))[2] == b"[1,2]"


def test_a_long_body_comes_whole_and_the_connection_stays():
    body = b'"%b"' % (b"x" * 3_900_000)
    with serving(Settings(access_log=False)) as served, served.connect() as taken:
        for _ in range(2):
            taken.sendall(POST + b"content-length: %d\r\n\r\n" % len(body) + body)
            answer = b""
            while not answer.endswith(b'x"'):
                answer += taken.recv(1_000_000)
            assert parsed(answer)[2] == body


@pytest.mark.parametrize("length", [LIMIT + 1, 10**15, "9" * 400, "-1", "0x10", "1e3", "१"])
def test_a_length_that_is_too_large_or_none_is_refused_before_the_body(service: Served, length):
    text = f"POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
    with service.connect() as taken:
        taken.sendall(text.encode())
        assert parsed(rest_of(taken))[0] in (400, 413)


def test_a_body_without_a_length_is_counted(service: Served):
    head = b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
    with service.connect() as taken:
        taken.sendall(head + b"7d0\r\n%b\r\n" % (b"x" * 2000) * 6)
        answer = parsed(rest_of(taken))
    assert (answer[0], "10,000 bytes" in detail(answer)) == (413, True)
    assert service.tiny.bodies[-1:] != [b"x" * 2000]


def test_lengths_in_two_ways_are_refused(service: Served):
    head = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n"
    assert parsed(service.raw(head + b"0\r\n\r\n"))[0] == 400


def test_a_packed_body_is_not_read(service: Served):
    bomb = gzip.compress(b"[" * 5_000_000)
    answer = service.ask("/", bomb, content_encoding="gzip")
    assert (answer[0], answer[1]["accept-encoding"]) == (415, "identity")
    assert service.ask("/", b"[]", content_encoding="identity")[0] == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "", "application/x-www-form-urlencoded", "multipart/form-data"]
)
def test_what_a_page_may_send_without_being_asked_is_no_body(service: Served, kind):
    assert service.ask("/", b"[]", content_type=kind)[0] == 415
    assert service.ask("/", b"[]", content_type="Application/JSON; charset=utf-8")[0] == 200


@pytest.mark.parametrize(
    "body",
    [b"[" * LIMIT, b"[" * 21 + b"]" * 21, b'{"a":' * 30 + b"1" + b"}" * 30, b"[" * 40 + b"}" * 40],
    ids=["open", "one too deep", "objects", "crossed"],
)
def test_brackets_nest_only_so_deep(service: Served, body):
    assert "deeper than 20" in detail(service.ask("/", body))


def test_brackets_in_texts_do_not_count(service: Served):
    body = json.dumps({"a": ["[" * 100, '\\"' * 50 + "{" * 100], "b": [[]] * 100}).encode()
    assert service.ask("/", body)[0] == 200


def test_a_slow_body_is_cut_off(bodies_in_haste: Served):
    start = time.monotonic()
    head = POST + b"content-length: 100\r\n\r\n"
    answer = parsed(bodies_in_haste.raw(head + b"["))
    assert (answer[0], "0.4 s" in detail(answer)) == (408, True)
    assert time.monotonic() - start < WAIT


@pytest.mark.parametrize(
    "part", [b"x: " + b"y" * 1000 + b"\r\n", b"y" * 1000], ids=["many headers", "a long one"]
)
def test_a_head_without_end_is_refused(service: Served, part):
    with service.connect() as taken:
        try:
            taken.sendall(b"GET / HTTP/1.1\r\nhost: localhost\r\nx: " + part * 100)
        except OSError:
            return
        answer = rest_of(taken)
    assert answer == b"" or parsed(answer)[0] == 400


def test_trailers_without_end_are_cut_off(service: Served):
    head = b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n0\r\n"
    sent = 0
    with service.connect() as taken:
        try:
            while sent < 50_000_000:
                taken.sendall(head if not sent else b"x: " + b"y" * 10_000 + b"\r\n")
                sent += 10_000
        except OSError:
            pass
    assert sent < 20_000_000  # what the system buffers on the way


def counted(served: Served, name: str, **labels: str) -> float:
    return sample(served.app.metrics, name, **labels)


def test_connections_beyond_those_allowed_are_refused(service: Served):
    assert comes(lambda: not service.connections)
    most = AT_ONCE + server.PROBES
    held = [service.connect() for _ in range(most)]
    try:
        assert comes(lambda: len(service.connections) == most)
        assert service.ask("/healthz")[0] == 503
    finally:
        for taken in held:
            taken.close()
    assert comes(service.alive)


def test_probes_are_answered_when_all_connections_have_requests(service: Served):
    assert comes(lambda: not service.connections)
    held = [service.connect() for _ in range(AT_ONCE)]
    try:
        for taken in held:
            taken.sendall(POST + b"content-length: 10\r\n\r\n[")
        assert comes(lambda: counted(service, "perfmodel_requests_in_flight") == AT_ONCE)
        assert service.alive()
        assert service.answers("/readyz")
        answer = service.ask("/", b"[]")
        assert (answer[0], answer[1]["retry-after"], "too many" in detail(answer)) == (503, "1", True)
    finally:
        for taken in held:
            taken.close()


def test_a_thousand_connections_come_and_go(service: Served):
    for _ in range(10):
        held = [service.connect() for _ in range(100)]
        for taken in held:
            taken.close()
    assert comes(service.alive)


def test_bodies_together_are_bounded(service: Served):
    def buffered() -> float:
        return counted(service, "perfmodel_buffered_bytes")

    head = POST + b"content-length: 9999\r\n\r\n"
    assert comes(lambda: buffered() == 0)
    held = [service.connect() for _ in range(3)]
    try:
        for taken in held:
            taken.sendall(head + b" " * 9990)
        assert comes(lambda: buffered() == 3 * 9990)
        status, headers, _ = service.ask("/", b" " * 9000)
        assert (status, headers["retry-after"]) == (503, "1")
    finally:
        for taken in held:
            taken.close()
    assert comes(lambda: buffered() == 0)
    assert service.ask("/", b" " * 9000)[0] == 200
    assert comes(lambda: buffered() == 0)


def test_an_answer_is_sent_in_pieces_each_of_which_may_take_as_long():
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    body = random.Random(1).randbytes(3 * observe.PIECE + 1)

    async def whole(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, 200, body, "text/plain")

    scope = {"type": "http", "path": "/", "method": "GET", "headers": []}
    asyncio.run(observe.Observed(whole, Metrics(), access_log=False)(scope, send, send))
    parts = [message["body"] for message in sent[1:]]
    assert b"".join(parts) == body
    assert max(map(len, parts)) == observe.PIECE
    assert [message.get("more_body", False) for message in sent[1:]] == [True, True, True, False]


@pytest.mark.parametrize("path", ["/", "/healthz"])
def test_a_long_head_that_comes_at_once_is_refused(service: Served, path):
    answer = service.ask(path, x=f"{'y' * heads.MOST_HEAD}")
    assert (answer[0], "longer than 32,768 bytes" in detail(answer)) == (431, True)
    for size in (33_000, 120_000):
        assert service.ask(f"{path}?{'y' * size}")[0] in (400, 431)
    assert service.ask(path, x="y" * 30_000)[0] == 200


@pytest.mark.parametrize(
    ("head", "first"),
    [
        (b"content-length: 10001\r\n", 413),
        (b"content-length: 2\r\ncontent-encoding: gzip\r\n", 415),
        (b"content-length: 2\r\n", 100),
    ],
)
def test_who_asks_whether_to_send_a_body_is_told_so_only_if_it_will_be_read(service: Served, head, first):
    with service.connect() as taken:
        taken.sendall(POST + head + b"expect: 100-continue\r\nconnection: close\r\n\r\n")
        answer = taken.recv(4096)
        if first == 100:
            taken.sendall(b"[]")
        rest = rest_of(taken)
    assert parsed(answer)[0] == first
    assert b"100 Continue" not in rest
    assert first != 100 or parsed(rest)[2] == b"[]"


@pytest.mark.parametrize(
    "text",
    [
        b"\x00" * 2000,
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\nconnection: close\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx",
        b"GET / HTTP/1.1\r\nhost: localhost\r\n folded: x\r\n\r\n",
        b"CONNECT 10.0.0.1:22 HTTP/1.1\r\nhost: 10.0.0.1\r\nconnection: close\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
)
def test_what_is_no_http_is_refused(service: Served, text):
    answer = service.raw(text)
    assert answer == b"" or 400 <= parsed(answer)[0] < 600


def test_a_websocket_is_not_opened(service: Served):
    upgrade = {
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec_websocket_key": "x",
        "sec_websocket_version": "13",
    }
    with service.connect() as taken:
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in upgrade.items())
        taken.sendall(f"GET / HTTP/1.1\r\nhost: localhost\r\n{lines}\r\n".encode())
        assert not taken.recv(4096).startswith(b"HTTP/1.1 101")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:1234", 200),
        ("127.0.0.1:8080", 200),
        ("[::1]:8080", 200),
        ("rebound.example.org", 421),
        ("rebound.example.org:8080", 421),
        ("localhost.example.org", 421),
        ("127.0.0.1.example.org", 421),
        ("localhost:80@example.org", 421),
        ("", 400),
    ],
)
def test_a_name_that_was_pointed_here_is_not_served(service: Served, host, status):
    assert service.ask("/", host=host)[0] == status
    assert service.ask("/healthz", host=host)[0] == status


def test_pages_of_other_origins_are_not_answered(service: Served):
    assert service.ask("/", b"[]", origin="https://example.org")[0] == 403
    assert service.ask("/", b"[]", origin="null")[0] == 403
    assert service.ask("/", b"[]", origin="http://localhost:1")[0] == 403
    status, headers, _ = service.ask("/", b"[]", origin="http://localhost")
    assert status == 200
    assert not [name for name in headers if name.startswith("access-control")]


def test_an_id_that_a_request_brings_is_kept_if_it_is_plain(service: Served):
    assert service.ask("/", x_request_id="abc-1.2_3")[1]["x-request-id"] == "abc-1.2_3"
    for strange in ("x" * 65, 'a"b', "a b", "é"):
        assert service.ask("/", x_request_id=strange)[1]["x-request-id"] != strange


def test_origins_that_are_asked_for_may_call():
    settings = Settings(cors_origin=("https://example.org",), access_log=False)
    with serving(settings) as served:
        status, headers, _ = served.ask("/", b"[]", origin="https://example.org")
        assert (status, headers["access-control-allow-origin"]) == (200, "https://example.org")
        assert served.ask("/", b"[]", origin="https://example.com")[0] == 403


def test_tokens(tmp_path, monkeypatch):
    file = tmp_path / "tokens"
    file.write_text("# of the day\nfirst-token-0123456789\nalice second-token-0123456789\n")
    file.chmod(0o600)
    settings = Settings(token_file=str(file), host="127.0.0.1")
    log = StringIO()
    monkeypatch.setattr(logs, "_outputs", [log])
    with serving(settings) as served:
        for token in ("first-token-0123456789", "second-token-0123456789"):
            assert served.ask("/", authorization=f"Bearer {token}")[0] == 200
            assert served.ask("/", authorization=f"bearer {token}")[0] == 200
            for wrong in (token, f"Basic {token}", f"Bearer {token}x", f"Bearer {token[:-1]}", "Bearer", ""):
                status, headers, _ = served.ask("/", b'{"secret": 1}', authorization=wrong)
                assert (status, headers["www-authenticate"]) == (401, "Bearer")
        assert served.ask("/metrics")[0] == 401
        assert served.ask("/healthz")[0] == served.ask("/readyz")[0] == 200
        assert served.ask("/?key=private", authorization="Bearer first-token-0123456789")[0] == 200
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    requests = [line for line in lines if line["event"] == "request"]
    assert {"time", "id", "method", "path", "status", "milliseconds", "client"} < set(requests[-1])
    assert [line.get("token") for line in requests[:2]] == ["line 2"] * 2
    assert {line.get("token") for line in requests} == {"line 2", "alice", None}
    for private in ("0123456789", "secret", "private"):
        assert private not in str(lines)


def test_counts_are_as_prometheus_reads_them(service: Served):
    service.ask("/nobody/knows/this")
    service.ask("/", b"[", host="example.org")
    status, headers, text = service.ask("/metrics")
    assert (status, headers["content-type"]) == (200, metrics.KIND)
    lines = text.decode().splitlines()
    assert "nobody" not in text.decode()
    assert any(line.startswith('perfmodel_requests_total{route="other",status="421"} ') for line in lines)
    buckets = [line for line in lines if "seconds_bucket" in line and 'route="other"' in line]
    counts = [float(line.split()[-1]) for line in buckets]
    assert counts == sorted(counts)
    assert len(counts) == 16
    assert f'perfmodel_request_seconds_count{{route="other"}} {counts[-1]}' in lines


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_health_is_asked_not_told(service: Served, path):
    assert service.ask(path, b"{}")[0] == 405
