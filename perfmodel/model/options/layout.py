"""How a transformer is partitioned over ranks: by tensors, layers, positions, experts and samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from perfmodel.core import ops
from perfmodel.core.choices import ContextMethod, Schedule
from perfmodel.core.errors import refusal
from perfmodel.core.problem import Words
from perfmodel.equations.pipeline_orders import DUALPIPE, FIRST_IN_TWO, FIRST_OF_TWO, SCHEDULES, V_SHAPED

if TYPE_CHECKING:
    from perfmodel.hardware.software import Release
    from perfmodel.workloads.architecture import Architecture

Sharding = Literal["none", "zero1", "zero2", "zero3"]
Recompute = Literal["none", "selective", "full"]
SHARDING: tuple[Sharding, ...] = get_args(Sharding)
RECOMPUTE: tuple[Recompute, ...] = get_args(Recompute)
SELECTIVE, FULL = 1, 2
"""Indices into ``RECOMPUTE``."""
ZERO_2, ZERO_3 = 2, 3
"""Indices into ``SHARDING``."""
CONTEXT_METHODS: tuple[ContextMethod, ...] = get_args(ContextMethod)
RING, ALL_GATHER, ULYSSES, NESTED = range(4)
"""Indices into ``CONTEXT_METHODS``."""


DEGREES = (
    "tensor_parallel",
    "pipeline_parallel",
    "virtual_stages",
    "context_parallel",
    "expert_parallel",
)
"""Options of the degrees of parallelism, and of the chunks of pipeline stages."""
CHOSEN = (*DEGREES, "expert_tensor_parallel", "sharding", "recompute", "micro_batch_size")
"""Options that determine a layout, together with the number of accelerators and the batch size."""
NEUTRAL: dict[str, tuple[Any, ...]] = {
    **{name: (1,) for name in DEGREES if name != "virtual_stages"},
    "expert_tensor_parallel": (None, 1),
    "sharding": (None, "none"),
    "recompute": (None, "none"),
    "lora": (None,),
    "document_length": (None,),
    **dict.fromkeys(
        (
            "attention_kernel",
            "sequence_parallel",
            "recompute_modules",
            "loss",
            "gradient_precision",
            "offload",
        ),
        (None,),
    ),
}
"""Options of a layout -> the values with which the job stays plain data parallelism."""


class Layout(NamedTuple):
    """Degrees of parallelism, and the micro-batches of a step; whole numbers, or arrays of them.

    Tensor-parallel ranks are neighbours; then come those of context, data, and the stages of the pipeline
    outermost.  The ranks of a stage are divided a second time for its experts: neighbours hold parts of the
    same experts, then come those of other experts, then copies (Megatron-Core's order of ranks).
    """

    tensor_parallel: Any = 1
    pipeline_parallel: Any = 1
    virtual_stages: Any = 1
    context_parallel: Any = 1
    expert_parallel: Any = 1
    expert_tensor_parallel: Any = 1
    data_parallel: Any = 1
    sharding: Any = 0
    """Index into ``SHARDING``: the stage of ZeRO."""
    recompute: Any = 0
    """Into ``RECOMPUTE``."""
    recomputed_layers: Any = 0.0
    """Share of the layers that full recomputation runs again."""
    micro_batch_size: Any = 1
    accumulation_steps: Any = 1
    schedule: Any = 0
    """Into ``SCHEDULES``; 0 is 1F1B, interleaved where stages have several chunks."""
    end_slots: Any = 0
    """Layers by which embedding and head each count when layers are partitioned over stages: 0 or 1."""
    shard_group: Any = 0
    """Ranks that share one copy of sharded states (HSDP); 0: all replicas."""
    context_method: Any = RING
    """Into ``CONTEXT_METHODS``: how context-parallel ranks exchange keys and values."""
    context_inner: Any = 1
    """Of the context-parallel ranks, neighbours that exchange heads by all-to-all."""
    token_copies: Any = 1
    """Ranks that compute the same tokens, each with other experts: the degree of expert parallelism, or 1."""

    @property
    def world_size(self) -> Any:
        """Accelerators of the job."""
        return self.stage_ranks * self.pipeline_parallel

    @property
    def global_batch_size(self) -> Any:
        """Samples of one step."""
        return self.micro_batch_size * self.accumulation_steps * self.data_parallel

    def words(self) -> dict[str, Any]:
        """Return one layout as a dictionary with the names of the options as keys."""
        own = ("recomputed_layers", "end_slots", *(() if self.token_copies > 1 else ("token_copies",)))
        report = {name: int(value) for name, value in self._asdict().items() if name not in own}
        return report | {
            "sharding": SHARDING[int(self.sharding)],
            "recompute": RECOMPUTE[int(self.recompute)],
            "schedule": self.schedule_name,
            **({"embedding_slots": True} if self.end_slots else {}),
            "shard_group": int(self.shard_ranks) if self.sharding else 1,
            "context_method": CONTEXT_METHODS[int(self.context_method)],
        }

    @property
    def complexity(self) -> Any:
        """Product of all degrees, doubled by each level of sharding and recomputation: smaller is simpler."""
        degrees = (getattr(self, name) for name in (*DEGREES, "expert_tensor_parallel"))
        return math.prod(degrees, start=2 ** (self.sharding + self.recompute))

    @property
    def schedule_name(self) -> Schedule:
        """The schedule of one layout's pipeline."""
        interleaves = int(self.schedule) == 0 and self.virtual_stages > 1
        return "interleaved" if interleaves else SCHEDULES[int(self.schedule)]

    @property
    def returns_to_first(self) -> Any:
        """Whether the first stage holds the last layers too: of a V, or of a second copy of the network."""
        return (self.schedule >= FIRST_OF_TWO) & (self.pipeline_parallel > 1)

    @property
    def copies_of_stage(self) -> Any:
        """Stages of the network that each rank holds: two in DualPipe."""
        return ops.where((self.schedule == DUALPIPE) & (self.pipeline_parallel > 1), 2, 1)

    @property
    def splits_backward(self) -> Any:
        """Whether gradients of weights are computed later than those of inputs."""
        return (self.schedule >= FIRST_IN_TWO) & (self.pipeline_parallel > 1)

    @property
    def replicas(self) -> Any:
        """Ranks that hold the same weights except experts: data-parallel times context-parallel ranks."""
        return self.data_parallel * self.context_parallel

    @property
    def stage_ranks(self) -> Any:
        """Ranks of one stage."""
        return self.replica_stride * self.replicas

    @property
    def replica_stride(self) -> Any:
        """Ranks from one replica to the next: those of tensor parallelism, and with the same tokens."""
        return self.tensor_parallel * self.token_copies

    @property
    def shard_ranks(self) -> Any:
        """Replicas that share one copy of sharded states."""
        if ops.holds(self.shard_group == 0):
            return self.replicas
        if ops.holds(self.shard_group > 0):
            return self.shard_group
        return ops.where(self.shard_group > 0, self.shard_group, self.replicas)

    @property
    def shard_copies(self) -> Any:
        """Copies of sharded states."""
        return self.replicas / self.shard_ranks

    @property
    def expert_replicas(self) -> Any:
        """Ranks that hold the same weights of experts."""
        return ops.maximum(self.stage_ranks / (self.expert_parallel * self.expert_tensor_parallel), 1.0)

    @property
    def expert_shard_ranks(self) -> Any:
        """Ranks that hold the same weights of experts and share one copy of their sharded states."""
        ranks = self.replica_stride * self.shard_ranks
        return ops.maximum(ranks / (self.expert_parallel * self.expert_tensor_parallel), 1.0)

    @property
    def context_ring(self) -> Any:
        """Context-parallel ranks round which keys and values travel, or from which they are gathered."""
        return self.context_parallel / self.context_inner


def layout_of(
    world_size: int,
    *,
    tensor_parallel: int = 1,
    pipeline_parallel: int = 1,
    virtual_stages: int = 1,
    context_parallel: int = 1,
    expert_parallel: int = 1,
    expert_tensor_parallel: int = 1,
    sharding: Sharding = "none",
    recompute: Recompute = "none",
    micro_batch_size: int | None = None,
    global_batch_size: int | None = None,
    accumulation_steps: int | None = None,
    copies_tokens: bool = False,
) -> Layout:
    """Return a layout of a number of accelerators; those that no degree uses are replicas.

    Parameters
    ----------
    world_size : accelerators of the job
    tensor_parallel, pipeline_parallel, virtual_stages, context_parallel : degrees
    expert_parallel, expert_tensor_parallel : degrees of the experts
    sharding, recompute : what replicas shard, and which activations are computed again
    micro_batch_size : samples of one replica in one pass; default 1
    global_batch_size, accumulation_steps : samples of a step, and passes of it; any two of the three imply
        the third
    copies_tokens : whether the ranks of an expert-parallel group compute the same tokens

    Raises
    ------
    InputError : the degrees do not divide the world size; the batch does not divide

    >>> layout_of(64, tensor_parallel=8, pipeline_parallel=2, global_batch_size=128).accumulation_steps
    32
    >>> layout_of(16, tensor_parallel=8, global_batch_size=128, accumulation_steps=16).micro_batch_size
    4
    """
    copies = expert_parallel if copies_tokens else 1
    replica = tensor_parallel * pipeline_parallel * context_parallel * copies
    if world_size % replica:
        code = "layout.indivisible_copies" if copies > 1 else "layout.indivisible"
        raise refusal(code, replica=replica, world_size=world_size)
    data = world_size // replica
    micro, steps = _passes(data, micro_batch_size, global_batch_size, accumulation_steps)
    recomputes = RECOMPUTE.index(recompute)
    return Layout(
        tensor_parallel,
        pipeline_parallel,
        virtual_stages,
        context_parallel,
        expert_parallel,
        expert_tensor_parallel,
        data,
        SHARDING.index(sharding),
        recomputes,
        float(recomputes == FULL),
        micro,
        steps,
        token_copies=copies,
    )


def _passes(data: int, micro: int | None, whole: int | None, steps: int | None) -> tuple[int, int]:
    """Return the samples of a micro-batch, and the micro-batches of a replica in a step."""
    if whole is None:
        return micro or 1, steps or 1
    parts = data * (micro or 1) * (steps or 1)
    if whole % parts:
        each = f" x {steps} passes" if steps else ""
        each += f" of {micro}" if micro else ""
        raise refusal("batch.replicas", "global_batch_size", whole=whole, data=data, each=each)
    if micro and steps and whole != parts:
        raise refusal(
            "batch.passes",
            "global_batch_size",
            "micro_batch_size",
            "accumulation_steps",
            data=data,
            steps=steps,
            micro=micro,
            parts=parts,
            whole=whole,
        )
    rest = whole // parts
    return (rest, steps) if steps and not micro else (micro or 1, steps or rest)


def check(layout: Layout, model: Architecture, sequence_length: int) -> None:
    """Refuse a layout that a transformer cannot have; ``nearest_layout`` finds the nearest possible one.

    Raises
    ------
    InputError : heads, layers, positions, experts or micro-batches that do not divide
    """
    tensor, stages, chunks = layout.tensor_parallel, layout.pipeline_parallel, layout.virtual_stages
    _refuse_remainder("--tensor-parallel", tensor, "heads", model.heads)
    if model.scan is not None:
        _refuse_remainder("--tensor-parallel", tensor, "heads of its scan", model.scan.heads)
    if stages * chunks > model.layers + 2 * layout.end_slots:
        raise refusal("layout.stages", stages=stages, chunks=chunks, layers=model.layers)
    in_rounds = layout.schedule_name == "interleaved"
    if in_rounds and stages > 1 and layout.accumulation_steps % stages:
        raise refusal("layout.chunks", accumulation_steps=layout.accumulation_steps, stages=stages)
    _refuse_remainder("--context-parallel", layout.context_parallel, "tokens of a sequence", sequence_length)
    _check_experts(layout, model)


def _check_experts(layout: Layout, model: Architecture) -> None:
    """Refuse degrees without experts, and those that do not divide experts, features or a stage's ranks."""
    degrees = {
        "--expert-parallel": (layout.expert_parallel, "experts", model.experts),
        "--expert-tensor-parallel": (
            layout.expert_tensor_parallel,
            "features of an expert",
            model.expert_feed_forward,
        ),
    }
    for name, (degree, what, whole) in degrees.items():
        if degree > 1 and not model.experts:
            raise refusal("layout.no_experts", name=Words(name))
        _refuse_remainder(name, degree, what, whole)
    group, ranks = layout.expert_parallel * layout.expert_tensor_parallel, layout.stage_ranks
    if group > 1 and ranks % group:
        parts = layout.expert_tensor_parallel
        raise refusal(
            "layout.experts",
            expert_parallel=layout.expert_parallel,
            expert_tensor_parallel=parts,
            ranks=ranks,
        )


def scheduled(layout: Layout, schedule: Schedule | None) -> Layout:
    """Return a layout whose pipeline runs by a schedule; None is that of its chunks.

    Raises
    ------
    InputError : chunks, stages or micro-batches by which the schedule cannot run
    """
    stages, chunks, steps = layout.pipeline_parallel, layout.virtual_stages, layout.accumulation_steps
    index, of_schedule, able = schedules(schedule, stages, chunks, steps)
    if able:
        return layout._replace(schedule=int(index), virtual_stages=int(of_schedule))
    if schedule == "interleaved":
        raise refusal("layout.interleaved", "schedule", "virtual_stages")
    if chunks > 1:
        raise refusal("layout.schedule_chunks", "schedule", "virtual_stages", schedule=schedule)
    raise refusal("layout.dualpipe", "schedule", stages=stages, steps=steps, least=2 * stages)


def schedules(schedule: Schedule | None, stages: Any, chunks: Any, steps: Any) -> tuple[Any, Any, Any]:
    """Return the index of a schedule, its chunks of a stage, and whether it can run; numbers or arrays.

    Parameters
    ----------
    schedule : None is that of the chunks
    stages, chunks, steps : stages of a pipeline, chunks of each as given, micro-batches of a step
    """
    piped, several = stages > 1, chunks > 1
    if schedule is None or schedule == "interleaved":
        return 0 * stages, chunks, several | (piped == 0) | (schedule is None)
    able = (several == 0) | ((chunks == 2) & (schedule in V_SHAPED))
    if schedule == "dualpipe":
        able = able & (stages % 2 == 0) & (steps % 2 == 0) & (steps >= 2 * stages)
    index = ops.where(piped, SCHEDULES.index(schedule), 0)
    return index, ops.where(piped & (schedule in V_SHAPED), 2, chunks), able | (piped == 0)


def end_slots(stated: bool | None, facts: Release) -> int:
    """Return the layers by which embedding and head each count in a pipeline: as stated, or usual."""
    return int(facts.embedding_slots if stated is None else stated)


def without_stages(virtual_stages: int, schedule: Schedule | None, embedding_slots: bool | None) -> list[str]:
    """Return warnings about options of pipelines in a job without stages."""
    given = {
        "virtual-stages": virtual_stages > 1,
        "schedule": schedule is not None,
        "embedding-slots": embedding_slots,
    }
    words = "--{} changes nothing without --pipeline-parallel of 2 or more"
    return [words.format(name) for name, is_given in given.items() if is_given]


def caveats(layout: Layout, model: Architecture) -> list[str]:
    """Return warnings about a possible but inefficient layout."""
    stages, steps = int(layout.pipeline_parallel), int(layout.accumulation_steps)
    remarks = []
    if steps < stages:
        words = "1 micro-batch keeps" if steps == 1 else f"{steps} micro-batches keep"
        remarks.append(
            f"{words} {stages} stages idle most of the time: give --accumulation-steps or --global-batch-size"
        )
    if (model.layers + 2 * layout.end_slots) % stages:
        held = f"{model.layers} layers{', embedding and head' if layout.end_slots else ''}"
        remarks.append(f"{held} do not divide by {stages} stages: the fullest sets the pace")
    if layout.tensor_parallel > model.kv_heads:
        remarks.append(f"{model.kv_heads} key-value heads are copied to {int(layout.tensor_parallel)} ranks")
    return remarks


def _refuse_remainder(name: str, degree: int, what: str, whole: int) -> None:
    """Refuse a degree that does not divide a count."""
    if whole % degree:
        raise refusal("layout.degree", name=Words(name), degree=degree, whole=whole, what=what)
