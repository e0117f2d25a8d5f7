"""Small files to try, written for this app, none measured: runs, a log, a listing of all-reduces, a trace."""

from __future__ import annotations

import json
from typing import Any

from perfmodel.interfaces.register import command

LOG_NAME, LISTING_NAME, TRACE_NAME = "sample_train.log", "sample_all_reduce.txt", "sample_step.json"
RUNS_NAME = "my_runs.csv"
RUNS = """\
workload,accelerator,world_size,local_batch_size,precision,iteration_time
resnet50,v100,1,64,fp32,0.245
resnet50,v100,4,64,fp32,0.251
resnet50,v100,8,64,fp32,0.258
resnet50,v100,8,32,fp32,0.141
vgg16,v100,8,32,fp32,0.235
"""
"""Runs, a line for each: a template."""
RUN_ERRORS = (
    ("ResNet-50, 1 GPU", -0.2549, -0.0011, 0.0),
    ("ResNet-50, 4 GPUs", -0.2527, 0.0159, 0.0),
    ("ResNet-50, 8 GPUs", -0.2760, -0.0232, 0.0),
    ("ResNet-50, 8 GPUs, batch 32", -0.2676, -0.0142, 0.0),
    ("VGG-16, 8 GPUs, batch 32", -0.4781, -0.3441, 0.0),
)
"""What is learned of ``RUNS``: the run, and ln(predicted / measured) before, left out and after."""
LOG = "\n".join(
    f"[rank0]:step: {step:3d}  loss: {8.2 - step / 40:.3f}  memory: 61.5GiB(78%)  tps: {rate:,}  mfu: {mfu}%"
    for step, rate, mfu in (
        (10, 2411, 14.2),
        (20, 3052, 18.0),
        (30, 3061, 18.0),
        (40, 3018, 17.8),
        (50, 3047, 17.9),
        (60, 3040, 17.9),
    )
)
"""Log of a run of Llama 3 8B that is slow for 64 H100."""
LISTING = str(command("diagnose").bodies["a listing"]["measured"])
"""Listing of all-reduces on two machines that is slow for them."""
_KERNELS = (
    ("volta_sgemm_128x64_nn", 7, 0, 21_000),
    ("cudnn::bn_fw_tr_1C11_kernel_NCHW", 7, 21_200, 7_500),
    ("volta_sgemm_128x64_nt", 7, 29_000, 39_000),
    ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 20, 64_000, 7_400),
    ("at::native::multi_tensor_apply_kernel", 7, 71_600, 5_000),
)
"""Kernels of a step: name, stream, start and duration [us]."""
_STEPS = (82_000, 81_400, 83_100)
"""Durations of the steps [us]."""


def _event(name: str, category: str, start: int, duration: int, thread: int, **more: Any) -> dict[str, Any]:
    place = {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": thread}
    return {**place, "ts": start, "dur": duration, "args": more}


def trace() -> bytes:
    """Return a trace of three steps of one of two GPUs, as PyTorch's profiler writes it."""
    events: list[dict[str, Any]] = []
    start = 1000
    for number, length in enumerate(_STEPS):
        events.append(_event(f"ProfilerStep#{number}", "user_annotation", start, length, 1))
        for name, stream, after, duration in _KERNELS:
            more: dict[str, Any] = {"device": 0, "stream": stream}
            if "nccl" in name:
                more |= {"Collective name": "allreduce", "In msg nelems": 25_557_032, "dtype": "Float"}
                more |= {"Group size": 2}
            events.append(_event(name, "kernel", start + 600 + after, duration, stream, **more))
        start += length
    head = {
        "deviceProperties": [{"id": 0, "name": "Tesla V100-SXM2-16GB"}],
        "distributedInfo": {"rank": 0, "world_size": 2},
    }
    return json.dumps({**head, "traceEvents": events}).encode()
