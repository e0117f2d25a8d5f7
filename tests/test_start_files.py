"""Files for DeepSpeed and Accelerate are read back as their documentation says, and are the job they start.

DeepSpeed 0.19: docs/_pages/config-json.md (train_batch_size is micro-batch times passes times GPUs).
Accelerate 1.15: examples/torch_native_parallelism/configs/tp_hsdp.yaml.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from perfmodel import fits, layouts, predict

JOB = {"workload": "llama-3-8b", "node": "dgx-h100", "gpus": 16, "global_batch_size": 64}


def parts(lines: list[str]) -> tuple[str, str, str]:
    """Return the file, the comments and the command of lines that start a job."""
    end = lines.index("END")
    assert re.fullmatch(r"cat > \S+ <<'END'", lines[0])
    return "\n".join(lines[1:end]), "\n".join(lines[end + 1 : -1]), lines[-1]


def number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    assert found, pattern
    return int(found[1].replace(",", ""))


def of_deepspeed(lines: list[str]) -> dict[str, Any]:
    """Return the options of a job that DeepSpeed's file states."""
    text, left, command = parts(lines)
    file = json.loads(text)
    nodes = number(r"--num_nodes (\d+)", command) if "--num_nodes" in command else 1
    gpus = nodes * number(r"--num_gpus (\d+)", command)
    micro, passes = file["train_micro_batch_size_per_gpu"], file["gradient_accumulation_steps"]
    assert file["train_batch_size"] == micro * passes * gpus
    zero, types = file["zero_optimization"], file.get("data_types", {})
    return {
        "gpus": gpus,
        "micro_batch_size": micro,
        "global_batch_size": file["train_batch_size"],
        "sharding": ("none", "zero1", "zero2", "zero3")[zero["stage"]],
        "precision": next(name for name in ("bf16", "fp16") if file.get(name, {}).get("enabled")),
        "offload": "optimizer" if "offload_optimizer" in zero else None,
        "gradient_precision": types.get("grad_accum_dtype"),
        **of_comments(left),
    }


def of_accelerate(lines: list[str]) -> dict[str, Any]:
    """Return the options of a job that Accelerate's file states."""
    text, left, _ = parts(lines)
    file = yaml.safe_load(text)
    assert file["distributed_type"] == "FSDP"
    fsdp, mesh, gpus = file["fsdp_config"], file.get("parallelism_config"), file["num_processes"]
    assert (fsdp["fsdp_version"], fsdp["fsdp_reshard_after_forward"]) == (2, True)
    micro, passes = number(r"micro-batch of (\d+)", left), number(r"(\d+) of them a step", left)
    result = {
        "gpus": gpus,
        "micro_batch_size": micro,
        "global_batch_size": micro * passes * gpus,
        "sharding": "zero3",
        "precision": file["mixed_precision"],
        "offload": "weights" if fsdp["fsdp_offload_params"] else None,
        "recompute": "full" if fsdp["fsdp_activation_checkpointing"] else "none",
        **of_comments(left),
    }
    if mesh:
        sharded, copies = (mesh[f"parallelism_config_dp_{name}_size"] for name in ("shard", "replicate"))
        assert sharded * copies == gpus
        result["shard_group"] = sharded
    return result


def of_comments(left: str) -> dict[str, Any]:
    """Return the options that no file has a key for, which the comments leave to the script."""
    optimizer = re.search(r"optimizer \(([\w-]+)\)", left)
    assert optimizer
    length = number(r"sequences of ([\d,]+) tokens", left)
    result: dict[str, Any] = {"sequence_length": length, "optimizer": optimizer[1]}
    for words, options in (
        ("recomputation of all layers", {"recompute": "full"}),
        ("selective recomputation", {"recompute": "selective"}),
        ("the attention by flash2", {"attention_kernel": "flash2"}),
        ("gradients in fp32", {"gradient_precision": "fp32"}),
    ):
        result |= options if words in left else {}
    return result | ({"shard_group": number(r"groups of (\d+)", left)} if "groups of" in left else {})


READERS = {"deepspeed": of_deepspeed, "fsdp": of_accelerate}


@pytest.mark.parametrize(
    ("software", "options"),
    [
        ("deepspeed", {"sharding": "zero3", "recompute": "full"}),
        ("deepspeed", {"sharding": "zero1", "precision": "fp16", "micro_batch_size": 2}),
        ("deepspeed", {"sharding": "zero2", "offload": "optimizer", "gradient_precision": "fp32"}),
        ("deepspeed", {"sharding": "zero3", "shard_group": 8, "attention_kernel": "flash2"}),
        ("deepspeed", {"gpus": 8, "sharding": "zero3", "sequence_length": 4096}),
        ("fsdp", {"sharding": "zero3", "recompute": "full", "micro_batch_size": 4}),
        ("fsdp", {"sharding": "zero3", "shard_group": 8, "recompute": "selective"}),
        ("fsdp", {"gpus": 8, "sharding": "zero3", "gradient_precision": "fp32"}),
        ("fsdp", {"sharding": "zero3", "precision": "fp16", "optimizer": "adam-8bit"}),
    ],
)
def test_a_file_read_back_is_the_job_it_was_made_of(software: str, options: dict[str, Any]) -> None:
    job = {**JOB, "framework": software, **options}
    read = READERS[software](fits(**job).starts[software])
    stated = {name: value for name, value in read.items() if value is not None}
    again = {"workload": job["workload"], "node": job["node"], "framework": software, **stated}
    one, other = predict(**job), predict(**again)
    assert other.layout == one.layout
    assert other.iteration_time == pytest.approx(one.iteration_time)
    assert other.memory.bytes == pytest.approx(one.memory.bytes)


def test_a_job_of_more_than_replicas_has_no_such_file() -> None:
    starts = fits(**JOB, tensor_parallel=8, framework="megatron-core").starts
    assert not {*READERS} & {*starts}


def test_no_file_of_fsdp_moves_optimizer_states_alone() -> None:
    """Its offloading moves parameters and gradients too, which is another job than the predicted one."""
    starts = fits(**JOB, strategy="fsdp", offload="optimizer").starts
    assert "deepspeed" in starts
    assert not {"fsdp", "axolotl"} & {*starts}


def test_layouts_start_with_the_file_of_their_software() -> None:
    rows = layouts(**JOB, framework="deepspeed").rows
    first = next(row for row in rows if row.flags)
    assert of_deepspeed(first.flags)["global_batch_size"] == 64
