"""What limits a network other than its links: a machine's cap, the kernel's TCP, its connections."""

from __future__ import annotations

import json
import re
import tomllib

import pytest

import perfmodel
from perfmodel.decide.planning.fleets.proposals import proposals
from perfmodel.decide.planning.fleets.written import joined, read_fleet
from perfmodel.decide.sweeps import sweep
from perfmodel.evidence.accuracy.collectives.collective_fit import learned_from
from perfmodel.evidence.accuracy.collectives.collective_rows import shipped_measurements
from perfmodel.evidence.accuracy.training_rows import shipped_runs
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.service.application import application
from perfmodel.model.fitted.calibration import FITTED
from perfmodel.model.options.layout import DEGREES
from perfmodel.model.prediction import predict
from perfmodel.model.prediction.collectives.collective_limit import TCP_YEARS as COLLECTIVE_TCP_YEARS
from perfmodel.model.prediction.collectives.collective_limit import TEXTBOOK_TCP_YEARS
from perfmodel.model.prediction.intervals.ratio import ratio_between
from perfmodel.model.prediction.limits import TCP_YEARS
from tests.asgi import Caller

CATALOGUE = Catalogue.built_in()
HOW = ("sharding", "recompute", "micro_batch_size")
P3 = {"node": "aws-p3.2xlarge", "gpus": 5}
BERT = {"workload": "bert-large", "node": "dgx-a100-80gb", "gpus": 64, "nics": 1}
TCP = BERT | {"inter_link": "ethernet-25g-tcp"}


# --- the cap of a machine


@pytest.mark.parametrize("job", [{}, {"workload": "gpt2"}, {"strategy": "parameter-server"}], ids=str)
def test_another_link_keeps_the_cap_of_a_rented_machine(job):
    own = predict(**P3, **job)
    for link in ("ethernet-25g-tcp", "ib-hdr-200g", "aws-20g"):
        other = predict(**P3, **job, inter_link=link)
        assert other.iteration_time > 0.7 * own.iteration_time
        assert any("may send 312 MB/s over any link" in each for each in other.warnings)
        lifted = predict(**P3, **job, inter_link=link, network_cap=False)
        assert lifted.iteration_time < 0.6 * own.iteration_time
        assert any("without that limit (--no-network-cap)" in each for each in lifted.warnings)
    assert "312 MB/s" in own.network_limit
    assert own.network_limit.endswith("--no-network-cap predicts without it")


def test_a_machine_of_ones_own_takes_other_adapters_without_a_cap():
    asked = {"workload": "vgg16", "node": "dgx-1v", "gpus": 64}
    times = [predict(**asked, inter_link=link).iteration_time for link in ("ib-edr-100g", "ib-ndr-400g")]
    assert times[1] < times[0]


@pytest.mark.parametrize("workload", ["gpt2", "vgg16"])
def test_the_limit_of_ones_own_machine_grows_with_its_adapters(workload):
    """It was kept for eight adapters of the machine's own kind, and not for eight of another."""
    asked = {"workload": workload, "node": "dgx-1v", "gpus": 64, "nics": 8}
    own, slower = (predict(**asked, inter_link=link) for link in ("ib-edr-100g", "ib-fdr-56g"))
    assert own.iteration_time < slower.iteration_time
    assert not [each for each in own.warnings if "may send" in each]


def test_more_adapters_under_a_cap_never_slow_a_send_down():
    """One send leaves by one adapter, which has all of its machine's limit while the others are idle."""
    job = {"workload": "t5-base", "accelerator": "t4", "gpus": 256, "framework": "levanter"}
    job |= {"tensor_parallel": 2, "pipeline_parallel": 4, "inter_link": "slingshot11-200g-tcp"}
    times = [predict(**job, nics=nics, global_batch_size=512).iteration_time for nics in (1, 2, 4, 8)]
    assert times == sorted(times, reverse=True)


