"""How the ranks of a job share a transformer out: by products, layers, positions, experts and samples."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

from perfmodel.errors import InputError, unknown_name
from perfmodel.specs.architecture import Architecture

Sharding = Literal["none", "zero1", "zero2", "zero3"]
Recompute = Literal["none", "selective", "full"]
SHARDING: tuple[Sharding, ...] = get_args(Sharding)
RECOMPUTE: tuple[Recompute, ...] = get_args(Recompute)
SELECTIVE, FULL = 1, 2
"""Into ``RECOMPUTE``."""
ZERO_2, ZERO_3 = 2, 3
"""Into ``SHARDING``."""


class Layout(NamedTuple):
    """Degrees of parallelism, and what a step is cut into; whole numbers, or arrays of them.

    Tensor-parallel ranks are neighbours; then come those of context, experts, data, and the stages of the
    pipeline outermost.  Experts divide the replicas, they are no factor of the world.
    """

    tensor_parallel: Any = 1
    pipeline_parallel: Any = 1
    virtual_stages: Any = 1
    context_parallel: Any = 1
    expert_parallel: Any = 1
    data_parallel: Any = 1
    sharding: Any = 0
    """Into ``SHARDING``: which of ZeRO's stages."""
    recompute: Any = 0
    """Into ``RECOMPUTE``."""
    recomputed_layers: Any = 0.0
    """Share of the layers that full recomputation runs again."""
    micro_batch_size: Any = 1
    accumulation_steps: Any = 1

    @property
    def world_size(self) -> Any:
        """Accelerators of the job."""
        return self.tensor_parallel * self.pipeline_parallel * self.context_parallel * self.data_parallel

    @property
    def global_batch_size(self) -> Any:
        """Samples of one step."""
        return self.micro_batch_size * self.accumulation_steps * self.data_parallel

    def words(self) -> dict[str, Any]:
        """Return one layout as people script against it."""
        report = {name: int(value) for name, value in self._asdict().items() if name != "recomputed_layers"}
        return report | {
            "sharding": SHARDING[int(self.sharding)],
            "recompute": RECOMPUTE[int(self.recompute)],
        }

    @property
    def replicas(self) -> Any:
        """Ranks that hold the same weights, but for experts: those of context parallelism do, too."""
        return self.data_parallel * self.context_parallel


def layout_of(
    world_size: int,
    *,
    tensor_parallel: int = 1,
    pipeline_parallel: int = 1,
    virtual_stages: int = 1,
    context_parallel: int = 1,
    expert_parallel: int = 1,
    sharding: str = "none",
    recompute: str = "none",
    micro_batch_size: int = 1,
    global_batch_size: int | None = None,
    accumulation_steps: int | None = None,
) -> Layout:
    """Return a layout of so many accelerators; what is left of them are replicas.

    Parameters
    ----------
    world_size : accelerators of the job
    tensor_parallel, pipeline_parallel, virtual_stages, context_parallel, expert_parallel : degrees
    sharding : ``none``, ``zero1``, ``zero2`` or ``zero3``
    recompute : ``none``, ``selective`` or ``full``
    micro_batch_size : samples of one replica in one pass
    global_batch_size, accumulation_steps : one of the two, or neither for a single micro-batch

    Raises
    ------
    InputError : an unknown word; degrees that do not multiply to the world; a batch that does not divide

    >>> layout_of(64, tensor_parallel=8, pipeline_parallel=2, global_batch_size=128).accumulation_steps
    32
    """
    if sharding not in SHARDING:
        raise unknown_name("sharding", sharding, SHARDING)
    if recompute not in RECOMPUTE:
        raise unknown_name("recompute", recompute, RECOMPUTE)
    replica = tensor_parallel * pipeline_parallel * context_parallel
    if world_size % replica:
        least = max(1, round(world_size / replica)) * replica
        raise InputError(
            f"tensor x pipeline x context parallel = {replica} does not divide {world_size} accelerators; "
            f"the nearest world is {least}"
        )
    data = world_size // replica
    if global_batch_size is not None and accumulation_steps is not None:
        raise InputError("give global_batch_size or accumulation_steps, not both")
    each = data * micro_batch_size
    if global_batch_size is not None and global_batch_size % each:
        nearest = max(1, round(global_batch_size / each)) * each
        raise InputError(
            f"global_batch_size {global_batch_size} does not divide by {data} replicas x "
            f"micro_batch_size {micro_batch_size}; the nearest is {nearest}"
        )
    steps = accumulation_steps or (global_batch_size or each) // each
    recomputes = RECOMPUTE.index(recompute)
    return Layout(
        tensor_parallel,
        pipeline_parallel,
        virtual_stages,
        context_parallel,
        expert_parallel,
        data,
        SHARDING.index(sharding),
        recomputes,
        float(recomputes == FULL),
        micro_batch_size,
        steps,
    )


def check(layout: Layout, model: Architecture, sequence_length: int) -> None:
    """Refuse what a transformer cannot be shared out as, with the nearest that it can.

    Raises
    ------
    InputError : heads, layers, positions, experts or micro-batches that do not divide
    """
    tensor, stages, chunks = layout.tensor_parallel, layout.pipeline_parallel, layout.virtual_stages
    _divides("tensor_parallel", tensor, "heads", model.heads)
    if stages * chunks > model.layers:
        raise InputError(
            f"pipeline_parallel {stages} x virtual_stages {chunks} is more than the {model.layers} layers; "
            f"the most is {model.layers // chunks or 1} stages"
        )
    if chunks > 1 and stages == 1:
        raise InputError("virtual_stages: several chunks of layers need pipeline_parallel of 2 or more")
    if chunks > 1 and layout.accumulation_steps % stages:
        nearest = max(1, round(layout.accumulation_steps / stages)) * stages
        raise InputError(
            f"virtual_stages: {layout.accumulation_steps} micro-batches do not divide by {stages} stages; "
            f"the nearest is {nearest}"
        )
    _divides("context_parallel", layout.context_parallel, "sequence_length", sequence_length)
    if layout.expert_parallel > 1:
        if not model.experts:
            raise InputError("expert_parallel: the network has no experts; the only degree is 1")
        _divides("expert_parallel", layout.expert_parallel, "experts", model.experts)
        ranks = layout.replicas * tensor
        _divides("expert_parallel", layout.expert_parallel, "ranks of all replicas", ranks)


def caveats(layout: Layout, model: Architecture) -> list[str]:
    """Return what is possible and poor."""
    stages, steps = layout.pipeline_parallel, layout.accumulation_steps
    remarks = []
    if steps < stages:
        remarks.append(f"{steps} micro-batches keep {stages} stages idle most of the time")
    if model.layers % stages:
        remarks.append(f"{model.layers} layers do not divide by {stages} stages: the fullest sets the pace")
    if layout.tensor_parallel > model.kv_heads:
        remarks.append(f"{model.kv_heads} key-value heads are copied to {layout.tensor_parallel} ranks")
    return remarks


def _divides(name: str, degree: int, what: str, whole: int) -> None:
    if whole % degree:
        able = [each for each in range(1, whole + 1) if whole % each == 0]
        nearest = min(able, key=lambda each: abs(each - degree))
        raise InputError(f"{name} {degree} does not divide {whole} {what}; the nearest is {nearest}")
