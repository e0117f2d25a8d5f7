"""Which command lines run which formulas: the examples of ``--help`` and docs/systems.md, run and watched."""

from __future__ import annotations

import contextlib
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from click.testing import CliRunner

from docs.site.commands import commands
from docs.site.equation_pages import by_module
from docs.site.written_pages import ROOT
from perfmodel.interfaces.cli import main
from tests.doors import reached
from tests.readme import SHOWN_FILE

_LEFT_OUT = (
    "app",
    "calibrate",
    "cite",
    "emulate",
    "explain",
    "plan",
    "serve",
    "specs",
    "validate",
    "workloads",
)
"""Commands that run no formula, serve, repeat what ``predict`` runs, or whose examples take seconds each."""
_FILE = re.compile(r"\.(csv|html|ipynb|json|log|md|parquet|svg|toml|txt)\b|--plot|--report|--output")
_OF_SYSTEMS = re.compile(r"^\|[^|]*\| `(perfmodel .*?)` \|", re.MULTILINE)
_FLEETS = re.compile(r"^(perfmodel plan --have .*)$", re.MULTILINE)
_CONSOLE_LINE = re.compile(r"^\$ (perfmodel .*)$", re.MULTILINE)
_COLLECTIVE = "perfmodel collective --ranks 8 --size 1MB --intra-link pcie3-x16"
_ORDER = "perfmodel stragglers --order-statistic 7:8 --distribution"
_PREDICT = "perfmodel predict --gpus 16"
_P4D = f"{_PREDICT} --node aws-p4d.24xlarge --cost --epochs 90"
_TPU = "perfmodel predict --gpus 16 --accelerator tpu-v3 --precision bf16"
_LLAMA = "perfmodel predict --workload llama-3-8b --gpus 64 --node dgx-h100"
_MORE = (
    *(
        f"{_COLLECTIVE} --collective {collective} --algorithm best"
        for collective in ("broadcast", "reduce-scatter", "all-gather", "all-to-all", "send-receive")
    ),
    *(
        f"{_COLLECTIVE} --algorithm {algorithm}"
        for algorithm in ("recursive-doubling", "ring", "tree", "hierarchical", "best")
    ),
    *(
        f"perfmodel collective --ranks 8 --size 1MB --node dgx-h100 --algorithm {algorithm}"
        for algorithm in ("nvls", "best")
    ),
    "perfmodel collective --ranks 16 --size 1MB --node dgx-h100 --algorithm switch-tree",
    "perfmodel collective --ranks 256 --size 64MB --node dgx-a100-80gb --collective all-to-all",
    f"{_ORDER} uniform:low=1,high=2",
    f"{_ORDER} pareto:scale=1,shape=3",
    f"{_PREDICT} --cost --purchase-price 150000 --electricity-price 0.1 --epochs 90",
    f"{_PREDICT} --cost --epochs 90 --node-mtbf 6000h --checkpoint-bandwidth 2GB/s",
    f"{_P4D} --pricing spot",
    f"{_P4D} --pricing spot --node-mtbf 6000h",
    f"{_P4D} --pricing reserved-1y",
    "perfmodel plan --epochs 90 --instance p4d.24xlarge --max-gpus 8 --pricing on-demand,reserved-1y",
    f"{_PREDICT} --strategy parameter-server --server-shards greedy --jitter pareto:scale=1,shape=3",
    f"{_PREDICT} --strategy parameter-server --server-shards large-split",
    f"{_PREDICT} --strategy parameter-server --server-shards round-robin",
    f"{_PREDICT} --algorithm hierarchical",
    f"{_PREDICT} --strategy k-batch-async --k 4",
    f"{_PREDICT} --strategy backup",
    f"{_PREDICT} --overlap optimal",
    f"{_COLLECTIVE} --algorithm reduce-broadcast",
    f"{_COLLECTIVE} --collective broadcast --algorithm scatter-all-gather",
    "perfmodel learning-rate --global-batch-size 2048 --noise-scale 1000",
    f"{_PREDICT} --algorithm best",
    f"{_PREDICT} --strategy parameter-server --cost --epochs 90",
    f"{_PREDICT} --strategy parameter-server --rack-nodes 1 --oversubscription 4",
    f"{_PREDICT} --strategy parameter-server --rack-nodes 1 --oversubscription 4 --framework tensorflow",
    f"{_PREDICT} --strategy k-sync --k 10 --jitter two-point:fast=1,slow=10,probability=0.1",
    f"{_TPU}",
    f"{_TPU} --algorithm tree",
    f"{_TPU} --algorithm switch-tree",
    f"{_TPU} --compression topk:0.01",
    f"{_TPU} --workload dlrm --embedding sharded",
    "perfmodel predict --gpus 8 --accelerator a100-sxm4-40gb --input real --decoder torchvision-gpu",
    f"{_LLAMA} --time-to-target --recipe tokens",
    "perfmodel predict --gpus 4 --strategy data-parallel-single-process --framework tensorflow",
    "perfmodel predict --gpus 4 --strategy data-parallel-single-process",
    "perfmodel predict --gpus 8 --accelerator a100-sxm4-40gb --input real --decoder dali-gpu",
    "perfmodel predict --gpus 4 --accelerator rtx-4090 --workload vgg16",
    "perfmodel predict --workload llama-2-7b --gpus 8 --node dgx-a100-80gb --lora 16",
    "perfmodel predict --workload megatron-1.7b --gpus 64 --time-to-target --recipe tokens",
    f"{_LLAMA} --anchor iteration_time=1.2s@8",
    f"{_LLAMA} --context-parallel 16 --context-method ulysses --framework deepspeed",
    f"{_LLAMA} --context-parallel 16 --context-method nested",
    f"{_LLAMA} --sharding zero3 --shard-group 8 --framework torchtitan",
    f"{_LLAMA} --sharding zero1 --precision fp8",
    f"{_LLAMA} --document-length 300",
    "perfmodel predict --workload qwen3-30b-a3b --gpus 64 --node dgx-h100 --expert-parallel 8 "
    "--recompute-modules moe_act,layernorm",
    "perfmodel predict --workload deepseek-v3 --gpus 256 --node dgx-h100 --pipeline-parallel 4 "
    "--expert-parallel 8",
    *(
        f"perfmodel predict --workload {network} --gpus 64 --node dgx-h100 --tensor-parallel 4"
        for network in ("nemotron-h-8b", "qwen3-next-80b-a3b", "jamba-mini", "deepseek-v3.2")
    ),
)
"""Command lines that reach formulas which no example runs."""
PAGES_WITH_FILES = ("guide/measurements.md", "how-to/your-own-fabric.md")
"""Pages that show files, as profiles, and the command lines that read them."""
_FITTED = ":ref:`what was measured of NCCL's <equations-collective_times>`"
NO_COMMAND = {
    "crossover.crossover_bytes": "on the page Communication of ``perfmodel app``, which marks with it where "
    "one algorithm overtakes another.",
    "in_network.nvls_all_reduce_time": "by no command on an accelerator of the catalogue: where NCCL runs, "
    f"``--algorithm nvls`` takes {_FITTED}. This is the least that a switch allows. Tests hold it to a "
    "simulation of every block, and what was measured is no faster.",
    "shuffles.ring_reduce_scatter_time": f"by no command: a reduce-scatter takes {_FITTED}. This is the "
    "textbook's form. Tests hold it to a simulation of every message, and what was measured is no faster.",
}
"""Formulas that no command line runs, and what they are for."""
MOST = 3
"""Command lines shown with a formula."""