def test_faster_adapters_slow_no_send_that_its_connections_bind():
    """All ranks' sends together were less of the machine's limit the faster an adapter was alone."""
    job = {"workload": "gpt2", "accelerator": "a10g", "gpus": 64, "framework": "nemo", "nics": 4}
    job |= {"pipeline_parallel": 2, "tensor_parallel": 4, "local_batch_size": 16, "accumulation_steps": 2}
    slow, fast = (
        predict(**job, inter_link=link, connections=4).terms["stage_transfer_time"]
        for link in ("aws-25g", "aws-50g")
    )
    assert fast <= slow * (1 + 1e-9)


def test_layouts_and_collectives_keep_the_cap_too():
    asked = {"gpus": 8, "node": "aws-g5.xlarge", "global_batch_size": 64}
    own, other, free = (
        perfmodel.layouts("gpt2", **asked, inter_link=link).rows[0].iteration_time
        for link in (None, "ethernet-100g-tcp", "aws-10g")
    )
    assert own == free == pytest.approx(other, rel=0.05)
    alone = predict(workload="gpt2", gpus=8, node="aws-g5.xlarge", global_batch_size=64, sharding="zero1")
    found = perfmodel.layouts("gpt2", **asked)
    same = next(row for row in found.rows if row.layout == alone.layout)
    assert same.iteration_time == pytest.approx(alone.iteration_time, rel=1e-9)
    assert "may send 312 MB/s" in found.machine
    ends = {"ranks": 8, "size": "1GB", "node": "aws-p3.2xlarge"}
    slow, fast = (perfmodel.collective(**ends, inter_link=link) for link in ("aws-10g", "ib-hdr-200g"))
    assert fast.time > 0.8 * slow.time
    assert any("the network limit of AWS p3.2xlarge" in each for each in fast.warnings)


def test_layouts_and_collectives_lift_the_cap_and_take_connections(invoke):
    client = Caller(application())
    where = {"gpus": 8, "node": "aws-g5.xlarge", "global_batch_size": 64}
    kept, lifted = (perfmodel.layouts("gpt2", **where, network_cap=keeps).rows for keeps in (True, False))
    assert lifted[0].iteration_time < 0.7 * kept[0].iteration_time
    job = {
        "workload": "gpt2",
        **where,
        "framework": "megatron-core",
        "precision": "bf16",
        "network_cap": False,
    }
    degrees = {name: lifted[0].layout[name] for name in (*DEGREES, *HOW)}
    assert predict(**job, **degrees).iteration_time == pytest.approx(lifted[0].iteration_time, rel=1e-9)
    asked = ["layouts", "--workload=gpt2", "--gpus=8", "--node=aws-g5.xlarge", "--global-batch-size=64"]
    table = json.loads(invoke(*asked, "--no-network-cap", "--json").output)
    assert table["layouts"][0]["iteration_time"] == lifted[0].iteration_time
    answer = client.post("/v1/layouts", json={"workload": "gpt2", **where, "network_cap": False}).json()
    assert answer["layouts"][0]["iteration_time"] == lifted[0].iteration_time
    tcp = {"gpus": 64, "node": "gcp-a2-ultragpu-8g", "global_batch_size": 64}
    few, many = (
        {str(row.layout): row.iteration_time for row in perfmodel.layouts("gpt2", **tcp, connections=n).rows}
        for n in (1, None)
    )
    assert max(few[layout] / many[layout] for layout in few) > 1.5

    ring = {"ranks": 8, "size": "1GB", "node": "aws-p3.2xlarge"}
    own, free = (perfmodel.collective(**ring, network_cap=keeps) for keeps in (True, False))
    assert free.time < 0.5 * own.time
    assert "without that limit (--no-network-cap)" in " ".join(free.warnings)
    words = [f"--{name}={value}" for name, value in ring.items()]
    table = json.loads(invoke("collective", *words, "--no-network-cap", "--json").output)
    assert table["time"] == free.time
    assert client.post("/v1/collective", json={**ring, "network_cap": False}).json()["time"] == free.time


