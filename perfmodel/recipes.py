"""Recipes: how long a network trains, with which software's settings; data in ``recipes.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from perfmodel.epochs_to_target import EpochsFit, epochs_fit
from perfmodel.errors import InputError
from perfmodel.specs.framework import parse_framework

NAMES: Final = ("stock", "mlperf")
MLPERF: Final = "MLPerf training submissions, v0.5 to v1.1"


@dataclass(frozen=True)
class Benchmark:
    """What epochs to a target have been published of."""

    workloads: tuple[str, ...]
    """Networks that are trained to it."""
    usual_recipe: str
    """Of ``NAMES``, with software that has no tuned recipe of its own."""
    sample_tokens: int | None = None
    """Of one sample of its data, padding left out; None where a sample has none."""
    starts: str = ""
    """Where a run of MLPerf starts, if not from scratch."""


@dataclass(frozen=True)
class Phase:
    """One stretch of a run."""

    amount: float
    """Epochs or samples."""
    sequence_length: int | None
    """Tokens of a sample; None where the recipe does not say."""


@dataclass(frozen=True)
class Recipe:
    """How long a run takes, and the source of that."""

    name: str
    """One of ``NAMES``."""
    fit: EpochsFit
    phases: tuple[Phase, ...]
    """Of a run of fixed length; empty where its length grows with the batch."""
    source: str
    learning_rate: tuple[float, float] | None = None
    """Rate that is good at a batch size, and that batch; None where none was published."""

    @property
    def words(self) -> str:
        """What the recipe is called in an answer."""
        more = benchmarks()[self.fit.benchmark].starts if self.name == "mlperf" else ""
        return f"recipe {self.name}: {self.fit.target}" + (f", {more}" if more else "")


@cache
def benchmarks() -> dict[str, Benchmark]:
    """Return every benchmark, by name."""
    return {
        name: Benchmark(**{**entry, "workloads": tuple(entry["workloads"])})
        for name, entry in _document()["benchmarks"].items()
    }


def benchmark_of(workload: str) -> str | None:
    """Return the benchmark that a network is trained to; None where nothing was published.

    >>> benchmark_of("resnet50-v1.5"), benchmark_of("vgg16")
    ('resnet50', None)
    """
    return next((name for name, each in benchmarks().items() if workload in each.workloads), None)


def usual_recipe(benchmark: str, framework: str | None) -> str:
    """Return the recipe that goes with a framework: tuned recipes with tuned software.

    BERT has MLPerf's target by default; its stock recipe is the whole pre-training.

    >>> usual_recipe("resnet50", None), usual_recipe("resnet50", "mxnet-ngc"), usual_recipe("bert", None)
    ('stock', 'mlperf', 'mlperf')
    """
    tuned = framework is not None and parse_framework(framework)[0].tuned_recipe
    return "mlperf" if tuned else benchmarks()[benchmark].usual_recipe


def recipe(benchmark: str, name: str, target: str | None = None) -> Recipe:
    """Return a recipe of a benchmark.

    Raises
    ------
    InputError : an unknown recipe or target
    """
    if name == "mlperf" or target is not None:
        return Recipe(
            "mlperf", epochs_fit(benchmark, target), (), "MLPerf training submissions, v0.5 to v1.1"
        )
    result = _stock().get((benchmark, name))
    if result is None:
        raise InputError(f"--recipe {name}: none is known for {benchmark}; known: mlperf")
    return result


@cache
def _document() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


@cache
def _stock() -> dict[tuple[str, str], Recipe]:
    document = _document()
    result = {}
    for entry in document["recipes"]:
        phases = tuple(Phase(float(p["amount"]), p.get("sequence_length")) for p in entry["phases"])
        sources = "; ".join(document["sources"][key]["title"] for key in entry["sources"])
        rate = entry.get("learning_rate")
        result[entry["benchmark"], entry["recipe"]] = Recipe(
            entry["recipe"],
            _fixed(entry, sum(phase.amount for phase in phases)),
            phases,
            sources,
            (rate["base"], float(rate["base_batch"])) if rate else None,
        )
    return result


def _fixed(entry: dict[str, Any], amount: float) -> EpochsFit:
    """A curve that does not grow: the recipe holds for the batches it was published with."""
    return EpochsFit(
        benchmark=entry["benchmark"],
        target=entry["target"],
        unit=entry["unit"],
        batch_unit="samples",
        smallest_epochs=amount,
        critical_batch_size=None,
        residual=0.0,
        smallest_batch_size=float(entry["smallest_batch_size"]),
        largest_batch_size=float(entry["largest_batch_size"]),
        batch_sizes=1,
        runs=1,
    )
