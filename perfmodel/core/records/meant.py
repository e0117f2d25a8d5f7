"""What names of options and measured quantities mean that people type and nothing here has."""

from __future__ import annotations

_MEANT = {
    **dict.fromkeys(("model", "network", "architecture", "net"), "workload"),
    **dict.fromkeys(("gpu", "gpu_type", "gpu_model", "gpu_name", "device", "chip"), "accelerator"),
    **dict.fromkeys(("gpu(s)", "num_gpus", "n_gpus", "ngpus", "gpu_count", "ranks", "workers"), "world_size"),
    **dict.fromkeys(("num_nodes", "n_nodes", "machines"), "nodes"),
    **dict.fromkeys(
        ("batch", "batch_size", "bs"), "local_batch_size (of each accelerator) or global_batch_size"
    ),
    **dict.fromkeys(
        ("batch_per_gpu", "batch_size_per_gpu", "per_gpu_batch", "micro_batch"), "local_batch_size"
    ),
    **dict.fromkeys(
        ("images_per_second", "images_per_sec", "images_s", "img_s", "imgs_per_sec"), "samples_per_second"
    ),
    **dict.fromkeys(
        ("samples_per_sec", "samples_s", "sequences_per_second", "sequences_s"), "samples_per_second"
    ),
    **dict.fromkeys(("throughput", "speed", "rate"), "samples_per_second or tokens_per_second"),
    **dict.fromkeys(("tokens_per_sec", "tokens_s", "tok_s"), "tokens_per_second"),
    **dict.fromkeys(("step_time", "step_time_s", "step_time_sec", "time", "seconds"), "iteration_time"),
    **dict.fromkeys(("step_time_ms", "iteration_time_ms", "time_ms", "ms"), "iteration_time, each as 247ms"),
    **dict.fromkeys(("dtype", "format"), "precision"),
    **dict.fromkeys(("software", "library"), "framework"),
    **dict.fromkeys(("seq_len", "seqlen", "context_length"), "sequence_length"),
    "tp": "tensor_parallel",
    "pp": "pipeline_parallel",
    "cp": "context_parallel",
    "ep": "expert_parallel",
}
"""Names that people often give options and measured quantities, and those that they mean."""
_AS_ONE = str.maketrans(" -/", "___")


def meant_by(name: str) -> str | None:
    """Return what a name means here, with the choice where it may mean several things; None if not known.

    >>> meant_by("Batch size"), meant_by("images/s")
    ('local_batch_size (of each accelerator) or global_batch_size', 'samples_per_second')
    """
    return _MEANT.get(name.lower().translate(_AS_ONE))
