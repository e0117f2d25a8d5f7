"""Commands that start a plan: a torchrun line, a Slurm job, and the command that predicts it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from perfmodel.core.command_line import command_line
from perfmodel.core.errors import refusal
from perfmodel.core.problem import Words
from perfmodel.core.units import duration, per_cent, percent
from perfmodel.decide.planning.goal import Goal, options_of
from perfmodel.decide.planning.price_words import paid_words
from perfmodel.decide.planning.startable import NCCL_ALGORITHMS
from perfmodel.hardware.software import parts
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.setting.unsupported import PRECISIONS
from perfmodel.model.transformers.flags import flags, with_chosen
from perfmodel.model.transformers.layout_words import in_full, of_words
from perfmodel.workloads import workload as network_of

Row = Mapping[str, Any]

MARGIN, START = 0.1, 600.0
"""Time added to a job's limit: a share of the run to evaluate, and a fixed time to start [s]."""
PORT = 29500
SCRIPT = "train.py"
OF_JAX = ("maxtext", "paxml", "t5x", "levanter")
"""JAX frameworks, which torchrun does not start."""


def with_options(plan: Row, goal: Goal) -> dict[str, Any]:
    """Return a plan with the options that every candidate has alike."""
    return {**plan, "options": dict(goal.options)}


def torchrun(plan: Row, workload: str) -> str:
    r"""Return the lines that start a plan on each of its machines; options of the script are the user's.

    Parameters
    ----------
    plan : a row of ``perfmodel.decide.planning.SearchResult``
    workload : names the job

    Raises
    ------
    InputError : the plan is not an all-reduce between equal ranks, one that NCCL does not have, or not of
        PyTorch on GPUs

    Examples
    --------
    >>> plan = {
    ...     "machines": "4 machines of 8 x V100 SXM2 16 GB (AWS p3.16xlarge)", "servers": None,
    ...     "accelerator": "v100-sxm2-16gb",
    ...     "run_time": 7200.0, "run_time_low_80": 6000.0, "run_time_high_80": 8640.0, "cost": 195.84,
    ...     "strategy": "all-reduce", "algorithm": "tree", "nodes": 4, "world_size": 32,
    ...     "precision": "amp", "local_batch_size": 128, "global_batch_size": 4096,
    ... }
    >>> print(torchrun(plan, "resnet50"))
    # 4 machines of 8 x V100 SXM2 16 GB (AWS p3.16xlarge)
    # predicted: 2 h, $195.84; 100 min to 2.4 h with 80 % confidence
    # amp, 128 samples on each GPU, 4096 in all
    NCCL_ALGO=Tree,Ring torchrun --nnodes=4 --nproc-per-node=8 \
      --rdzv-id=resnet50 --rdzv-backend=c10d --rdzv-endpoint=$HEAD_NODE:29500 \
      train.py
    """
    if plan["strategy"] != "all-reduce" or (
        plan["world_size"] > 1 and plan["algorithm"] not in NCCL_ALGORITHMS
    ):
        exchange = plan["algorithm"] if plan["strategy"] == "all-reduce" else plan["strategy"]
        raise refusal("launch.strategy", way=Words(exchange), known=",".join(NCCL_ALGORITHMS))
    software = parts(plan.get("framework") or "")[0]
    if software in OF_JAX or plan["accelerator"].startswith("tpu-"):
        machine = f"{software} on {plan['accelerator']}" if software else plan["accelerator"]
        raise refusal("launch.machine", where=machine)
    report = "\n".join(_comments(plan))
    nccl_algorithm = NCCL_ALGORITHMS[plan["algorithm"]] if plan["world_size"] > 1 else ""
    algorithm = f"NCCL_ALGO={nccl_algorithm} " if nccl_algorithm else ""
    line = torchrun_line(workload, plan["nodes"], _ranks(plan), _flags(plan, workload))
    return f"{report}\n{algorithm}{line}"


def torchrun_line(workload: str, nodes: int, ranks: int, options: Sequence[str]) -> str:
    r"""Return the line that starts a script on each of several machines.

    Parameters
    ----------
    workload : names the job
    nodes : machines
    ranks : GPUs of each
    options : of the script

    >>> print(torchrun_line("gpt2", 1, 8, ["--bf16"]))
    torchrun --standalone --nproc-per-node=8 train.py \
        --bf16
    """
    script = " \\\n    ".join([SCRIPT, *options])
    if nodes == 1:
        return f"torchrun --standalone --nproc-per-node={ranks} {script}"
    return (
        f"torchrun --nnodes={nodes} --nproc-per-node={ranks} \\\n"
        f"  --rdzv-id={_job_name(workload)} --rdzv-backend=c10d --rdzv-endpoint=$HEAD_NODE:{PORT} \\\n"
        f"  {script}"
    )


