"""Every call of ``perfmodel.Client`` takes files as its function does, and answers the same."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import perfmodel
from perfmodel.core.errors import InputError
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.api.predict import predicted
from perfmodel.interfaces.client import Client
from perfmodel.interfaces.client.files import naming
from perfmodel.interfaces.register import NAMES, command
from tests.clients import served
from tests.test_own_runs import MACHINE, written

NETWORK = """name,kind,tensors,forward_flops,forward_elements,saved_elements,gemm_rows,gemm_columns,gemm_depth
first,linear,{0} 64,{1},2000,1000,30000,64,{2}
last,linear,640,1280,700,70,1,10,64
"""
LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 1024,
    "num_hidden_layers": 8,
    "num_attention_heads": 16,
    "intermediate_size": 2816,
    "vocab_size": 32000,
    "max_position_embeddings": 2048,
}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with served() as client:
        yield client


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    """Files with blanks and other letters in their names, two of one name among them."""
    folder = tmp_path_factory.mktemp("files")
    for place, width in (("größe", 32768), ("other place", 65536)):
        (folder / place).mkdir()
        (folder / place / "my net.csv").write_text(NETWORK.format(width, 6e4 * width, width // 64), "utf-8")
    (folder / "Zeiten – 1.txt").write_text("1\n1\n1.5\n3\n", "utf-8")
    (folder / "small llama").mkdir()
    (folder / "small llama" / "config.json").write_text(json.dumps(LLAMA))
    rows = [MACHINE | {"world_size": n, "local_batch_size": 64} for n in (1, 8)]
    perfmodel.calibrate(data=written(folder / "mine.csv", rows)).write(folder / "my runs.json")
    (folder / "steps.txt").write_text("0.1\n0.11\n0.1\n0.12\n0.1\n0.1\n0.11\n0.1\n0.1\n0.1\n")
    job = {"workload": "resnet50", "accelerator": "v100-sxm2-16gb", "local_batch_size": 64}
    perfmodel.calibrate(times=folder / "steps.txt", **job).write(folder / "größe" / "profile ü.toml")
    (folder / "quote.toml").write_text(
        'title = "q"\n[scenario]\ngpus = 8\nworkload = "WORKLOAD"\n'
        '[[claims]]\nquantity = "images_per_second"\nvalue = 1e6\n'.replace(
            "WORKLOAD", str(folder / "größe" / "my net.csv")
        ),
        "utf-8",
    )
    return folder


NET, OTHER, LAW = "größe/my net.csv", "other place/my net.csv", "empirical:Zeiten – 1.txt"
V100 = {"accelerator": "v100-sxm2-16gb", "gpus": 8, "local_batch_size": 64}
SMALL = {"accelerators": "v100-sxm2-16gb", "max_gpus": 8, "epochs": 2, "local_batch_sizes": 64}
LAYOUT = {"gpus": 8, "node": "dgx-h100", "global_batch_size": 64, "top": 2}
CONDITIONS = perfmodel.Conditions(price=3.0, samples=1e6)
CALLS = {
    "predict": [
        {"workload": NET, "gpus": 8},
        {"workload": "./small llama", "gpus": 8},
        {"workload": "small llama/config.json", "gpus": 8, "jitter": LAW},
        {**V100, "profile": "größe/profile ü.toml"},
        {**MACHINE, "gpus": 8, "calibration": "my runs.json"},
    ],
    "scale": [{"workload": NET, "gpus": [1, 8]}, {"gpus": [2, 4], "jitter": LAW}],
    "compare": [
        ({"workload": NET, "gpus": 8}, {"workload": OTHER, "gpus": 8, "jitter": LAW}),
        ({"gpus": 8}, {**MACHINE, "gpus": 8, "calibration": "my runs.json"}, {"conditions": CONDITIONS}),
        ({"gpus": 8}, {"gpus": 16}, {"time_to_target": True, "names": ["a", "b"]}),
    ],
    "explain": [{"workload": NET, "gpus": 8}, {"gpus": 8, "conditions": CONDITIONS, "jitter": LAW}],
    "enough": [("nics", {"workload": NET, "gpus": 16, "until": "60%", "values": [1, 2]})],
    "sweep": [
        {"workload": [NET, OTHER, "vgg16"], "gpus": (1, 8), "columns": ["workload", "iteration_time"]},
        {"jitter": [LAW, "none"], "gpus": range(1, 3)},
        ({"workload": NET}, {"gpus": 8}),
        {**MACHINE, "gpus": [1, 8], "calibration": "my runs.json"},
    ],
    "plan": [
        (NET, {**SMALL, "epochs": None, "samples": 1e7}),
        {**SMALL, "jitter": LAW, "conditions": perfmodel.Conditions(region="us-east-1")},
        {**SMALL, "calibration": "my runs.json", "nodes": ["dgx-1v"], "prices": {"dgx-1v": 9.0}},
    ],
    "fleets": [
        ("2 x dgx-1v", {"workload": NET, "samples": 1e9, "jitter": LAW}),
        ("2 x dgx-1v", ["2 x dgx-1v"], {"conditions": perfmodel.Conditions(service_years=3), "epochs": 9}),
    ],
    "layouts": [("./small llama", LAYOUT), ("small llama/config.json", LAYOUT)],
    "stragglers": [
        {"distribution": LAW, "workers": 8},
        ("k-sync", {"distribution": LAW, "k": 2}),
        {"distribution": "gamma", "params": {"shape": 4, "scale": 0.25}, "workers": 4},
    ],
    "collective": [{"ranks": 16, "size": ["1KB", 1e9], "node": "dgx-a100-40gb"}],
    "learning_rate": [{"global_batch_size": 8192}, (0.2, 512, 1024, {"noise_scale": 2e4})],
    "validate": [("claims", {})],
}
"""Arguments of each call, those by name in a table at the end; names of files are put into the folder."""


def test_every_call_of_the_client_is_held_to_the_function_of_its_name():
    functions = {name for name in perfmodel.__all__ if inspect.isfunction(getattr(perfmodel, name))}
    of_register = {command(name).function for name in NAMES}  # tests/test_register.py
    assert functions & {*dir(Client)} - of_register <= CALLS.keys() <= {*dir(Client)}


def test_options_that_name_files_are_known_from_their_declaration():
    assert naming() == {"workload": "network", "profile": "file", "calibration": "file", "jitter": "law"}


@pytest.mark.parametrize(
    ("name", "given"), [(name, given) for name, calls in CALLS.items() for given in calls]
)
def test_a_call_with_files_answers_as_the_function_does(client, files, monkeypatch, name, given):
    monkeypatch.chdir(files)
    *words, options = given if isinstance(given, tuple) else (given,)
    if name == "compare" and not options.keys() <= {"conditions", "names", "time_to_target"}:
        words, options = [*words, options], {}
    there, here = (getattr(place, name)(*words, **options) for place in (client, perfmodel))
    assert plain(there) == plain(here)
    if name not in ("sweep",):  # of those the client has the rows, not what made them
        assert type(there) is type(here)


def plain(answer: Any) -> Any:
    """What an answer prints; 1 and 1.0 are one number."""
    if isinstance(answer, list):
        return [plain(each) for each in answer]
    return json.loads(answer.to_json() if hasattr(answer, "to_json") else answer.model_dump_json())


def test_a_network_of_onnx_goes_without_its_weights(client, files, monkeypatch):
    importers = pytest.importorskip("tests.test_workload_importers", exc_type=ImportError)
    monkeypatch.chdir(files)
    path = importers.resnet18(Path("netz ü.onnx"))
    filled(path)
    asked = {"workload": str(path), "gpus": 4}
    there = client.predict(**asked)
    assert plain(there) == plain(perfmodel.predict(**asked))
    assert path.stat().st_size > 40_000_000  # ten times what a service takes


def filled(path: Path) -> None:
    """Give every tensor of an ONNX file its values, as exported files have them."""
    import onnx

    model = onnx.ModelProto.FromString(path.read_bytes())
    for tensor in model.graph.initializer:
        count = 1
        for size in tensor.dims:
            count *= size
        if tensor.external_data:
            del tensor.external_data[:]
            tensor.data_location = onnx.TensorProto.DEFAULT
            tensor.raw_data = bytes(4 * count)
    path.write_bytes(model.SerializeToString())


def test_a_quote_is_checked_the_same(client, files, monkeypatch):
    monkeypatch.chdir(files)
    quote, name = perfmodel.read_quote("quote.toml")
    here = perfmodel.check_quote(quote, where=name)
    table = {"title": "q", "scenario": {"gpus": 8, "workload": NET}, "claims": [CLAIM]}
    own = perfmodel.check_quote(quote, calibration="my runs.json")
    assert client.check_quote(quote) == client.check_quote("quote.toml") == client.check_quote(table) == here
    assert client.check_quote(quote, calibration="my runs.json") == own
    example = perfmodel.decide.quote.example_names()[0]
    assert client.check_quote(example) == perfmodel.check_quote(perfmodel.read_quote(example)[0])


CLAIM = {"quantity": "images_per_second", "value": 1e6}


def test_many_predictions_and_what_is_asked_beside_one_take_files(client, files, monkeypatch):
    monkeypatch.chdir(files)
    jobs = [{"workload": name, "gpus": 8} for name in (NET, OTHER)]
    there = client.predict_many(jobs)
    assert [row["iteration_time"] for row in there] == [perfmodel.predict(job).iteration_time for job in jobs]
    assert there[0]["iteration_time"] != there[1]["iteration_time"]
    job = perfmodel.Scenario(gpus=8, jitter=LAW)
    asked = {"recipe": "stock", "loss": 0.5, "conditions": CONDITIONS}
    beside, here = client.predicted(job, **asked), predicted(job, Catalogue.built_in(), **asked)
    assert json.loads(beside.to_json()) == json.loads(here.to_json())
    assert client.sensitivity(job).title == client.sensitivity(gpus=8, jitter=LAW).title
    assert client.workloads(name=NET).parameters == perfmodel.workload(NET).parameters


def test_a_distribution_of_python_goes_as_it_is(client):
    from perfmodel.equations.distributions import distribution

    for law in (distribution("empirical", sample=[1, 1, 3]), distribution("gamma", shape=1 / 3, scale=0.25)):
        there, here = (place.stragglers(distribution=law, workers=4) for place in (client, perfmodel))
        assert plain(there) == plain(here)
        assert there.error_curves().variants == here.error_curves().variants


def test_traces_that_are_no_text_are_sent_too(client, files, invoke):
    from tests.test_traces import HEADER, trace

    for rank in range(2):
        (files / f"rank {rank}").mkdir()
        header = HEADER | {"distributedInfo": {"rank": rank, "world_size": 2}}
        trace(files / f"rank {rank}" / "trace.json.gz", header=header, packed=True)
    there = client.trace_summary(files / "rank 0", files / "rank 1", skip=1)
    done = invoke("trace", "summary", files / "rank 0", files / "rank 1", "--skip", 1, "--json")
    assert json.loads(there.to_json()) == json.loads(done.stdout)
    assert len(there.devices) == 2


def test_what_is_wrong_with_a_file_names_it_as_its_owner_does(client, files, monkeypatch, tmp_path):
    monkeypatch.chdir(files)
    bad = tmp_path / "schlecht ß.csv"
    bad.write_text("name,kind\na,conf\n", "utf-8")
    for asked in ({"workload": str(bad)}, {"workload": "absent.csv"}, {"jitter": "empirical:absent.txt"}):
        words = []
        for place in (client, perfmodel):
            with pytest.raises(InputError) as error:
                place.predict(**asked, gpus=2)
            words.append(str(error.value))
        assert str(next(iter(asked.values()))).removeprefix("empirical:") in words[0]
        assert "file-1" not in words[0]
    with pytest.raises(InputError, match="cannot be sent"):
        client.check_quote({"title": object()})