def test_compare_sweep_and_sensitivity_mention_the_cap():
    found = perfmodel.compare(P3, P3 | {"inter_link": "ethernet-10g-tcp"})
    assert "both networks are limited by the network limit of AWS p3.2xlarge (312 MB/s)" in found.card.advice
    found = perfmodel.compare(P3, P3 | {"network_cap": False})
    limited = "the network of A is limited by the network limit of AWS p3.2xlarge (312 MB/s)"
    assert limited in found.notes
    swept = sweep(node="aws-p3.2xlarge", gpus=[1, 8], inter_link=[None, "ethernet-10g-tcp"])
    assert len([note for note in swept.notes if "may send 312 MB/s" in note]) == 1
    assert not sweep(node="aws-p3.2xlarge", gpus=8, network_cap=False).notes
    assert not sweep(node="dgx-h100", gpus=[8, 64]).notes
    table = sweep(node="aws-p3.2xlarge", gpus=8, network_cap=[True, False]).table()
    assert table["iteration_time"][1] < 0.6 * table["iteration_time"][0]
    from perfmodel.decide.sensitivity import sensitivity
    from perfmodel.decide.sensitivity.sensitivity_tables import sensitivity_report
    from perfmodel.model.options.scenario import Scenario

    report = sensitivity_report(
        sensitivity(Scenario(**P3)), CATALOGUE, perfmodel.model.fitted.calibration.calibration()
    )
    assert any("may send 312 MB/s" in note for note in report.notes)


def test_no_network_is_proposed_for_machines_of_a_provider():
    fleet = joined(read_fleet("8 x aws-p3.2xlarge", CATALOGUE), CATALOGUE)
    assert not set(proposals(fleet, CATALOGUE)) & set(CATALOGUE.ids("links"))


# --- the kernel's TCP


def test_a_faster_port_of_tcp_is_said_to_change_nothing_and_what_would():
    found = perfmodel.compare(TCP, TCP | {"inter_link": "ethernet-100g-tcp"})
    assert "both networks are limited by the kernel's TCP (2.4 GB/s an adapter over 16 c" in found.card.advice
    assert "RDMA on the same ports would" in found.card.advice
    assert "the kernel's TCP (2.4 GB/s an adapter over 16" in predict(**TCP).verdict


def test_connections_move_the_ceiling_in_every_model():
    for job in (TCP, TCP | {"workload": "llama-3-8b"}, TCP | {"strategy": "parameter-server"}):
        job = job | {"inter_link": "ethernet-100g-tcp"}
        times = [predict(**job, connections=n).iteration_time for n in (1, 4, 16, 64)]
        assert times == sorted(times, reverse=True)
        assert times[0] > 1.2 * times[-1]
    ring = {"ranks": 64, "size": "1GB", "node": "dgx-a100-80gb", "nics": 1, "inter_link": "ethernet-100g-tcp"}
    times = [perfmodel.collective(**ring, connections=n).time for n in (1, 16, 64)]
    assert times == sorted(times, reverse=True)
    assert perfmodel.collective(**ring).time == times[1]
    assert "--connections 16" in predict(**TCP).defaults


@pytest.mark.parametrize("workload", ["llama-3-8b", "bert-large"])
def test_every_collective_opens_as_many_connections_by_default(workload):
    job = TCP | {"workload": workload, "inter_link": "ethernet-100g-tcp"}
    own, same = (predict(**job, strategy="fsdp", connections=n) for n in (None, 16))
    assert own.iteration_time == same.iteration_time
    assert "--connections 16" in own.defaults
    assert "--connections 1" in predict(**TCP, strategy="async").defaults
    found = sweep(**job, strategy=["all-reduce", "fsdp"], sharding="zero3").table()
    assert list(found["iteration_time"])[1] == own.iteration_time


def test_the_years_of_the_ceiling_are_those_of_the_measured_runs():
    years = set()
    for run in shipped_runs():
        known = run.nodes > 1 and run.inter_link in CATALOGUE.ids("links")
        if known and CATALOGUE.link(run.inter_link).passes_kernel:
            years.add(int(run.year))
    assert f"{min(years)} to {max(years)}" == TCP_YEARS


def test_the_years_of_collectives_over_tcp_are_those_they_are_learned_from():
    years = set()
    for measured in learned_from(shipped_measurements()):
        point = measured.point
        if point.nodes > 1 and point.inter_link.passes_kernel:
            years.add(point.year)
    assert f"collectives of {min(years)}" == COLLECTIVE_TCP_YEARS
    assert len(years) == 1
    assumed = tomllib.loads(FITTED.with_suffix(".toml").read_text("utf-8"))
    source = assumed["sources"][assumed["tcp_ceiling"]["source"]]
    assert f"runs of {source['title'][-5:-1]}" == TEXTBOOK_TCP_YEARS


