"""Derivations have no gap: every number is a formula's, arithmetic's, or given by a source."""

from __future__ import annotations

import pytest

from perfmodel.decide.explanations.derivation import derivation
from perfmodel.decide.sensitivity.elasticity import case_of
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import scenario_of

COPIES = """
resnet50 1
resnet50 8 node=dgx-1v
resnet50 32
resnet50 3 node=dgx-1v
resnet50 5 node=dgx-1v intra_link=nvlink2-cube-mesh
resnet50 32 overlap=none
resnet50 32 overlap=wfbp
resnet50 32 overlap=bucketed algorithm=ring
resnet50 32 overlap=priority
resnet50 32 overlap=fused
resnet50 32 overlap=optimal
resnet50 32 algorithm=best
resnet50 32 algorithm=tree
resnet50 32 algorithm=hierarchical
resnet50 64 algorithm=torus node=dgx-1v
resnet50 8 algorithm=ring-chunked node=dgx-1v
resnet50 64 algorithm=multi-ring node=dgx-1v rack_nodes=4 oversubscription=3.0
resnet50 64 rack_nodes=4 oversubscription=3.0
resnet50 64 rack_nodes=4 oversubscription=3.0 placement=random
resnet50 64 rack_nodes=4 oversubscription=3.0 strategy=parameter-server servers=4
resnet50 16 strategy=parameter-server servers=4
vgg16 16 strategy=parameter-server servers=4 local_aggregation=false
vgg16 16 strategy=parameter-server servers=4 server_shards=greedy
vgg16 16 strategy=parameter-server servers=4 server_shards=large-split
vgg16 16 strategy=parameter-server servers=4 server_shards=round-robin
resnet50 4 strategy=parameter-server-local
resnet50 4 strategy=data-parallel-single-process
resnet50 4 strategy=data-parallel-single-process framework=tensorflow
resnet50 16 strategy=async
resnet50 16 strategy=async jitter=none
resnet50 16 strategy=k-sync k=8
resnet50 16 strategy=k-async k=8
resnet50 16 strategy=k-batch-sync k=8
resnet50 16 strategy=k-batch-async k=8
resnet50 16 strategy=backup
resnet50 16 strategy=local-sgd local_steps=4
resnet50 16 compression=fp16
resnet50 16 compression=topk:0.01
resnet50 16 compression=randomk:0.01
resnet50 16 compression=qsgd:8
resnet50 16 compression=signsgd
resnet50 16 compression=terngrad
resnet50 16 compression=onebit
vgg16 16 compression=powersgd:4
resnet50 8 input=real
resnet50 8 input=real storage=ebs-gp2
resnet50 8 input=real prefetch_depth=0
resnet50 8 input=real cache=ram node=dgx-1v
resnet50 8 input=real pinned_memory=false
resnet50 8 input=real decode_rate=100.0
resnet50 8 input=real decoder=dali-cpu
resnet50 16 anchor=iteration_time=0.145s@1
resnet50 16 anchor=samples_per_second=400@1
resnet50 16 jitter=exponential:rate=1
resnet50 16 jitter=pareto:scale=1,shape=4
resnet50 16 jitter=gamma:shape=4,scale=1
dlrm 16 accelerator=a100-sxm4-80gb
dlrm 16 accelerator=a100-sxm4-80gb embedding=replicated
bert-base 64 accelerator=h100-sxm5-80gb
bert-large 8 accelerator=a100-sxm4-40gb accumulation_steps=4
transformer-base 8 framework=tensorflow
alexnet 4 accelerator=k80
inception-v3 32 accelerator=gtx-1080-ti node=pcie-workstation-8gpu precision=fp32
resnet50 16 accelerator=mi300x
resnet50 64 accelerator=tpu-v3 precision=bf16
"""
SHARED = """
gpt2 8 accelerator=a100-sxm4-80gb tensor_parallel=2
gpt2 16 accelerator=v100-sxm2-16gb tensor_parallel=2 precision=amp
gpt2 8 accelerator=h100-sxm5-80gb sharding=zero1
gpt2 8 accelerator=mi300x sharding=zero3
gpt3-175b 1024 accelerator=a100-sxm4-80gb tensor_parallel=8 pipeline_parallel=8 global_batch_size=1536
gpt3-175b 1024 accelerator=h100-sxm5-80gb tensor_parallel=8 pipeline_parallel=16 global_batch_size=2048
gpt3-175b 512 accelerator=b200-sxm-180gb tensor_parallel=8 pipeline_parallel=8 global_batch_size=512
gpt3-6.7b 64 accelerator=a100-sxm4-80gb sharding=zero2
gpt3-6.7b 64 accelerator=a100-sxm4-80gb pipeline_parallel=4 global_batch_size=256 recompute=full
gpt3-6.7b 64 accelerator=a100-sxm4-80gb pipeline_parallel=4 virtual_stages=2 global_batch_size=256
gpt3-6.7b 64 accelerator=a100-sxm4-80gb pipeline_parallel=4 global_batch_size=512 recompute=selective
gpt3-6.7b 64 accelerator=a100-sxm4-80gb recompute=full sharding=zero3
gpt3-6.7b 64 accelerator=a100-sxm4-80gb recompute=selective tensor_parallel=4
llama3-8b 64 accelerator=h100-sxm5-80gb sharding=zero3
llama3-8b 64 accelerator=h100-sxm5-80gb sharding=zero3 accumulation_steps=4
llama3-8b 64 accelerator=h100-sxm5-80gb context_parallel=2 tensor_parallel=2
llama3-8b 64 accelerator=h100-sxm5-80gb context_parallel=4 sequence_length=32768
llama3-8b 64 accelerator=h100-sxm5-80gb context_parallel=8 sequence_length=65536 recompute=full
llama3-8b 64 accelerator=h100-sxm5-80gb precision=fp8 sharding=zero3
llama3-8b 64 accelerator=h100-sxm5-80gb sharding=zero3 lora=16
llama3-8b 64 accelerator=gb200 sharding=zero3
llama3-8b 64 accelerator=h200-sxm-141gb sharding=zero3 sequence_length=4096
llama3-8b 64 accelerator=h100-sxm5-80gb sharding=zero3 rack_nodes=4 oversubscription=2.0
llama3-8b 64 accelerator=h100-sxm5-80gb sharding=zero3 inter_link=ethernet-400g-rdma
llama3-70b 256 accelerator=h100-sxm5-80gb tensor_parallel=8 pipeline_parallel=4 global_batch_size=512
llama3-70b 256 accelerator=h100-sxm5-80gb tensor_parallel=8 sharding=zero1 recompute=full
llama2-7b 32 accelerator=a100-sxm4-80gb sharding=zero3 framework=pytorch
llama2-13b 32 accelerator=a100-sxm4-80gb tensor_parallel=2 sharding=zero1
mixtral-8x7b 64 accelerator=h100-sxm5-80gb expert_parallel=8
mixtral-8x7b 64 accelerator=h100-sxm5-80gb expert_parallel=8 tensor_parallel=2
mixtral-8x7b 128 accelerator=h100-sxm5-80gb expert_parallel=8 pipeline_parallel=4 global_batch_size=256
bert-large 16 accelerator=a100-sxm4-80gb tensor_parallel=2
t5-11b 64 accelerator=a100-sxm4-80gb sharding=zero3
gpt2 8 accelerator=a100-sxm4-80gb tensor_parallel=2 anchor=iteration_time=0.2s@8
gpt2 8 accelerator=a100-sxm4-80gb tensor_parallel=2 input=real decode_rate=1000.0
"""
CATALOGUE = Catalogue.of(None)


def options(line):
    """Return the options that a line holds: the network, how many accelerators, and others by name."""
    workload, world_size, *others = line.split()
    result = {"workload": workload, "world_size": int(world_size)}
    for part in others:
        name, _, text = part.partition("=")
        if text in ("true", "false"):
            result[name] = text == "true"
        else:
            result[name] = int(text) if text.isdigit() else text
    return result


LINES = [*COPIES.split("\n"), *SHARED.split("\n")]
LINES = [line for line in LINES if line]


def test_there_are_a_hundred():
    assert len(LINES) == len({*LINES}) == 100


@pytest.mark.any_version
@pytest.mark.parametrize("line", LINES)
def test_every_number_has_an_origin(line):
    case = case_of(scenario_of(options(line)), CATALOGUE, calibration(), Conditions(price=1.0))
    result = derivation(case)
    assert [(node.name, node.value) for node in result.gaps] == []
    for node in result.iteration_time.walk():
        if node.function is not None:
            assert node.inputs
        elif node.operation:
            assert node.operands
    made = {node.function for node in result.iteration_time.walk()}
    assert len(made) > 20
