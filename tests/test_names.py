"""Names as people type them: understood wherever a name is taken, said where a choice was made, refused where
two things are meant."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from perfmodel import Catalogue, InputError, Scenario, predict, sweep
from perfmodel.core.errors import nearest
from perfmodel.core.records.names import Named, meaning, squashed
from perfmodel.evidence.accuracy.ledger.held_out import learned_bytes
from perfmodel.hardware.catalogue import store
from perfmodel.hardware.machine_words import accelerator_words
from perfmodel.interfaces.cli import main
from perfmodel.model.prediction.training.target import for_target
from perfmodel.model.setting import named
from perfmodel.model.setting.resolve import DEFAULT_INTER_LINK
from perfmodel.workloads import names, understood, workload

CATALOGUE = Catalogue.built_in()
ACCELERATORS = {
    "v100": "v100-sxm2-16gb",
    "a100": "a100-sxm4-80gb",
    "H100": "h100-sxm5-80gb",
    "K80": "k80",
    "A10G": "a10g",
    "RTX 4090": "rtx-4090",
    "rtx4090": "rtx-4090",
    "4090": "rtx-4090",
    "rtx_2080ti": "rtx-2080-ti",
    "2080": "rtx-2080",
    "A6000": "rtx-a6000",
    "gh200": "gh200-96gb",
    "H200": "h200-sxm-141gb",
    "mi300": "mi300x",
    "A100 80GB": "a100-sxm4-80gb",
    "a100 pcie 40gb": "a100-pcie-40gb",
    "v100-32gb": "v100-sxm2-32gb",
    "Tesla V100-SXM2-32GB": "v100-sxm2-32gb",
    "NVIDIA A100-SXM4-40GB": "a100-sxm4-40gb",
    "NVIDIA H100 80GB HBM3": "h100-sxm5-80gb",
    "NVIDIA GeForce RTX 3090": "rtx-3090",
}
NODES = {
    "dgx-a100": "dgx-a100-80gb",
    "DGX A100": "dgx-a100-80gb",
    "DGX-1V": "dgx-1v",
    "p2.16xlarge": "aws-p2.16xlarge",
    "p3.16xlarge": "aws-p3.16xlarge",
    "Standard_ND96asr_v4": "azure-nd96asr_v4",
    "a2-highgpu-8g": "gcp-a2-highgpu-8g",
    "p4d": "aws-p4d.24xlarge",
    "P4de": "aws-p4de.24xlarge",
    "p5": "aws-p5.48xlarge",
    "ND H100 v5": "azure-nd96isr_h100_v5",
}
LINKS = {
    "ib edr": "ib-edr-100g",
    "Ethernet_25G_TCP": "ethernet-25g-tcp",
    "nvlink2-cubemesh": "nvlink2-cube-mesh",
    "aries": "cray-aries",
    "slingshot": "slingshot11-200g",
    "InfiniBand": "ib-hdr-200g",
    "ib": "ib-hdr-200g",
    "ib hdr": "ib-hdr-200g",
    "InfiniBand EDR": "ib-edr-100g",
    "ethernet": "ethernet-25g-tcp",
    "1GbE": "ethernet-1g-tcp",
    "RoCE": "roce-400g",
    "efa": "efa-100g",
    "omni-path": "omnipath-100g",
    "NVLink": "nvlink3-nvswitch",
    "nvlink 4": "nvlink4-nvswitch",
    "pcie": "pcie3-x16",
    "PCIe Gen5": "pcie5-x16",
    "PCIe 4.0 x16": "pcie4-x16",
    "infinity fabric": "xgmi-gen3",
}
FRAMEWORKS = {
    "PyTorch@2019": "pytorch@2019",
    "torch@2019": "pytorch@2019",
    "TF@2019": "tensorflow@2019",
    "TensorFlow XLA@2019": "tensorflow-xla@2019",
    "MXNet@2019": "mxnet@2019",
    "PaddlePaddle@2019": "paddle@2019",
    "NGC PyTorch@2019": "pytorch-ngc@2019",
    "Torch 7@2019": "torch7@2019",
}
STORAGES = {"NVMe": "local-ssd", "SSD": "local-ssd", "gp3": "ebs-gp3", "Amazon S3": "s3", "RAM": "ram"}
WORKLOADS = {
    "resnet-50": "resnet50",
    "ResNet50": "resnet50",
    "resnet50_v1.5": "resnet50-v1.5",
    "bert": "bert-base",
    "BERT Large": "bert-large",
    "gpt-2": "gpt2",
    "vgg": "vgg16",
    "vit_b_16": "vit-base-16",
    "squeezenet1_1": "squeezenet1-1",
}
STRATEGIES = {
    "ddp": "all-reduce",
    "DDP": "all-reduce",
    "allreduce": "all-reduce",
    "horovod": "all-reduce",
    "dp": "data-parallel-single-process",
    "ps": "parameter-server",
}
TYPED = [
    *(("accelerator", name, id) for name, id in ACCELERATORS.items()),
    *(("node", name, id) for name, id in NODES.items()),
    *(("inter_link", name, id) for name, id in LINKS.items()),
    *(("workload", name, id) for name, id in WORKLOADS.items()),
    *(("strategy", name, id) for name, id in STRATEGIES.items()),
    *(("framework", name, id) for name, id in FRAMEWORKS.items()),
    ("precision", "FP16", "fp16"),
    ("overlap", "Horovod", "fused"),
    ("precision", "mixed", "amp"),
    ("optimizer", "AdamW", "adam"),
    ("algorithm", "Recursive_Doubling", "recursive-doubling"),
]
AMBIGUOUS = {
    ("accelerator", "titan x"): ("titan-x-maxwell", "titan-x-pascal"),
    ("accelerator", "RTX 6000"): ("quadro-rtx-6000", "rtx-6000-ada"),
    ("accelerator", "tpu-v5"): ("tpu-v5e", "tpu-v5p"),
    ("node", "dgx-1"): ("dgx-1p", "dgx-1v"),
    ("inter_link", "ethernet-25g"): ("ethernet-25g-rdma", "ethernet-25g-tcp"),
    ("inter_link", "100 GbE"): ("ethernet-100g-rdma", "ethernet-100g-tcp"),
    ("intra_link", "PCIe Gen4"): ("pcie4-x16", "pcie4-x8"),
    ("intra_link", "pcie3"): ("pcie3-switch", "pcie3-x16"),
    ("node", "p3"): ("aws-p3.16xlarge, aws-p3.2xlarge", "aws-p3.8xlarge"),
    ("framework", "Horovod"): ("mxnet, pytorch", "tensorflow"),
    ("storage", "EBS"): ("ebs-gp2", "ebs-gp3"),
}


def answer(*words: str) -> dict[str, Any]:
    result = CliRunner().invoke(main, [*words, "--json"])
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.stdout))


@pytest.mark.any_version
@pytest.mark.parametrize(("field", "name", "id"), TYPED)
def test_what_people_type_is_the_thing_they_mean(field, name, id):
    gpus = 1 if id == "gh200-96gb" else 4  # whose usual machine holds one, without a network
    said = predict(Scenario(**{"gpus": gpus, field: name}))
    meant = predict(Scenario(**{"gpus": gpus, field: id}))
    assert said.scenario == meant.scenario
    assert said.scenario[field] == id
    assert said.iteration_time == meant.iteration_time
    option = f"--{field.replace('_', '-')}"
    assert answer("predict", "--gpus", str(gpus), option, name)["scenario"] == said.scenario


@pytest.mark.parametrize(
    "name", ["allreduce", "all_gather", "ReduceScatter", "alltoall", "broadcast", "sendrecv"]
)
def test_collectives_are_called_as_nccl_tests_calls_them(name):
    words = ["collective", "--ranks", "8", "--size", "1MB", "--node", "dgx-1v", "--collective", name]
    assert CliRunner().invoke(main, words).exit_code == 0


@pytest.mark.parametrize("field_and_name", AMBIGUOUS)
def test_a_name_of_two_things_is_refused_with_both(field_and_name):
    with pytest.raises(InputError) as error:
        predict(Scenario(**dict([field_and_name])))
    said = re.sub(r" \((?:[^()]|\([^()]*\))*\)", "", str(error.value))  # without their full names
    assert "fits " + " and ".join(AMBIGUOUS[field_and_name]) in said


def test_a_family_says_which_of_its_members_was_taken():
    said = answer("predict", "--accelerator", "v100", "--workload", "bert")
    assert "--accelerator v100-sxm2-16gb" in said["defaults"]
    assert "--workload bert-base" in said["defaults"]
    notes = " ".join(said["warnings"])
    assert "v100 is taken as v100-sxm2-16gb, the most common; also v100-pcie-16gb, v100-sxm2-32gb" in notes
    assert "bert is taken as bert-base, the most common; also bert-large" in notes
    shown = CliRunner().invoke(main, ["predict", "--accelerator", "v100"]).stdout
    assert "v100 is taken as v100-sxm2-16gb" in " ".join(shown.split())
    plain = answer("predict", "--accelerator", "V100_SXM2_16GB", "--workload", "ResNet-50")
    assert not plain["warnings"]
    assert not {word for word in plain["defaults"] if word.startswith(("--accelerator", "--workload"))}


@pytest.mark.parametrize(("name", "id"), STORAGES.items())
def test_storage_is_called_as_people_call_it(name, id):
    real = {"workload": "resnet50", "input": "real", "gpus": 8}
    said, meant = (predict(Scenario(**real, storage=storage)) for storage in (name, id))
    assert said == meant
    assert said.scenario["storage"] == id
    assert answer("predict", "--input", "real", "--storage", name)["scenario"]["storage"] == id


def test_every_option_takes_frameworks_and_storage_as_people_spell_them(tmp_path):
    said = sweep(framework=["PyTorch@2020", "pytorch@2020", "TF@2020"], storage=["NVMe", "ssd"], input="real")
    table = said.table()
    assert table["framework"].tolist() == ["pytorch@2020", "tensorflow@2020"]
    assert set(table["storage"]) == {"local-ssd"}
    words = ("plan", "--epochs", "1", "--max-gpus", "4", "--node", "p3.16xlarge", "--local-batch-size", "64")
    typed = answer(*words, "--framework", "TensorFlow")
    meant = answer(*words, "--framework", "tensorflow")
    assert typed["chosen"] == meant["chosen"]
    words = ("plan", "--epochs", "1", "--max-gpus", "8", "--local-batch-size", "64")
    hired = answer(*words, "--instance", "P4d,p5")
    assert hired["goal"]["instances"] == ["p4d.24xlarge", "p5.48xlarge"]
    assert "p5 is taken as p5.48xlarge, the most common; also p5.4xlarge" in hired["notes"]
    file = tmp_path / "a.toml"
    file.write_text('framework = "MXNet"\ninput = "real"\nstorage = "EBS gp3"\ngpus = 8\n')
    first, second = answer("compare", str(file), "--set", "framework=Torch,storage=NVMe")["scenarios"]
    assert (first["framework"], first["storage"]) == ("mxnet@2019", "ebs-gp3")
    assert (second["framework"], second["storage"]) == ("pytorch@2019", "local-ssd")
    with pytest.raises(InputError, match="unknown software 'caffe'"):
        predict(Scenario(framework="caffe"))


def test_the_link_that_a_family_means_is_the_one_most_measured_rows_hold():
    held = Counter(
        link
        for file in ("training_runs.csv", "collectives.csv")
        for row in csv.DictReader(learned_bytes(file).decode().splitlines())
        for link in (row["intra_link"], row["inter_link"])
    )
    links = [one for one in CATALOGUE.named("links") if one.family]
    for family in {one.family for one in links}:
        members = {one.id: held[one.id] for one in links if one.family == family}
        common = next(one.id for one in links if one.family == family and one.most_common)
        if family == "ethernet":  # no link of it is measured more than others
            assert common == DEFAULT_INTER_LINK
        else:
            assert members[common] == max(members.values())


def test_a_kind_of_link_says_which_of_its_members_was_taken():
    said = predict(Scenario(gpus=16, node="p4d", inter_link="ib", intra_link="nvlink"))
    assert {"--inter-link ib-hdr-200g", "--intra-link nvlink3-nvswitch"} <= set(said.defaults)
    notes = " ".join(said.warnings)
    assert "ib is taken as ib-hdr-200g, the most common; also ib-edr-100g, " in notes
    assert "nvlink is taken as nvlink3-nvswitch, the most common; also " in notes
    words = ("collective", "--ranks", "16", "--nodes", "2", "--size", "1MB")
    found = answer(*words, "--intra-link", "NVLink", "--inter-link", "Slingshot")
    assert "Slingshot is taken as slingshot11-200g, the most common; also slingshot11-200g-tcp" in " ".join(
        found["warnings"]
    )
    fits = r"link '25g' fits aws-25g \(AWS network 25 Gbit/s\), ethernet-25g-rdma \(.* and ethernet-25g-tcp "
    with pytest.raises(InputError, match=fits):
        meaning("link", "25g", CATALOGUE.named("links"))
    assert len(meaning("link", "nvlink", CATALOGUE.named("links")).others) > 4  # type: ignore[union-attr]
    assert all(len(line) < 160 for line in said.warnings if "most common" in line)


def test_a_scenario_fed_back_gives_the_same_answer_and_says_nothing_of_names():
    said = predict(Scenario(accelerator="a100", node="dgx-a100", workload="bert", gpus=8))
    given = {"accelerator", "node", "workload", "world_size", "local_batch_size"}
    again = predict(Scenario(**{name: said.scenario[name] for name in given}))
    assert again.iteration_time == said.iteration_time
    assert not [note for note in again.warnings if "the most common" in note]


@given(st.sampled_from([*names(), *CATALOGUE.ids("accelerators"), *CATALOGUE.ids("nodes")]), st.randoms())
def test_case_spaces_underscores_and_hyphens_do_not_matter(id, chance):
    typed = "".join(
        chance.choice(" _-") if letter in "_-" else chance.choice((letter, letter.upper())) for letter in id
    )
    assert squashed(typed) == squashed(id)
    if id in names():
        assert understood(typed).id == id
    elif id in CATALOGUE.ids("accelerators"):
        assert CATALOGUE.accelerator(typed).id == id
    else:
        assert CATALOGUE.node(typed).id == id


@pytest.mark.parametrize("kind", ["accelerators", "nodes", "links"])
def test_no_two_things_have_one_name_and_each_family_one_most_common(kind):
    known = CATALOGUE.named(kind)
    assert len({squashed(one.id) for one in known}) == len(known)
    for family in {one.family for one in known} - {""}:
        members = [one for one in known if one.family == family]
        assert len(members) > 1
        assert sum(one.most_common for one in members) == 1, family
    assert not [one.id for one in known if one.most_common and not one.family]


def test_a_spec_of_ones_own_is_called_as_its_file_says(tmp_path):
    text = (CATALOGUE._folders[0] / "accelerators" / "t4.toml").read_text()  # type: ignore[operator]
    text = text.replace('id = "t4"', 'id = "mine"').replace(
        'name = "NVIDIA Tesla T4"', 'name = "Mine"\naliases = ["Our Card"]'
    )
    (tmp_path / "mine.toml").write_text(text)
    assert Catalogue([tmp_path]).accelerator("our-card").id == "mine"
    assert Catalogue([tmp_path]).accelerator("T4").id == "t4"


def test_a_name_is_looked_up_once_in_each_catalogue(tmp_path, monkeypatch):
    text = (CATALOGUE._folders[0] / "accelerators" / "t4.toml").read_text()  # type: ignore[operator]
    for id in ("first", "second"):
        (tmp_path / id).mkdir()
        named_id = text.replace('id = "t4"', f'id = "{id}"')
        (tmp_path / id / f"{id}.toml").write_text(named_id.replace("Tesla T4", "Our Card"))
    looked_up = []
    monkeypatch.setattr(named, "id_of", lambda *a, id_of=named.id_of: looked_up.append(a) or id_of(*a))
    catalogues = {id: Catalogue([tmp_path / id]) for id in ("first", "second")}
    counts = []
    for batch in (16, 32):
        for id, catalogue in catalogues.items():
            found = predict({"accelerator": "nvidia our card"}, catalogue, local_batch_size=batch)
            assert found.scenario["accelerator"] == id
        counts.append(len(looked_up))
    assert counts[0] == counts[1]


def test_only_a_name_that_is_no_id_reads_more_of_the_catalogue():
    code = """
