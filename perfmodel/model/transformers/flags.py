"""Command-line options that start a layout, by software stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perfmodel.model.options.layout import ALL_GATHER, FULL, NESTED, SELECTIVE, ZERO_2, ZERO_3, Layout
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
    precision : ``bf16``, ``fp16`` or a format of 8 or 4 bits

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
    others = (value for name, value in chosen.items() if name != "offload")
    if (
        lines
        and not is_megatron
        and chosen["offload"] == "weights"
        and all(x in (None, "adam") for x in others)
    ):
        return [*lines, "--training.enable_cpu_offload"]
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
    places = model.layers + 2 * layout.end_slots
    unequal = places % layout.pipeline_parallel > 0
    if layout.schedule_name == "interleaved" and not unequal:
        given["num-layers-per-virtual-pipeline-stage"] = _layers_of_a_chunk(layout, model)
    if model.experts:
        given["expert-model-parallel-size"] = layout.expert_parallel
        given["expert-tensor-parallel-size"] = layout.expert_tensor_parallel
    lines = [f"--{name} {value:.0f}" for name, value in given.items()]
    if layout.end_slots and not unequal:
        lines += [f"--account-for-{end}-in-pipeline-split" for end in ("embedding", "loss")]
    if unequal:
        lines.append(f"--pipeline-model-parallel-layout '{_uneven_stages(layout, model)}'")
    if layout.tensor_parallel > 1:
        lines += ["--sequence-parallel", "--tp-comm-overlap"]
    replicas = layout.data_parallel * layout.context_parallel
    if layout.context_parallel > 1 and layout.context_method:
        lines.append(f"--cp-comm-type {_MEGATRON_CONTEXT[int(layout.context_method)]}")
    if layout.context_method == NESTED and layout.context_parallel > 1:
        lines.append(
            f"--hierarchical-context-parallel-sizes {layout.context_inner:.0f} {layout.context_ring:.0f}"
        )
    if layout.sharding > 0 and layout.shard_copies > 1:
        lines.append(f"--num-distributed-optimizer-instances {layout.shard_copies:.0f}")
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
    return [*lines, *_PRECISION.get(precision, _BF16)]


_MEGATRON_CONTEXT = ("p2p", "all_gather", "a2a", "a2a+p2p")
_BF16 = ["--bf16", "--grad-reduce-in-bf16"]
_PRECISION = {
    "fp16": ["--fp16"],
    "fp8": [*_BF16, "--fp8-format hybrid"],
    "mxfp8": [*_BF16, "--fp8-format e4m3 --fp8-recipe mxfp8"],
    "nvfp4": [*_BF16, "--fp4-format e2m1 --fp4-recipe nvfp4"],
}
"""Options of a precision; those of others are of bf16."""
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
    places = model.layers + 2 * layout.end_slots
    return float(places / (layout.pipeline_parallel * layout.virtual_stages))


def _uneven_stages(layout: Layout, model: Architecture) -> str:
    """Return the layers of all chunks in Megatron-Core's notation: E embedding, t a layer, L the loss.

    Chunks are assigned to the stages in turn.  The first chunks hold one layer more, so that the fullest
    stage holds as many layers as the slowest stage of the prediction.
    """
    chunks = int(layout.pipeline_parallel * layout.virtual_stages)
    slots = int(layout.end_slots)
    least, more = divmod(int(model.layers) + 2 * slots, chunks)
    ends = [slots * ((chunk == 0) + (chunk == chunks - 1)) for chunk in range(chunks)]
    held = ["t" * (least + (chunk < more) - ends[chunk]) for chunk in range(chunks)]
    return f"E{'|'.join(held)}L"


_CONVERTERS = {
    "fp8": ["--model.converters float8"],
    "mxfp8": ["--model.converters quantize.linear.mx"],
}
_TORCH_SCHEDULES = {"1f1b": "1F1B", "interleaved": "Interleaved1F1B", "zb-v": "ZBVZeroBubble"}


def _torchtitan(layout: Layout, model: Architecture, sequence_length: int, precision: str) -> list[str]:
    """Return the options of torchtitan for a layout."""
    sharded, piped = layout.sharding == ZERO_3, layout.pipeline_parallel > 1
    places = model.layers + 2 * layout.end_slots
    # a pipeline cuts a replica's batch into its micro-batches itself
    passes = layout.accumulation_steps if piped else 1
    copies = min(layout.shard_copies, layout.data_parallel)  # its groups hold all context-parallel ranks
    given: dict[str, Any] = {
        "parallelism.tensor_parallel_degree": layout.tensor_parallel,
        "parallelism.pipeline_parallel_degree": layout.pipeline_parallel,
        "parallelism.context_parallel_degree": layout.context_parallel,
        "parallelism.data_parallel_shard_degree": layout.data_parallel / copies if sharded else 1,
        "parallelism.data_parallel_replicate_degree": copies if sharded else layout.data_parallel,
        "training.local_batch_size": layout.micro_batch_size * passes,
        "training.global_batch_size": layout.global_batch_size,
        "training.seq_len": sequence_length,
    }
    if model.experts:
        given["parallelism.expert_parallel_degree"] = layout.expert_parallel
        given["parallelism.expert_tensor_parallel_degree"] = layout.expert_tensor_parallel
    schedule = []
    if piped:
        given["parallelism.pipeline_parallel_microbatch_size"] = layout.micro_batch_size
        name = _TORCH_SCHEDULES.get(layout.schedule_name)
        schedule = [] if name is None else [f"--parallelism.pipeline_parallel_schedule {name}"]
        if not layout.end_slots:
            for end in ("first", "last"):
                given[f"parallelism.pipeline_parallel_{end}_stage_less_layers"] = 0
        if layout.virtual_stages > 1 and places % layout.pipeline_parallel == 0:
            given["parallelism.pipeline_parallel_layers_per_stage"] = _layers_of_a_chunk(layout, model)
    if layout.context_parallel > 1 and layout.context_method == ALL_GATHER:
        schedule = [*schedule, "--parallelism.context_parallel_rotate_method allgather"]
    mode = {SELECTIVE: "selective", FULL: "full"}.get(int(layout.recompute), "none")
    lines = [f"--{name} {value:.0f}" for name, value in given.items()]
    return [*lines, *schedule, *_CONVERTERS.get(precision, []), f"--activation_checkpoint.mode {mode}"]