def test_a_transformers_ceiling_has_its_years():
    job = {"node": "gcp-a2-ultragpu-8g", "gpus": 64, "workload": "llama-3-8b", "sharding": "zero3"}
    known = "the kernel's TCP (2.65 GB/s an adapter over 16 connections, as in collectives of 2024)"
    for words in (predict(**job).network_limit, predict(**job).verdict):
        assert f"{known}: RDMA on the same ports or more --connections would lift it" in words
    few = predict(**job | {"node": "dgx-a100-80gb", "inter_link": "aws-25g", "nics": 1}, connections=1)
    assert few.network_limit == "the provider's limit on one connection: more --connections would lift it"


def test_a_collective_says_what_binds_and_what_would_lift_it(invoke):
    ring = {"ranks": 64, "size": "1GB", "node": "dgx-a100-80gb", "nics": 1, "inter_link": "ethernet-100g-tcp"}
    known = "the kernel's TCP (2.65 GB/s an adapter over 16 connections, as in collectives of 2024)"
    lifted = "RDMA on the same ports or more --connections would lift it"
    assert perfmodel.collective(**ring).network_limit == f"{known}: {lifted}"
    textbook = perfmodel.collective(**ring, algorithm="best").network_limit
    assert textbook == (
        f"the kernel's TCP (3.12 GB/s an adapter over 16 connections, as in runs of 2020): {lifted}"
    )
    asked = [f"--{name.replace('_', '-')}={value}" for name, value in ring.items()]
    said = " ".join(invoke("collective", *asked).output.split())
    assert f"what binds is {known}: {lifted}" in said
    table = json.loads(invoke("collective", *asked, "--json").output)
    assert table["network_limit"] == f"{known}: {lifted}"
    for more in (
        {"inter_link": "ethernet-100g-rdma"},
        {"inter_link": "ethernet-10g-tcp"},
        {"size": "1KB"},
        {"ranks": 8},
    ):
        assert perfmodel.collective(**ring | more).network_limit is None
    few = perfmodel.collective(**ring | {"inter_link": "aws-25g"}, connections=1)
    assert few.network_limit == "the provider's limit on one connection: more --connections would lift it"
    capped = perfmodel.collective(ranks=8, size="1GB", node="aws-p3.2xlarge").network_limit
    assert capped.startswith("the network limit of AWS p3.2xlarge (312 MB/s)")


def test_rdma_is_proposed_on_the_ports_of_tcp():
    fleet = joined(read_fleet("8 x dgx-a100-80gb@ethernet-25g-tcp", CATALOGUE), CATALOGUE)
    assert "ethernet-25g-rdma" in proposals(fleet, CATALOGUE)
    found = perfmodel.fleets("8 x dgx-a100-80gb@ethernet-25g-tcp", workload="bert-large")
    rdma = next(one for one in found.options if one.option == "ethernet-25g-rdma")
    assert rdma.ratio.value > 1.1
    assert not any("adapter" in item.what for item in rdma.purchase.items)
    assert any("if their adapters do RDMA" in note for note in rdma.notes)
    assert not any("hardly distinguishable" in note for note in found.notes)


RACKS = {"oversubscription": 2.0, "rack_nodes": 2}