import sys
from perfmodel.hardware.catalogue import store
from perfmodel import Scenario, predict
seen = []
store._names_of, was = (lambda file: seen.append(file) or was(file)), store._names_of
predict(Scenario(accelerator='v100-sxm2-16gb', node='dgx-1v', world_size=16))
assert not seen
predict(Scenario(accelerator='v100', world_size=16))
assert seen
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_sweep_names_everything_by_its_id_and_once():
    found = sweep(
        gpus=[1, 2], accelerator=["v100", "V100-sxm2-16gb", "T4"], workload="ResNet-50", strategy="DDP"
    )
    table = found.table()
    assert set(table["accelerator"]) == {"v100-sxm2-16gb", "t4"}
    assert set(table["workload"]) == {"resnet50"}
    assert len(table["world_size"]) == 4
    assert found.notes == (
        "v100 is taken as v100-sxm2-16gb, the most common; "
        "also v100-pcie-16gb, v100-sxm2-32gb, v100-sxm3-32gb",
    )
    said = answer("sweep", "--gpus", "1,2", "--accelerator", "v100,t4")
    assert said["notes"] == list(found.notes)


def test_names_in_files_and_in_set(tmp_path):
    file = tmp_path / "a.toml"
    file.write_text('accelerator = "A100"\nworkload = "ResNet50"\nstrategy = "ddp"\ngpus = 8\n')
    scenario = answer("predict", "--scenario", str(file))["scenario"]
    assert scenario["accelerator"] == "a100-sxm4-80gb"
    assert scenario["workload"] == "resnet50"
    first, second = answer("compare", str(file), "--set", "accelerator=h100,strategy=ps,gpus=16")["scenarios"]
    assert (first["accelerator"], second["accelerator"]) == ("a100-sxm4-80gb", "h100-sxm5-80gb")
    assert second["strategy"] == "parameter-server"
    quote = tmp_path / "quote.toml"
    quote.write_text(
        'title = "x"\nscenario = {node = "dgx-a100", gpus = 8, workload = "ResNet-50"}\n'
        '[[claims]]\nquantity = "scaling_efficiency"\nvalue = "90%"\n'
    )
    assert "--node dgx-a100-80gb" in str(answer("check-quote", str(quote)))