def command_lines() -> list[str]:
    """Return the command lines to watch: short ones first, none that needs or writes a file."""
    lines = [line for command in commands() for line in command.examples()]
    lines += _OF_SYSTEMS.findall((ROOT / "docs" / "systems.md").read_text("utf-8"))
    quick = {line for line in lines if shlex.split(line)[1] not in _LEFT_OUT and not _FILE.search(line)}
    quick.update(_MORE, _FLEETS.findall((ROOT / "docs" / "fleets.md").read_text("utf-8")))
    return sorted(quick, key=lambda line: (len(line), line))


def shown_with_files() -> tuple[dict[str, str], list[str]]:
    """Return the files that some pages show, by their names, and the command lines beside them."""
    texts = [(ROOT / "docs" / page).read_text("utf-8") for page in PAGES_WITH_FILES]
    files = {name: content for text in texts for name, content in SHOWN_FILE.findall(text)}
    return files, [line for text in texts for line in _CONSOLE_LINE.findall(text)]


def users() -> dict[str, list[str]]:
    """Return the first command lines that ran each formula, one for each command before a second of the same.

    Raises
    ------
    RuntimeError : a command line did not answer
    """
    codes = {entry.function.__code__: name for each in by_module().values() for name, entry in each}
    ran: dict[str, list[str]] = {}
    files, of_pages = shown_with_files()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, content in files.items():
            Path(name).write_text(content, "utf-8")
        for line in [*command_lines(), *of_pages]:
            with _watched(codes) as names:
                done = CliRunner().invoke(main, shlex.split(line)[1:])
            if done.exit_code not in (0, 1):
                raise RuntimeError(f"{line}: {done.output or done.exception}")
            for name in names:
                ran.setdefault(name, []).append(line)
    return {name: _spread(lines) for name, lines in ran.items()}


def unsaid(users: Mapping[str, Sequence[str]]) -> list[str]:
    """Return formulas of which nobody says what runs them, or says wrongly that no command does."""
    names = [name for each in by_module().values() for name, _ in each]
    lines = [
        f"{name}: no command line of docs/site/usage.py runs it; add one, or say what it is for"
        for name in names
        if name not in users and name not in NO_COMMAND
    ]
    return lines + [f"{name}: {users[name][0]!r} runs it" for name in NO_COMMAND if name in users]


def modules() -> dict[str, list[str]]:
    """Return the modules of the product by which each formula is reached."""
    return {".".join(name): sorted({_dotted(path) for path in paths}) for name, paths in reached().items()}


def _dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _spread(lines: list[str]) -> list[str]:
    first = {shlex.split(line)[1]: line for line in reversed(lines)}
    chosen = [line for line in lines if line in first.values()]
    return [*chosen, *(line for line in lines if line not in chosen)][:MOST]


@contextlib.contextmanager
def _watched(codes: dict[Any, str]) -> Iterator[set[str]]:
    """Note which of some functions are called."""
    names: set[str] = set()

    def watch(frame: FrameType, event: str, argument: object) -> None:
        name = codes.get(frame.f_code)
        if name is not None:
            names.add(name)

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        yield names
    finally:
        sys.settrace(before)
