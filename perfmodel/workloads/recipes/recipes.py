"""Recipes: how long a network trains, with which software's settings; data in ``recipes.toml``."""

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
"""Whose containers the tuned frameworks are."""


@dataclass(frozen=True)
class Benchmark:
    """What epochs to a target have been published of."""

    workloads: tuple[str, ...]
    """Networks that are trained to it."""
    usual_recipe: str
    """Of ``NAMES``, where nobody names software."""
    tuned_framework: str
    """Whose container has MLPerf's settings for it."""
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
class Evidence:
    """What was published of one batch."""

    batch_size: float
    """Samples; of ``tokens`` recipes, tokens."""
    amount: float
    """Epochs, samples or tokens of the run."""
    unit: str
    """Of the amount."""
    quality: str
    """What was reached."""
    source: str
    """Who says so."""


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
    evidence: tuple[Evidence, ...] = ()
    framework: str | None = None
    """Software that goes with it, of NVIDIA; None where it was shown with the usual one."""
    optimizer: str | None = None
    """That goes with it; None where it is the network's usual one."""
    tokens: float | None = None
    """Of the whole run, where they are its length."""

    @property
    def in_phases(self) -> bool:
        """Whether its samples are of several lengths, one after the other."""
        return any(phase.sequence_length for phase in self.phases)

    @property
    def starts(self) -> str:
        """Where its run starts, if not from scratch."""
        return benchmarks()[self.fit.benchmark].starts if self.name == "mlperf" else ""

    def framework_on(self, accelerator: Accelerator) -> str | None:
        """Return the software that goes with it; None for the usual one, as on other makers' accelerators."""
        return self.framework if accelerator.vendor == NVIDIA else None

    def words(self, framework: str | None) -> str:
        """What the recipe is called in an answer, with the software it is run with.

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
    """Return the benchmark that a network is trained to; None where nothing was published.

    >>> benchmark_of("resnet50-v1.5"), benchmark_of("vgg16")
    ('resnet50', None)
    """
    return next((name for name, each in benchmarks().items() if workload in each.workloads), None)


def usual_recipe(benchmark: str, framework: str | None, catalogue: Catalogue | None = None) -> str:
    """Return the recipe that goes with a framework: tuned recipes with tuned software, stock with other.

    Where nobody names software, BERT has MLPerf's target; its stock recipe is the whole pre-training.

    Parameters
    ----------
    benchmark, framework : of the job
    catalogue : that has the software; without one, software of one's own has no tuned recipe

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
    """Return the recipes that are known of a benchmark.

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
    """The two ends of a fitted curve."""
    quality = f"{fit.target}: the curve through {fit.runs} runs at {fit.batch_sizes} batch sizes"
    return tuple(
        Evidence(batch, float(fit.epochs(batch)), fit.unit, quality, MLPERF)
        for batch in (fit.smallest_batch_size, fit.largest_batch_size)
    )


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