def test_names_of_what_is_shown():
    assert json.loads(CliRunner().invoke(main, ["specs", "show", "K80", "--json"]).stdout)["id"] == "k80"
    assert "dgx-a100-40gb" in CliRunner().invoke(main, ["specs", "show", "dgx-a100"]).stdout
    assert answer("workloads", "show", "gpt-2")["id"] == "gpt2"
    assert for_target(Scenario(workload="BERT-Large")).sequence_length == 256
    assert workload("resnet 50") is workload("resnet50")


def test_a_name_that_fits_a_family_best_is_not_a_namesake():
    cards = [Named("x1", ("Big X1",)), Named("x1-pro", ("Big X1 Pro",)), Named("y1", ("Big Y1",))]
    assert meaning("card", "X-1", cards).id == "x1"  # type: ignore[union-attr]
    assert meaning("card", "pro x1", cards).id == "x1-pro"  # type: ignore[union-attr]
    assert meaning("card", "big", cards) is None
    alike = [Named(one.id, (*one.names, "big 1")) for one in cards]
    with pytest.raises(InputError, match=r"fits x1 \(Big X1\), x1-pro \(Big X1 Pro\) and y1 "):
        meaning("card", "big 1", alike)


def test_a_plan_takes_names_and_words_as_people_type_them():
    words = ("plan", "--epochs", "1", "--max-gpus", "8", "--local-batch-size", "64", "--precision", "FP16")
    said = answer(*words, "--node", "p3.16xlarge", "--accelerator", "v100", "--strategy", "DDP")
    goal = said["goal"]
    assert (goal["nodes"], goal["accelerators"]) == (["aws-p3.16xlarge"], ["v100-sxm2-16gb"])
    assert (goal["strategies"], goal["precisions"]) == (["all-reduce"], ["fp16"])
    assert "v100 is taken as v100-sxm2-16gb" in " ".join(said["notes"])
    assert said["chosen"]["node"] == "aws-p3.16xlarge"