def _flags(plan: Row, workload: str) -> list[str]:
    """Return the options by which a plan's framework takes its layout.

    None of a data-parallel plan, nor of one that trains adapters, which are options of other scripts.
    """
    words, options = plan.get("layout"), plan.get("options", {})
    model = words and network_of(workload).architecture
    if not words or model is None or options.get("lora"):
        return []
    layout = of_words(words)
    stack, precision = parts(plan["framework"])[0], PRECISIONS[plan["precision"]]
    lines = flags(stack, layout, model, plan["sequence_length"], precision)
    return with_chosen(lines, layout, Scenario(**options))


def _comments(plan: Row) -> list[str]:
    """Return comment lines with machines, predicted time and cost, precision and batch of a plan."""
    low, high = plan["run_time_low_80"], plan["run_time_high_80"]
    spread = "" if high is None else f"; {duration(low)} to {duration(high)} with 80 % confidence"
    tokens = f" of {plan['sequence_length']} tokens" if plan.get("sequence_length") else ""
    each = "in each pass of a replica" if plan.get("layout") else "on each GPU"
    batch = f"{plan['local_batch_size']} samples{tokens} {each}, {plan['global_batch_size']} in all"
    layout_line = [f"# {plan['framework']}: {in_full(plan['layout'])}"] if plan.get("layout") else []
    limits = (("meets_deadline", "deadline"), ("within_budget", "budget"))
    risks = [(limit, plan.get(f"{limit}_risk")) for _, limit in limits]
    return [
        f"# {plan['machines']}",
        f"# predicted: {duration(plan['run_time'])}, {paid_words(plan)}{spread}",
        *(f"# OVER THE {limit.upper()}" for key, limit in limits if plan.get(key) is False),
        *(f"# risk to miss the {limit}: {percent(risk)}" for limit, risk in risks if risk is not None),
        f"# {plan['precision']}, {batch}",
        *layout_line,
    ]


def slurm_job(plan: Row, workload: str) -> str:
    """Return a Slurm job: header, address of the first machine, and a torchrun line for each machine.

    The time limit is the upper end of the run's 80 % interval, a tenth more to evaluate and ten minutes to
    start, rounded up to a minute.  Slurm ends a job that runs longer, as one in ten may.

    Raises
    ------
    InputError : as of ``torchrun``
    """
    line = torchrun(plan, workload)
    longest = plan["run_time_high_80"] or plan["run_time"]
    minutes = math.ceil((longest * (1 + MARGIN) + START) / 60)
    days, rest = divmod(minutes, 24 * 60)
    comments = _comments(plan)
    command = line.removeprefix("\n".join(comments) + "\n")
    of_time = f"{duration(longest)}, upper end of the 80 % interval, which one run in ten passes"
    more = f"and {per_cent(MARGIN, 0)} to evaluate and {duration(START)} to start"
    lines = [
        "#!/bin/bash",
        f"#SBATCH --job-name={_job_name(workload)}",
        f"#SBATCH --nodes={plan['nodes']}",
        "#SBATCH --ntasks-per-node=1",
        f"#SBATCH --gpus-per-node={_ranks(plan)}",
        f"#SBATCH --time={days}-{rest // 60:02}:{rest % 60:02}:00",
        "#SBATCH --exclusive",
        "",
        *comments,
        f"# --time: {of_time},",
        f"#   {more}",
    ]
    if plan["nodes"] > 1:
        lines.append('export HEAD_NODE=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)')
    setting, space, rest_of_line = command.partition(" ")
    if space and setting.startswith("NCCL_ALGO="):
        lines.append(f"export {setting}")
        command = rest_of_line
    lines.append(f"srun {command}")
    return "\n".join(lines)


def predict_command(plan: Row, workload: str, options: Mapping[str, Any]) -> str:
    """Return the command that predicts one iteration of a plan.

    Examples
    --------
    >>> plan = {
    ...     "node": "dgx-1v", "accelerator": "v100-sxm2-16gb", "world_size": 16, "strategy": "all-reduce",
    ...     "algorithm": "ring", "servers": None, "server_node": None, "precision": "amp",
    ...     "local_batch_size": 64,
    ... }
    >>> print(predict_command(plan, "resnet50", {}))  # doctest: +NORMALIZE_WHITESPACE
    perfmodel predict --workload resnet50 --node dgx-1v --accelerator v100-sxm2-16gb
    --gpus 16 --strategy all-reduce --algorithm ring --precision amp --local-batch-size 64
    """
    return command_line("predict", options_of(plan, workload, options))


def _ranks(plan: Row) -> int:
    """Return the GPUs of each node; a plan on several nodes fills them."""
    return int(plan["world_size"]) // int(plan["nodes"])


def _job_name(workload: str) -> str:
    """Return the name of the workload, or of its file, in characters that Slurm accepts."""
    stem = workload.replace("\\", "/").rsplit("/", 1)[-1]
    return "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in stem) or "training"