@pytest.mark.any_version
@pytest.mark.parametrize("connections", [1, 16, 32, 64, 512])
@pytest.mark.parametrize("rate", ["10g", "25g", "40g", "100g"])
def test_the_kernels_tcp_never_carries_more_than_rdma_on_the_same_port(rate, connections):
    tcp = {"inter_link": f"ethernet-{rate}-tcp", "connections": connections}
    for more in ({}, {"connections": 1}):
        rdma = {"inter_link": f"ethernet-{rate}-rdma"} | more
        for job in (
            {"node": "dgx-h100", "gpus": 16, "workload": "vgg16", "nics": 1},
            {"node": "dgx-a100-80gb", "gpus": 24, "workload": "vgg16", "algorithm": "halving-doubling"}
            | RACKS,
            {"node": "dgx-h100", "gpus": 32, "workload": "bert-large", "strategy": "parameter-server"},
            {"node": "8xmi325x", "gpus": 32, "workload": "vgg16"},
            {"node": "dgx-h100", "gpus": 16, "workload": "gpt2", "nics": 1},
        ):
            assert predict(**job, **rdma).iteration_time <= predict(**job, **tcp).iteration_time
        ring = {"ranks": 64, "size": "1GB", "node": "dgx-a100-80gb", "nics": 1}
        for name in ("all-reduce", "all-gather", "all-to-all", "send-receive"):
            times = [perfmodel.collective(name, **ring, **link).time for link in (rdma, tcp)]
            assert times[0] <= times[1]
        best = [perfmodel.collective(algorithm="best", **ring, **link).time for link in (rdma, tcp)]
        assert best[0] <= best[1]


def test_one_rate_of_a_link_is_told_from_another():
    """A collective on its own, buckets of BERT and the gradients of Llama beside computation."""
    link = {"inter_link": "ethernet-100g-rdma"}
    ring = {"ranks": 64, "node": "dgx-a100-80gb", "nics": 1, **link}
    alone = perfmodel.collective("all-gather", size="16GB", **ring).bus_bandwidth
    llama = predict(**TCP | link | {"workload": "llama-3-8b"})
    sent = next(row for row in llama.traffic if row.group == "replicas")
    beside = 2 * sent.message_bytes * 63 / 64 / sent.time
    assert beside < 0.8 * alone
    words = llama.network_limit
    assert words.startswith("computation at the same time: a collective then gets at most ")
    of_alone = float(re.search(r"([\d.]+) GB/s alone", words)[1])
    assert of_alone == pytest.approx(alone / 1e9, rel=0.01)
    said = float(re.search(r"([\d.]+) GB/s of 100 Gbit/s Ethernet", words)[1])
    assert said == pytest.approx(beside / 1e9, rel=0.005)


# --- options that are nowhere better