def test_a_collective_lies_on_a_machine():
    words = ("collective", "--ranks", "16", "--size", "100MB")
    named = answer(*words, "--node", "dgx-a100")
    links = ("--intra-link", "nvlink3-nvswitch", "--inter-link", "ib-hdr-200g", "--nics", "8")
    assert named["time"] == answer(*words, *links)["time"]
    assert "dgx-a100 is taken as dgx-a100-80gb" in named["warnings"][0]
    # what a provider lets the machine send holds here too: 312.5 MB/s of a port of 1.25 GB/s
    limited = answer(*words, "--node", "p3.2xlarge")
    free = answer(*words, "--nodes", "16", "--intra-link", "pcie3-x16", "--inter-link", "aws-10g")
    assert limited["lower_bound"] > 3.9 * free["lower_bound"]
    nowhere = CliRunner().invoke(main, [*words])
    assert (nowhere.exit_code, "--intra-link" in nowhere.stderr) == (2, True)
    assert "do not fit" in CliRunner().invoke(main, [*words, "--node", "dgx-1v", "--nodes", "1"]).stderr


@pytest.mark.any_version
@pytest.mark.parametrize(
    ("typed", "kind", "offered"),
    [
        ("RTX 5090", "accelerators", {"rtx-4090", "rtx-3090"}),
        ("A-100 80GB", "accelerators", {"a100-sxm4-80gb", "a100-pcie-80gb"}),
        ("a100x", "accelerators", {"a100-sxm4-40gb", "a100-sxm4-80gb"}),
        ("100 gbit", "links", {"ethernet-100g-tcp", "ib-edr-100g"}),
        ("100 Gbit/s", "links", {"ethernet-100g-tcp", "ib-edr-100g"}),
    ],
)
def test_names_nearly_right_are_answered_by_what_was_meant(typed, kind, offered):
    assert offered <= set(nearest(typed, Catalogue.built_in().ids(kind)))


