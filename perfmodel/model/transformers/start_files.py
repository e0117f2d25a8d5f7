"""Configuration files that start replicas with DeepSpeed or with FSDP2, as lines to paste into a shell.

Keys are those of DeepSpeed 0.19 (docs/_pages/config-json.md) and of Accelerate 1.15 (its ``fsdp_config`` and
``parallelism_config``).  What a file has no key for stands in comments above the line that starts the script.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from perfmodel.model.options.kept import OFFLOADED
from perfmodel.model.options.layout import FULL, SELECTIVE, ZERO_3, Layout
from perfmodel.model.setting.resolve import Setting

Lines = list[str]

_BITS_16 = ("bf16", "fp16")
_KERNELS = {"attention_kernel": "the attention", "loss": "the loss"}
"""Options that are choices of the network's own code, with what they say."""


def start_lines(software: str, setting: Setting, layout: Layout, length: int) -> Lines:
    """Return the lines that start a layout by DeepSpeed or FSDP; none of others, or if they cannot run it.

    Parameters
    ----------
    software : id of the software
    setting : of the job
    layout : a single layout, of whole numbers
    length : tokens of a sample
    """
    makes: dict[str, Callable[[Setting, Layout, int], Lines]] = {"deepspeed": _deepspeed, "fsdp": _fsdp}
    able = software in makes and is_data_parallel(layout) and setting.scenario.lora is None
    return makes[software](setting, layout, length) if able else []


def is_data_parallel(layout: Layout) -> bool:
    """Return whether nothing but replicas shares the network."""
    degrees = layout.tensor_parallel, layout.pipeline_parallel, layout.expert_parallel
    return all(degree == 1 for degree in degrees) and layout.context_parallel == 1


def _deepspeed(setting: Setting, layout: Layout, length: int) -> Lines:
    """Return DeepSpeed's file and the line that starts it."""
    scenario = setting.scenario
    zero: dict[str, Any] = {"stage": int(layout.sharding)}
    host, pinned = OFFLOADED[scenario.offload], {"device": "cpu", "pin_memory": True}
    if host.optimizer:
        zero["offload_optimizer"] = pinned
    if host.weights:
        zero["offload_param"] = pinned
    settings: dict[str, Any] = {
        "train_batch_size": int(layout.global_batch_size),
        "train_micro_batch_size_per_gpu": int(layout.micro_batch_size),
        "gradient_accumulation_steps": int(layout.accumulation_steps),
        "zero_optimization": zero,
    }
    if setting.precision not in ("fp32", "tf32"):
        settings["fp16" if setting.precision == "fp16" else "bf16"] = {"enabled": True}
    if scenario.gradient_precision is not None:
        settings["data_types"] = {"grad_accum_dtype": scenario.gradient_precision}
    left = [_sequences(length), *_of_network(setting), *_of_optimizer(setting)]
    if layout.recompute:
        left.append(f"{_recomputation(layout)}: a call of the network's own code")
    if layout.shard_copies > 1:
        left.append(f"shards in groups of {int(layout.shard_group)} ranks (MiCS, a call of the script)")
    several = f"--num_nodes {setting.nodes} --hostfile hostfile " if setting.nodes > 1 else ""
    ranks = setting.world_size // setting.nodes
    command = f"deepspeed {several}--num_gpus {ranks} train.py --deepspeed --deepspeed_config ds_config.json"
    return _pasted("ds_config.json", json.dumps(settings, indent=2).splitlines(), left, command)


def _fsdp(setting: Setting, layout: Layout, length: int) -> Lines:
    """Return Accelerate's file for FSDP2 and the line that starts it.

    None for parameters in copies, or for optimizer states alone in the host's memory: FSDP2 moves these only
    together with parameters and gradients.
    """
    host = OFFLOADED[setting.scenario.offload]
    if layout.sharding != ZERO_3 or host.optimizer > host.weights:
        return []
    copies = int(layout.shard_copies)
    mixed = "'no'" if setting.precision in ("fp32", "tf32") else "bf16"
    lines = [
        "distributed_type: FSDP",
        f"mixed_precision: {'fp16' if setting.precision == 'fp16' else mixed}",
        f"num_processes: {setting.world_size}",
        f"num_machines: {setting.nodes}",
        "fsdp_config:",
        "  fsdp_version: 2",
        "  fsdp_reshard_after_forward: true",
        "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP",
        f"  fsdp_activation_checkpointing: {_word(layout.recompute == FULL)}",
        f"  fsdp_offload_params: {_word(host.weights)}",
    ]
    if copies > 1:
        lines += [
            "parallelism_config:",
            f"  parallelism_config_dp_replicate_size: {copies}",
            f"  parallelism_config_dp_shard_size: {setting.world_size // copies}",
        ]
    batch, passes = int(layout.micro_batch_size), int(layout.accumulation_steps)
    batches = f"a micro-batch of {batch}, {passes} of them a step"
    left = [batches, _sequences(length), *_of_network(setting), *_of_optimizer(setting)]
    if layout.recompute == SELECTIVE:
        left.append(f"{_recomputation(layout)}: a call of the network's own code")
    if setting.scenario.gradient_precision is not None:
        left.append(f"gradients in {setting.scenario.gradient_precision}")
    where = "--machine_rank $NODE_RANK --main_process_ip $HEAD_NODE --main_process_port 29500 "
    command = f"accelerate launch --config_file fsdp.yaml {where if setting.nodes > 1 else ''}train.py"
    return _pasted("fsdp.yaml", lines, left, command)


def _word(is_so: bool) -> str:
    return "true" if is_so else "false"


def _sequences(length: int) -> str:
    return f"sequences of {length:,} tokens"


def _recomputation(layout: Layout) -> str:
    return "recomputation of all layers" if layout.recompute == FULL else "selective recomputation"


def _of_network(setting: Setting) -> Lines:
    """Return what the network's own code has to state, as phrases."""
    stated = [
        f"{words} by {getattr(setting.scenario, name)}"
        for name, words in _KERNELS.items()
        if getattr(setting.scenario, name) is not None
    ]
    if OFFLOADED[setting.scenario.offload].activations:
        stated.append("activations in the host's memory (torch.autograd.graph.save_on_cpu)")
    is_usual = setting.precision in (*_BITS_16, "fp32", "tf32")
    return stated if is_usual else [*stated, f"products in {setting.precision}"]


def _of_optimizer(setting: Setting) -> Lines:
    return [f"the optimizer ({setting.optimizer}) and its learning rate"]


def _pasted(file: str, lines: Sequence[str], left: Sequence[str], command: str) -> Lines:
    """Return lines for a shell that write a file, name what it does not state, and start the job."""
    return [f"cat > {file} <<'END'", *lines, "END", *(f"# of train.py: {each}" for each in left), command]
