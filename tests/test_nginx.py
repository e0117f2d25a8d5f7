"""The configuration of nginx in the documentation: nginx takes it, and it agrees with the limits here."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from perfmodel.interfaces.service.heads import MOST_HEAD
from perfmodel.interfaces.service.settings import Settings
from tests.serving import Served, Tiny, comes, serving

DOCS = Path(__file__).parents[1] / "docs" / "operating.md"
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
WRITTEN = DOCS.read_text("utf-8").split("```nginx\n")[1].split("```")[0]
needs_nginx = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")


def said(name: str) -> float:
    """Return the number of a directive, in seconds or bytes."""
    found = re.search(rf"^\s*{name} (\d+)(s|k|m)?;", WRITTEN, re.MULTILINE)
    assert found, name
    return int(found[1]) * {"k": 1000, "m": 1_000_000}.get(found[2], 1)


def test_it_agrees_with_the_limits_of_the_service():
    settings = Settings()
    assert said("client_max_body_size") == settings.body_bytes
    assert said("client_body_timeout") == settings.body_seconds
    assert said("proxy_read_timeout") > settings.seconds
    upstream, _, server = WRITTEN.partition("server {\n")
    assert float(re.search(r"keepalive_timeout (\d+)s", upstream)[1]) < settings.idle_seconds  # type: ignore[index]
    assert "keepalive_timeout 30s" in server
    count, size = re.search(r"large_client_header_buffers (\d+) (\d+)k", WRITTEN).groups()  # type: ignore[union-attr]
    assert int(count) * int(size) * 1024 == MOST_HEAD
    assert f"server {settings.host}:{settings.port};" in WRITTEN


def configured(folder: Path, address: tuple[str, int], port: int) -> Path:
    """Write the configuration, without TLS, for an address of its own."""
    written = WRITTEN.replace("127.0.0.1:8080", f"{address[0]}:{address[1]}")
    written = re.sub(r"listen 443 ssl;", f"listen 127.0.0.1:{port};", written)
    written = re.sub(r"^\s*ssl_.*\n", "", written, flags=re.MULTILINE)
    # so that a test need not wait
    written = written.replace("client_header_timeout 10s", "client_header_timeout 1s")
    written = written.replace("rate=50r/s", "rate=1r/s").replace("burst=100", "burst=10")
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    file = folder / "nginx.conf"
    file.write_text(
        f"daemon off;\npid {folder}/pid;\nerror_log {folder}/log;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{paths}{written}}}\n"
    )
    return file


@pytest.fixture
def unused_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


@needs_nginx
def test_nginx_passes_requests_on_and_keeps_slow_clients_away(tmp_path, unused_port):
    settings = Settings(access_log=False, allowed_host=("perfmodel.example.org",))
    with serving(settings, Tiny()) as service:
        file = configured(tmp_path, service.address, unused_port)
        words = [str(NGINX), "-c", str(file), "-p", str(tmp_path), "-e", str(tmp_path / "log")]
        checked = subprocess.run([*words, "-t"], capture_output=True, text=True)
        assert checked.returncode == 0, checked.stderr
        process = subprocess.Popen(words)
        try:
            proxy = Served(service.app, service.tiny, ("127.0.0.1", unused_port))

            def asks(path: str, body: bytes = b"") -> int:
                return proxy.ask(path, body, host="perfmodel.example.org")[0]

            assert comes(lambda: listens(unused_port))
            assert asks("/healthz") == 200
            assert asks("/", b'{"a": 1}') == 200
            assert asks("/metrics") == 403
            assert asks("/", b" " * (settings.body_bytes + 1)) == 413
            assert proxy.raw(b"GET / HTTP/1.1\r\nhost: perf") == b""  # closed after a second
            assert 429 in [asks("/", b"1") for _ in range(30)]
        finally:
            process.terminate()
            process.wait(10)