@pytest.mark.any_version
def test_a_publisher_may_stand_before_a_network(tmp_path, monkeypatch):
    assert nearest("llama 3 8B instruct", names())[0] == "llama-3-8b"
    assert workload("meta-llama/Llama-3.1-8B") == workload("llama-3.1-8b")
    with pytest.raises(InputError, match=r"8B-Instruct: no such file; nearest network: llama-3\.1-8b"):
        workload("meta-llama/Llama-3.1-8B-Instruct")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "meta-llama" / "Llama-3.1-8B").mkdir(parents=True)
    with pytest.raises(InputError, match="no network of a known format"):
        workload("meta-llama/Llama-3.1-8B")


def test_no_two_accelerators_are_called_alike():
    catalogue = Catalogue.built_in()
    specs = [catalogue.accelerator(id) for id in catalogue.ids("accelerators")]
    called = [accelerator_words(spec) for spec in specs]
    assert len(set(called)) == len(called)
    assert not [name for name, spec in zip(called, specs, strict=True) if name.startswith(spec.vendor)]
    assert not [name for name in called if "(" in name]


def test_own_specs_join_what_the_process_has_read(tmp_path, monkeypatch):
    text = (CATALOGUE._folders[0] / "accelerators" / "t4.toml").read_text()  # type: ignore[operator]
    (tmp_path / "mine.toml").write_text(text.replace('id = "t4"', 'id = "mine"'))
    built_in = {id: CATALOGUE.accelerator(id) for id in CATALOGUE.ids("accelerators")}
    read = []
    for name in ("load", "read_toml"):
        kept = getattr(store, name)
        monkeypatch.setattr(
            store, name, lambda file, *more, kept=kept: read.append(file) or kept(file, *more)
        )
    own = Catalogue([tmp_path])
    assert {id: own.accelerator(id) for id in own.ids("accelerators") if id != "mine"} == built_in
    assert own.accelerator("mine").id in own.ids("accelerators")
    assert own.ids("nodes") == CATALOGUE.ids("nodes")
    assert Counter(read) == {tmp_path / "mine.toml": 2}  # its keys, then itself
