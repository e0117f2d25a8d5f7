"""Recipes: published lengths of training with their settings; data in ``recipes.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from perfmodel.core.errors import InputError, refusal
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.releases import release
from perfmodel.workloads.recipes.epochs_to_target import EpochsFit, epochs_fit

if TYPE_CHECKING:
    from perfmodel.hardware.accelerator import Accelerator

NAMES: Final = ("stock", "mlperf", "lars", "lamb", "tokens")
MLPERF: Final = "MLPerf training submissions, v0.5 to v1.1"
NVIDIA: Final = "NVIDIA"
"""Vendor of the containers of tuned frameworks."""


@dataclass(frozen=True)
class Benchmark:
    """A task for which epochs to a target are published."""

    workloads: tuple[str, ...]
    """Networks that are trained for it."""
    usual_recipe: str
    """Default recipe, of ``NAMES``, if no software is named."""
    tuned_framework: str
    """Software whose container has MLPerf's settings for it."""
    sample_tokens: int | None = None
    """Tokens of one sample without padding; None if samples have none."""
    starts: str = ""
    """Starting point of an MLPerf run; empty: from scratch."""


@dataclass(frozen=True)
class Phase:
    """One phase of a run, with samples of one length."""

    amount: float
    """Epochs or samples."""
    sequence_length: int | None
    """Tokens of a sample; None if the recipe does not state it."""


@dataclass(frozen=True)
class Evidence:
    """Published result for one batch size."""

    batch_size: float
    """In samples, or in tokens for ``tokens`` recipes."""
    amount: float
    """Length of the run, in ``unit``."""
    unit: str
    """``epochs``, ``samples`` or ``tokens``."""
    quality: str
    """Quality that was reached."""
    source: str
    """Publication."""


@dataclass(frozen=True)
class Recipe:
    """Length of a run with its settings and source."""

    name: str
    """One of ``NAMES``."""
    fit: EpochsFit
    phases: tuple[Phase, ...]
    """Phases of a run of fixed length; empty if the length depends on the batch."""
    source: str
    learning_rate: tuple[float, float] | None = None
    """A good learning rate and its batch size; None if none was published."""
    evidence: tuple[Evidence, ...] = ()
    framework: str | None = None
    """NVIDIA's software that it needs; None: any usual software."""
    optimizer: str | None = None
    """Optimizer that it needs; None: the network's usual one."""
    tokens: float | None = None
    """Tokens of the whole run, if they define its length."""

    @property
    def in_phases(self) -> bool:
        """Whether it has several phases, with samples of different lengths."""
        return any(phase.sequence_length for phase in self.phases)

    @property
    def starts(self) -> str:
        """Starting point of its run; empty: from scratch."""
        return benchmarks()[self.fit.benchmark].starts if self.name == "mlperf" else ""

    def framework_on(self, accelerator: Accelerator) -> str | None:
        """Return the software that it needs on an accelerator; None: the usual one, as off NVIDIA."""
        return self.framework if accelerator.vendor == NVIDIA else None

    def words(self, framework: str | None) -> str:
        """Return the name of the recipe in an answer, with its software.

        Parameters
        ----------
        framework : of the job; None where it does not matter
        """
        by = f" with framework {framework}" if framework else ""
        return f"recipe {self.name}{by}: {self.fit.target}" + (f", {self.starts}" if self.starts else "")


@cache
def benchmarks() -> dict[str, Benchmark]:
    """Return every benchmark, by name."""
    return {
        name: Benchmark(**{**entry, "workloads": tuple(entry["workloads"])})
        for name, entry in document()["benchmarks"].items()
    }


def benchmark_of(workload: str) -> str | None:
    """Return the name of the benchmark that trains a network to a published target; None if there is none.

    >>> benchmark_of("resnet50-v1.5"), benchmark_of("vgg16")
    ('resnet50', None)
    """
    return next((name for name, each in benchmarks().items() if workload in each.workloads), None)


def usual_recipe(benchmark: str, framework: str | None, catalogue: Catalogue | None = None) -> str:
    """Return the recipe that goes with a framework: tuned recipes with tuned software, stock with other.

    Without software, BERT has MLPerf's target; its stock recipe is the whole pre-training.

    Parameters
    ----------
    benchmark, framework : of the job
    catalogue : of the software; without one, a user's own software has no tuned recipe

    Raises
    ------
    InputError : software that the catalogue does not know

    >>> usual_recipe("resnet50", None), usual_recipe("resnet50", "mxnet-ngc"), usual_recipe("bert", None)
    ('stock', 'mlperf', 'mlperf')
    >>> usual_recipe("bert", "pytorch")
    'stock'
    """
    if framework is None:
        return benchmarks()[benchmark].usual_recipe
    try:
        is_tuned = release(framework, Catalogue.of(catalogue)).tuned_recipe
    except InputError:
        if catalogue is not None:
            raise
        is_tuned = False
    return "mlperf" if is_tuned else "stock"


def recipe(benchmark: str, name: str, target: str | None = None) -> Recipe:
    """Return a recipe of a benchmark.

    Raises
    ------
    InputError : an unknown recipe or target
    """
    if name == "mlperf" or target is not None:
        fit = epochs_fit(benchmark, target)
        return Recipe(
            "mlperf",
            fit,
            (),
            MLPERF,
            evidence=_ends(fit),
            framework=benchmarks()[benchmark].tuned_framework if benchmark in benchmarks() else None,
        )
    result = _published().get((benchmark, name))
    if result is None:
        raise refusal("recipe.unknown", name=name, benchmark=benchmark, known=tuple(recipe_names(benchmark)))
    return result


def recipe_names(benchmark: str) -> tuple[str, ...]:
    """Return the names of the known recipes of a benchmark.

    >>> recipe_names("bert")
    ('stock', 'mlperf', 'lamb')
    """
    return tuple(name for name in NAMES if name == "mlperf" or (benchmark, name) in _published())


def source_titles(keys: list[str]) -> str:
    """Return the titles of sources of ``recipes.toml``, by their keys."""
    return "; ".join(document()["sources"][key]["title"] for key in keys)


@cache
def document() -> dict[str, Any]:
    """Return ``recipes.toml``."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


@cache
def _published() -> dict[tuple[str, str], Recipe]:
    result = {}
    for entry in document()["recipes"]:
        phases = tuple(Phase(float(p["amount"]), p.get("sequence_length")) for p in entry["phases"])
        rate = entry.get("learning_rate")
        result[entry["benchmark"], entry["recipe"]] = Recipe(
            entry["recipe"],
            _fixed(entry, sum(phase.amount for phase in phases)),
            phases,
            source_titles(entry["sources"]),
            (rate["base"], float(rate["base_batch"])) if rate else None,
            tuple(
                Evidence(
                    float(row["batch_size"]),
                    float(row["amount"]),
                    entry["unit"],
                    row["quality"],
                    source_titles([row["source"]]),
                )
                for row in entry["evidence"]
            ),
            optimizer=entry.get("optimizer"),
        )
    return result


def _ends(fit: EpochsFit) -> tuple[Evidence, ...]:
    """Return the results at the smallest and the largest batch of a fit."""
    quality = f"{fit.target}: the curve through {fit.runs} runs at {fit.batch_sizes} batch sizes"
    return tuple(
        Evidence(batch, float(fit.epochs(batch)), fit.unit, quality, MLPERF)
        for batch in (fit.smallest_batch_size, fit.largest_batch_size)
    )


def _fixed(entry: dict[str, Any], amount: float) -> EpochsFit:
    """Return a constant curve of ``amount``, valid for the batches the recipe was published with."""
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
