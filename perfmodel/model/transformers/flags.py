"""Command-line options that start a layout, by software stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfmodel.model.options.layout import FULL, SELECTIVE, ZERO_2, ZERO_3, Layout
from perfmodel.workloads.architecture import Architecture

if TYPE_CHECKING:
    from perfmodel.model.options.scenario import Scenario


def flags(stack: str, layout: Layout, model: Architecture, sequence_length: int, precision: str) -> list[str]:
    """Return the command-line options of Megatron-LM or torchtitan for a layout; none for other stacks.

    Parameters
    ----------
    stack : id of the software
    layout : a single layout, of whole numbers
    model : the network, for its number of layers
    sequence_length : tokens of a sample
    precision : ``bf16``, ``fp16`` or ``fp8``

    Examples
    --------
    >>> gpt = Architecture(64, 8, 4, 4, 16, 256, 1000, 128)
    >>> print(*flags("torchtitan", Layout(2, data_parallel=4, sharding=3), gpt, 128, "bf16"), sep=chr(10))
    --parallelism.tensor_parallel_degree 2
    --parallelism.pipeline_parallel_degree 1
    --parallelism.context_parallel_degree 1
    --parallelism.data_parallel_shard_degree 4
    --parallelism.data_parallel_replicate_degree 1
    --training.local_batch_size 1
    --training.global_batch_size 4
    --training.seq_len 128
    --activation_checkpoint.mode none
    """
    if stack in ("megatron-lm", "megatron-core", "nemo"):
        return _megatron(layout, model, sequence_length, precision)
    return _torchtitan(layout, model, sequence_length, precision) if stack == "torchtitan" else []


_BACKENDS = {"unfused": "unfused", "flash2": "flash", "flash3": "flash"}
_KNOWN = {
    "sequence_parallel": (None, True, False),
    "gradient_precision": (None, "bf16", "fp32"),
    "offload": (None, "optimizer"),
    "attention_kernel": (None, *_BACKENDS),
    "loss": (None,),
    "optimizer": (None, "adam", "muon"),
}
"""Options of a scenario -> values that Megatron-LM has options for."""


def with_chosen(lines: list[str], layout: Layout, scenario: Scenario) -> list[str]:
    """Return command-line options with those for kernels and memory that a scenario states.

    None are returned for a scenario with an option that the software has no known option for.

    Parameters
    ----------
    lines, layout : options of ``flags`` for a layout
    scenario : of the job

    Examples
    --------
    >>> from perfmodel.model.options.scenario import Scenario
    >>> of = Scenario(workload="gpt2", recompute_modules="mlp,layernorm", gradient_precision="fp32")
    >>> with_chosen(["--bf16", "--grad-reduce-in-bf16"], Layout(recompute=SELECTIVE), of)
    ['--bf16', '--accumulate-allreduce-grads-in-fp32', '--recompute-modules mlp layernorm']
    """
    chosen = {name: getattr(scenario, name) for name in (*_KNOWN, "recompute_modules")}
    if all(value is None or value == "adam" for value in chosen.values()):
        return lines
    is_megatron = "--bf16" in lines or "--fp16" in lines
    if not is_megatron or any(chosen[name] not in known for name, known in _KNOWN.items()):
        return []
    if chosen["sequence_parallel"] is False:
        lines = [line for line in lines if line != "--sequence-parallel"]
    if chosen["gradient_precision"] == "fp32":
        in_32 = {"--grad-reduce-in-bf16": "--accumulate-allreduce-grads-in-fp32"}
        lines = [in_32.get(line, line) for line in lines]
    added = []
    if chosen["recompute_modules"] is not None and layout.recompute == SELECTIVE:
        added.append(f"--recompute-modules {' '.join(chosen['recompute_modules'].replace(',', ' ').split())}")
    if chosen["offload"] is not None:
        added.append("--optimizer-cpu-offload")
    if chosen["attention_kernel"] is not None:
        added.append(f"--attention-backend {_BACKENDS[chosen['attention_kernel']]}")
    if chosen["optimizer"] == "muon":
        added.append("--optimizer muon")
    return [*lines, *added]


def _megatron(layout: Layout, model: Architecture, sequence_length: int, precision: str) -> list[str]:
    """Return the options of Megatron-LM for a layout."""
    given = {
        "tensor-model-parallel-size": layout.tensor_parallel,
        "pipeline-model-parallel-size": layout.pipeline_parallel,
        "context-parallel-size": layout.context_parallel,
        "micro-batch-size": layout.micro_batch_size,
        "global-batch-size": layout.global_batch_size,
        "seq-length": sequence_length,
    }
    unequal = model.layers % layout.pipeline_parallel > 0
    if layout.schedule_name == "interleaved" and not unequal:
        given["num-layers-per-virtual-pipeline-stage"] = _layers_of_a_chunk(layout, model)
    if model.experts:
        given["expert-model-parallel-size"] = layout.expert_parallel
    lines = [f"--{name} {value:.0f}" for name, value in given.items()]
    if unequal:
        lines.append(f"--pipeline-model-parallel-layout '{_uneven_stages(layout, model)}'")
    if layout.tensor_parallel > 1:
        lines += ["--sequence-parallel", "--tp-comm-overlap"]
    replicas = layout.data_parallel * layout.context_parallel
    if layout.sharding >= ZERO_2:
        lines += [*_MEGATRON_FSDP, f"--data-parallel-sharding-strategy {_STRATEGY[int(layout.sharding)]}"]
    elif layout.sharding > 0:
        lines += ["--use-distributed-optimizer", "--overlap-grad-reduce", "--overlap-param-gather"]
    elif replicas > 1:
        lines.append("--overlap-grad-reduce")
    if layout.recompute == SELECTIVE:
        lines.append("--recompute-granularity selective")
    if layout.recompute == FULL:
        lines.append("--recompute-granularity full --recompute-method uniform --recompute-num-layers 1")
    return [*lines, *_PRECISION[precision]]


_BF16 = ["--bf16", "--grad-reduce-in-bf16"]
_PRECISION = {"fp16": ["--fp16"], "bf16": _BF16, "fp8": [*_BF16, "--fp8-format hybrid"]}
_STRATEGY = {ZERO_2: "optim_grads", ZERO_3: "optim_grads_params"}
_MEGATRON_FSDP = [
    "--use-megatron-fsdp",
    "--use-distributed-optimizer",
    "--no-gradient-accumulation-fusion",
    "--ckpt-format fsdp_dtensor",
]
"""Options that Megatron-LM requires to shard gradients or parameters."""


def _layers_of_a_chunk(layout: Layout, model: Architecture) -> float:
    """Return the layers of a chunk of an equal pipeline."""
    return float(model.layers / (layout.pipeline_parallel * layout.virtual_stages))


def _uneven_stages(layout: Layout, model: Architecture) -> str:
    """Return the layers of all chunks in Megatron-Core's notation: E embedding, t a layer, L the loss.

    Chunks are assigned to the stages in turn.  The first chunks hold one layer more, so that the fullest
    stage holds as many layers as the slowest stage of the prediction.
    """
    chunks = int(layout.pipeline_parallel * layout.virtual_stages)
    least, more = divmod(int(model.layers), chunks)
    held = ["t" * (least + (chunk < more)) for chunk in range(chunks)]
    return f"E{'|'.join(held)}L"


_TORCH_SCHEDULES = {"1f1b": "1F1B", "interleaved": "Interleaved1F1B", "zb-v": "ZBVZeroBubble"}


def _torchtitan(layout: Layout, model: Architecture, sequence_length: int, precision: str) -> list[str]:
    """Return the options of torchtitan for a layout."""
    sharded, piped = layout.sharding == ZERO_3, layout.pipeline_parallel > 1
    # a pipeline cuts a replica's batch into its micro-batches itself
    passes = layout.accumulation_steps if piped else 1
    given: dict[str, Any] = {
        "parallelism.tensor_parallel_degree": layout.tensor_parallel,
        "parallelism.pipeline_parallel_degree": layout.pipeline_parallel,
        "parallelism.context_parallel_degree": layout.context_parallel,
        "parallelism.data_parallel_shard_degree": layout.data_parallel if sharded else 1,
        "parallelism.data_parallel_replicate_degree": 1 if sharded else layout.data_parallel,
        "training.local_batch_size": layout.micro_batch_size * passes,
        "training.global_batch_size": layout.global_batch_size,
        "training.seq_len": sequence_length,
    }
    if model.experts:
        given["parallelism.expert_parallel_degree"] = layout.expert_parallel
    schedule = []
    if piped:
        given["parallelism.pipeline_parallel_microbatch_size"] = layout.micro_batch_size
        name = _TORCH_SCHEDULES.get(layout.schedule_name)
        schedule = [] if name is None else [f"--parallelism.pipeline_parallel_schedule {name}"]
        if layout.virtual_stages > 1 and model.layers % layout.pipeline_parallel == 0:
            given["parallelism.pipeline_parallel_layers_per_stage"] = _layers_of_a_chunk(layout, model)
    mode = {SELECTIVE: "selective", FULL: "full"}.get(int(layout.recompute), "none")
    lines = [f"--{name} {value:.0f}" for name, value in given.items()]
    converted = ["--model.converters float8"] if precision == "fp8" else []
    return [*lines, *schedule, *converted, f"--activation_checkpoint.mode {mode}"]
