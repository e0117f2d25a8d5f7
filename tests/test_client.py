"""``perfmodel.Client`` answers as ``import perfmodel`` does, over a socket."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

import perfmodel
from perfmodel.core.errors import InputError
from perfmodel.interfaces.client import Client, ServiceError
from perfmodel.model.prediction import Prediction
from tests.clients import served


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with served() as client:
        yield client


@pytest.fixture
def no_service() -> Iterator[str]:
    """Give an address at which nobody listens, and nobody else can."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_a_prediction_is_the_same(client):
    here = perfmodel.predict(workload="vgg16", gpus=8, inter_link="ethernet-10g-tcp")
    there = client.predict(workload="vgg16", gpus=8, inter_link="ethernet-10g-tcp")
    assert isinstance(there, Prediction)
    assert json.loads(there.to_json()) == json.loads(here.to_json())  # 1 and 1.0 are one number
    assert client.predict(perfmodel.Scenario(workload="vgg16"), gpus=8).scaling == here.scaling


def test_a_table_of_sizes_is_the_same(client):
    asked = {"workload": "vgg16", "gpus": [1, 4, 8]}
    there, here = client.scale(**asked), perfmodel.scale(**asked)
    assert json.loads(there.to_json()) == json.loads(here.to_json())


@pytest.mark.parametrize(
    ("name", "words", "options"),
    [
        ("compare", ({"gpus": 8}, {"gpus": 16}), {"names": ["a", "b"]}),
        ("collective", (), {"ranks": 8, "size": "1MB", "intra_link": "nvlink3-nvswitch"}),
        ("collective", (), {"ranks": 16, "size": ["1KB", "1GB"], "node": "dgx-a100-40gb"}),
        ("layouts", ("llama-3-8b",), {"gpus": 8, "node": "dgx-h100", "global_batch_size": 64, "top": 2}),
        (
            "layouts",
            ("llama-3-8b",),
            {
                "gpus": 8,
                "node": "dgx-h100",
                "global_batch_size": 64,
                "top": 2,
                "conditions": perfmodel.Conditions(tokens=1e9, price=3.0),
            },
        ),
        ("learning_rate", (), {"global_batch_size": 8192}),
        ("stragglers", ("k-sync",), {"workers": 8, "k": 4}),
        ("explain", (), {"gpus": 4}),
        ("enough", ("nics",), {"workload": "vgg16", "gpus": 16, "values": [1, 2], "until": "60%"}),
        ("enough", ("inter-link", {"workload": "vgg16"}), {"gpus": 32}),
        ("fleets", ("2 x dgx-1v", "2 x dgx-a100-40gb"), {"workload": "bert-large", "samples": 1e9}),
        ("fleets", ("2 x dgx-1v",), {"prices": {"dgx-1v": 9.0}, "strategy": "all-reduce"}),
        ("sweep", (), {"gpus": [1, 2], "columns": ["world_size", "iteration_time"]}),
        ("plan", (), {"epochs": 90, "deadline": "24h", "accelerators": "v100-sxm2-16gb", "max_gpus": 8}),
    ],
)
def test_the_same_calls_have_the_same_results(client, name, words, options):
    there, here = getattr(client, name)(*words, **options), getattr(perfmodel, name)(*words, **options)
    assert json.loads(there.to_json()) == json.loads(here.to_json())  # 1 and 1.0 are one number


def test_files_of_this_machine_travel_along(client, tmp_path: Path):
    times = tmp_path / "times.txt"
    times.write_text("1\n1\n2\n")
    asked = {"gpus": 8, "jitter": f"empirical:{times}"}
    assert client.predict(**asked).iteration_time == perfmodel.predict(**asked).iteration_time


def test_many_predictions_go_in_one_request(client):
    first, bad = client.predict_many([{"gpus": 8}, {"gpus": 8, "global_batch_size": 9}], ["iteration_time"])
    assert first.iteration_time == perfmodel.predict(gpus=8).iteration_time
    assert "does not divide" in bad.error["detail"]
    first, bad = client.predict_many([{"gpus": 8}, {"gpus": 0}], ["iteration_time"])
    assert first.iteration_time == perfmodel.predict(gpus=8).iteration_time
    assert bad.error["errors"][0]["field"] == "scenarios.1.gpus"


def test_what_cannot_be_answered_says_why(client, no_service):
    with pytest.raises(InputError, match="whole number"):
        client.collective(ranks="x", size=1)
    with pytest.raises(InputError, match="nearest"):
        client.predict(workload="resnet5")
    with pytest.raises(ServiceError, match="nothing at"):
        client.ask("nothing", {})
    with pytest.raises(ServiceError, match="no answer"):
        Client(no_service, timeout=2).predict(gpus=8)
    for address in ("127.0.0.1:8080", "ftp://x", "http://"):
        with pytest.raises(InputError, match="expected an address"):
            Client(address)
    with pytest.raises(InputError, match="url = 7: expected text"):
        Client(7)


def test_a_full_service_is_asked_again_and_knows_the_token():
    asked: list[str] = []

    class Full(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.headers["authorization"])
            self.rfile.read(int(self.headers["content-length"]))
            body = b"[]" if len(asked) > 1 else b'{"detail": "full"}'
            self.send_response(200 if len(asked) > 1 else 503)
            self.send_header("retry-after", "0.1")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Full)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        assert Client(f"http://127.0.0.1:{server.server_port}", token="t").specs("links") == []
    finally:
        server.shutdown()
        server.server_close()
    assert asked == ["Bearer t", "Bearer t"]


def test_pages_ask_the_service_that_the_app_is_started_with(client, no_service, monkeypatch):
    pytest.importorskip("streamlit")
    from streamlit.testing.v1 import AppTest

    from app import layout
    from perfmodel.interfaces.cli.app import SERVER

    asked: list[str] = []
    predict = Client.predict

    def counted(self: Client, *words: object, **options: object) -> Prediction:
        asked.append(self.url)
        return predict(self, *words, **options)  # type: ignore[arg-type]

    def predicted() -> AppTest:
        page = AppTest.from_file(str(Path(layout.__file__).with_name("main.py")), default_timeout=120)
        page.query_params["gpus"] = "32"
        return page.run()

    monkeypatch.setattr(Client, "predict", counted)
    monkeypatch.setenv(SERVER, client.url)
    page = predicted()
    assert not page.exception
    assert set(asked) == {client.url}
    monkeypatch.setenv(SERVER, no_service)
    page = predicted()
    assert not page.exception
    assert any("no answer" in error.value for error in page.error)


def test_the_app_takes_an_address_alone():
    from click.testing import CliRunner

    from perfmodel.interfaces.cli import main

    done = CliRunner().invoke(main, ["app", "--check", "--server", "nonsense"])
    assert done.exit_code == 2
    assert "expected an address" in done.stderr


def test_arrays_are_sizes_and_a_token_is_one_line(client):
    import numpy as np

    asked = np.array([1, 2])
    there = client.scale(workload="vgg16", gpus=asked)
    assert [row.world_size for row in there.rows] == [1, 2]
    for token in ("a\nb", "ключ"):
        with pytest.raises(InputError, match="token"):
            Client("http://127.0.0.1:9", token=token)
