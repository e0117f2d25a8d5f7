"""Published figures on scaling and networks with the model's predictions, for the report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from perfmodel.core.errors import refusal
from perfmodel.core.files.reading import read_toml
from perfmodel.core.files.resources import folder
from perfmodel.core.files.templating import render
from perfmodel.core.units import per_cent
from perfmodel.decide.quote.check import check_quote
from perfmodel.decide.quote.claim_words import shown
from perfmodel.decide.quote.expected import expected_bus_bandwidth
from perfmodel.decide.quote.file import KINDS, read_quote, scenario_of_claim
from perfmodel.evidence.accuracy.report.error_statistics import errors
from perfmodel.evidence.validation import Validation
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.prediction import Prediction, predict
from perfmodel.model.prediction.collectives.collective_fabric import fabric_of

RECORDS, BANDWIDTHS = "imagenet-records", "nccl-8gb-all-reduce"
QUOTES = ("imagenet-one-hour", "powerai-ddl-256-p100", "horovod-512-gpus", BANDWIDTHS, RECORDS)
QUANTITIES = ("time_to_train", "epoch_time", "scaling_efficiency", "bus_bandwidth")
"""The claims taken from these quotes; rates and speed-ups would repeat them, but for that of the records."""
EFFICIENCY = "scaling_efficiency"
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
    still: float | None = None
    """The prediction with ``--jitter none``; None for a bandwidth."""

    @property
    def miss(self) -> float | None:
        """Distance of a predicted efficiency from the published one [1]; None for another quantity."""
        return self._miss(self.predicted)

    @property
    def still_miss(self) -> float | None:
        """Distance of the efficiency predicted with ``--jitter none`` from the published one [1]."""
        return self._miss(self.still)

    def _miss(self, value: float | None) -> float | None:
        if None in (value, self.published) or self.quantity != EFFICIENCY:
            return None
        return abs((value or 0.0) - (self.published or 0.0))

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
        error = "-" if self.error is None else per_cent(self.error, signed=True)
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
        still = quote.model_copy(update={"scenario": quote.scenario | {"jitter": "none"}})
        both = zip(check_quote(quote, catalogue, where), check_quote(still, catalogue, where), strict=True)
        for each, at_rest in both:
            if each.quantity not in QUANTITIES and name != RECORDS:
                continue
            if each.expected is None or each.low_80 is None or each.high_80 is None:
                raise refusal(
                    "quote.no_prediction", each=each.text, memory=each.memory or "no interval"
                ).under(where)
            source = quote.sources[each.source].title if each.source else None
            figures = (each.value, each.expected, each.low_80, each.high_80)
            without = None if each.quantity == "bus_bandwidth" else at_rest.expected
            result.append(PublishedClaim(name, each.text, each.quantity, *figures, source, without))
    absent = read_toml(folder("validation") / "published_claims.toml")["without_figure"]
    return [*result, *(_without_figure(**each, catalogue=catalogue) for each in absent)]


def _without_figure(node: str, ranks: int, catalogue: Catalogue) -> PublishedClaim:
    """Return the predicted bus bandwidth of a machine without a published figure [B/s]."""
    point = fabric_of(ranks, catalogue, node=node).of("all-reduce", LARGE)
    figures = expected_bus_bandwidth(point)[:3]
    return PublishedClaim(BANDWIDTHS, f"{node}: 8 GB, no figure found", "bus_bandwidth", None, *figures, None)


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
    parts = {
        "earlier": [row for row in rows if row.quote != RECORDS],
        "records": [row for row in rows if row.quote == RECORDS],
    }
    scaled = {name: _of_scaling(each) for name, each in (("all", rows), *parts.items())}
    summary = {"rows": len(rows), **result._asdict(), "coverage_80": held, "scaling": scaled}
    return ClaimValidation(rows, summary)


def _of_scaling(rows: Sequence[PublishedClaim]) -> dict[str, float | int]:
    """Return the statistics of claims on several accelerators, apart from bandwidths.

    The mean misses are of efficiencies, in shares of 1; coverage and width, the mean over claims of the
    logarithm of the prediction over the lower end of its 80 % interval, are of efficiencies and durations.
    """
    misses = [row.miss for row in rows if row.miss is not None]
    still = [row.still_miss for row in rows if row.still_miss is not None]
    timed = [row for row in rows if row.still is not None]
    worse = [
        row.predicted / row.low_80 if KINDS[row.quantity].higher_is_better else row.high_80 / row.predicted
        for row in timed
    ]
    return {
        "efficiencies": len(misses),
        "mean_miss": fmean(misses),
        "mean_miss_without_jitter": fmean(still),
        "claims": len(timed),
        "coverage_80": fmean(bool(row.covered) for row in timed),
        "mean_half_width": fmean(map(math.log, worse)),
    }


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