@pytest.mark.parametrize(
    ("worse", "better"),
    [
        ({"inter_link": "ethernet-25g-tcp"}, {"inter_link": "ethernet-100g-tcp"}),
        ({"inter_link": "ethernet-25g-tcp"}, {"inter_link": "ethernet-25g-rdma"}),
        ({"inter_link": "ib-hdr-200g"}, {"inter_link": "ib-ndr-400g"}),
        ({"nics": 1}, {"nics": 4}),
        ({"oversubscription": 4.0, "rack_nodes": 4}, {"oversubscription": 1.0, "rack_nodes": 4}),
        ({"inter_link": "ethernet-25g-tcp", "connections": 1}, {"inter_link": "ethernet-25g-tcp"}),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["resnet50", "bert-large", "gpt2"])
def test_an_option_that_is_nowhere_better_is_surely_no_faster(name, worse, better):
    one, other = (predict(workload=name, gpus=64, node="dgx-a100-80gb", **more) for more in (worse, better))
    down, up = ratio_between(one, other, "better"), ratio_between(other, one, "worse")
    assert down.high_80 <= max(1.0, down.value)
    assert up.low_80 >= min(1.0, up.value)
    assert down.sure == up.sure == 1.0
    assert down.low_80 <= down.value <= down.high_80


def test_the_order_of_other_changes_is_not_known():
    base = {"workload": "vgg16", "gpus": 64, "node": "dgx-a100-80gb"}
    for more in ({"inter_link": "efa-100g"}, {"overlap": "none"}, {"inter_link": "ib-edr-100g", "nics": 16}):
        assert 0.5 <= ratio_between(predict(**base, **more), predict(**base), "base").sure < 1


def test_the_limit_is_in_the_json():
    table = json.loads(predict(**TCP).to_json())
    assert table["network_limit"].startswith("the kernel's TCP")
    assert json.loads(predict(gpus=1).to_json())["network_limit"] is None


# --- the transport


def test_tcp_over_an_adapter_is_what_a_spec_of_it_says():
    ranks = {"ranks": 8, "nodes": 2, "nics": 2, "size": "64MB", "intra_link": "nvlink3-quad-mesh"}
    own, spec = (
        perfmodel.collective(**ranks, inter_link=link, transport=transport)
        for link, transport in (("slingshot11-200g", "tcp"), ("slingshot11-200g-tcp", "plug-in"))
    )
    assert own.time == spec.time
    assert own.interval.low_80 == spec.interval.low_80
    assert "the kernel's TCP" in own.network_limit


@pytest.mark.parametrize("job", [{}, {"workload": "gpt2"}, {"strategy": "parameter-server"}], ids=str)
def test_without_its_plug_in_a_network_is_slower(job):
    asked = {"node": "aws-p4d.24xlarge", "gpus": 32} | job
    own, tcp = (predict(**asked, transport=transport) for transport in ("plug-in", "tcp"))
    assert tcp.scenario["transport"] == "tcp"
    assert tcp.iteration_time > 1.05 * own.iteration_time


def test_a_link_of_tcp_has_no_other_transport():
    times = {predict(**P3, transport=word).iteration_time for word in ("plug-in", "tcp", "sockets")}
    assert len(times) == 1
    with pytest.raises(perfmodel.InputError, match="plug-in"):
        predict(**P3, transport="udp")


# --- what passes between nodes


H100S = {"intra_link": "nvlink4-nvswitch", "inter_link": "ib-ndr-400g", "size": "1GB"}


def test_a_send_receive_takes_few_channels_of_its_port():
    """NCCL 2.28 sends to a rank over two channels, or over one of more than 64 ranks."""
    few, many = (
        perfmodel.collective("send-receive", ranks=ranks, nodes=ranks // 8, nics=8, **H100S)
        for ranks in (64, 128)
    )
    assert few.bus_bandwidth < 30e9 < 0.7 * 50e9
    assert many.bus_bandwidth == pytest.approx(few.bus_bandwidth / 2, rel=0.05)


def test_one_rank_of_a_machine_gets_less_of_its_port_than_eight_on_eight_rails():
    large = H100S | {"size": "64GB"}
    lone = perfmodel.collective("all-gather", ranks=4, nodes=4, nics=1, **large)
    rails = perfmodel.collective("all-gather", ranks=8, nodes=4, nics=2, **large)
    assert lone.bus_bandwidth < 0.9 * rails.bus_bandwidth / 2


def test_adapters_share_what_the_kernel_carries():
    hosts = {"ranks": 16, "nodes": 2, "intra_link": "nvlink4-nvswitch", "size": "1GB"}
    one, four = (
        perfmodel.collective(**hosts, inter_link="ethernet-100g-tcp", nics=nics).bus_bandwidth
        for nics in (1, 4)
    )
    assert 1.3 * one < four < 3 * one


def test_an_all_to_all_over_tcp_has_connections_for_every_pair():
    hosts = {"ranks": 16, "nodes": 2, "nics": 2, "intra_link": "nvlink4-nvswitch", "size": "1GB"}
    gather, exchange = (
        perfmodel.collective(name, **hosts, inter_link="ethernet-100g-tcp").time
        for name in ("all-gather", "all-to-all")
    )
    # 4.3 times as many bytes leave a node, less what more connections gain
    assert 1.2 * gather < exchange < 3 * gather


def test_all_to_all_over_two_racks_crosses_with_half_of_its_bytes():
    one, two = (
        perfmodel.collective("all-to-all", ranks=ranks, node="gcp-a4x-highgpu-4g", size="4GiB")
        for ranks in (64, 128)
    )
    # 64 of 128 ranks lie in the other rack, over one port of 50 GB/s for each rank
    assert two.time == pytest.approx(0.5 * 2**32 / 50e9, rel=0.3)
    assert two.time > 3 * one.time


def test_connections_beyond_the_cores_do_not_count():
    few, many = (predict(node="aws-p3.2xlarge", gpus=4, connections=count) for count in (16, 512))
    assert many.iteration_time == few.iteration_time
    assert any("has 4 cores: 16 connections" in warning for warning in many.warnings)
