"""Published figures on scaling and networks with the model's predictions, for the report."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any, NamedTuple

from perfmodel.core.errors import refusal
from perfmodel.core.files.reading import read_toml
from perfmodel.core.files.resources import folder
from perfmodel.core.files.templating import render
from perfmodel.decide.quote.check import check_quote
from perfmodel.decide.quote.claim_words import shown
from perfmodel.decide.quote.expected import expected_bus_bandwidth
from perfmodel.decide.quote.file import KINDS, read_quote, scenario_of_claim
from perfmodel.evidence.accuracy.report.error_statistics import errors
from perfmodel.evidence.validation import Validation
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.prediction import Prediction, predict
from perfmodel.model.prediction.collectives.collective_fabric import fabric_of

QUOTES = ("imagenet-one-hour", "powerai-ddl-256-p100", "horovod-512-gpus", "nccl-8gb-all-reduce")
QUANTITIES = ("time_to_train", "epoch_time", "scaling_efficiency", "bus_bandwidth")
"""The claims taken from these quotes; rates and speed-ups would repeat them."""
POWERAI = "powerai-ddl-256-p100"
LARGE = 8e9
"""Message size for machines without a published figure [B]."""


class PublishedClaim(NamedTuple):
    """A published figure and the model's prediction; values in SI."""

    quote: str
    """Name of the quote's file, without its ending."""
    claim: str
    """The claim in the words of the publication."""
    quantity: str
    """The claimed quantity, as `check-quote` names it."""
    published: float | None
    """None where no figure was found."""
    predicted: float
    """The model's prediction."""
    low_80: float
    high_80: float
    source: str | None
    """Title of the publication."""

    @property
    def error(self) -> float | None:
        """Predicted time over the published one, less 1: positive where the model is too slow."""
        if self.published is None:
            return None
        ratio = self.predicted / self.published
        return (1 / ratio if KINDS[self.quantity].higher_is_better else ratio) - 1

    @property
    def covered(self) -> bool | None:
        """Whether the published figure is in the 80 % interval."""
        return None if self.published is None else self.low_80 <= self.published <= self.high_80

    def to_dict(self) -> dict[str, Any]:
        """Return the row as a dictionary, as JSON has it."""
        return {**self._asdict(), "error": self.error, "covered": self.covered}

    def cells(self) -> tuple[str, str, str, str, str]:
        """Return claim, published figure, prediction, interval and error as texts."""

        def written(value: float | None) -> str:
            return "-" if value is None else shown(value, self.quantity)

        interval = f"{written(self.low_80)} to {written(self.high_80)}"
        error = "-" if self.error is None else f"{self.error:+.1%}"
        return self.claim, written(self.published), written(self.predicted), interval, error


def published_claims(catalogue: Catalogue | None = None) -> list[PublishedClaim]:
    """Return every published figure with the model's prediction.

    Parameters
    ----------
    catalogue : where hardware is looked up; by default the built-in one

    Raises
    ------
    InputError : a claimed job that cannot run on hardware of the catalogue
    """
    catalogue = Catalogue.of(catalogue)
    result = []
    for name in QUOTES:
        quote, where = read_quote(name)
        for each in check_quote(quote, catalogue, where):
            if each.quantity not in QUANTITIES:
                continue
            if each.expected is None or each.low_80 is None or each.high_80 is None:
                raise refusal(
                    "quote.no_prediction", each=each.text, memory=each.memory or "no interval"
                ).under(where)
            source = quote.sources[each.source].title if each.source else None
            figures = (each.value, each.expected, each.low_80, each.high_80)
            result.append(PublishedClaim(name, each.text, each.quantity, *figures, source))
    absent = read_toml(folder("validation") / "published_claims.toml")["without_figure"]
    return [*result, *(_without_figure(**each, catalogue=catalogue) for each in absent)]


def _without_figure(node: str, ranks: int, catalogue: Catalogue) -> PublishedClaim:
    """Return the predicted bus bandwidth of a machine without a published figure [B/s]."""
    point = fabric_of(ranks, catalogue, node=node).of("all-reduce", LARGE)
    figures = expected_bus_bandwidth(point)[:3]
    return PublishedClaim(QUOTES[-1], f"{node}: 8 GB, no figure found", "bus_bandwidth", None, *figures, None)


class ClaimValidation(Validation[PublishedClaim]):
    """Published figures, of which nothing is learned."""

    kind = "claims"
    whole = ()

    @property
    def _groups(self) -> Any:
        return {}

    @classmethod
    def _row(cls, row: Mapping[str, Any]) -> Any:
        return PublishedClaim(*(row[name] for name in PublishedClaim._fields))


def claims(catalogue: Catalogue) -> ClaimValidation:
    """Return every published figure with the model's prediction; errors as of ``published_claims``."""
    rows = tuple(published_claims(catalogue))
    result = errors([row.error for row in rows if row.error is not None])
    held = fmean(row.covered for row in rows if row.covered is not None)
    return ClaimValidation(rows, {"rows": len(rows), **result._asdict(), "coverage_80": held})


def overlap_gap() -> tuple[Prediction, Prediction]:
    """Return the predictions of PowerAI's two jobs: with overlap, and without."""
    quote, where = read_quote(POWERAI)
    hidden, exposed = (predict(scenario_of_claim(quote, claim, where)) for claim in quote.claims)
    return hidden, exposed


def section(rows: list[PublishedClaim]) -> str:
    """Return the report's section on published claims, as Markdown."""
    hidden, exposed = overlap_gap()
    first, second = (row.published or 0.0 for row in rows if row.quote == POWERAI)
    return render(
        "published_claims.md.j2",
        rows=[row.cells() for row in rows],
        sources=dict.fromkeys(row.source for row in rows if row.source),
        held=sum(row.covered is True for row in rows),
        counted=sum(row.published is not None for row in rows),
        published_gap=first - second,
        hidden=hidden,
        exposed=exposed,
    )
