"""The sources behind the predictions of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perfmodel.core.errors import InputError
from perfmodel.decide.explanations.derivation import derivation
from perfmodel.decide.explanations.sources import CitedSource, sources_of
from perfmodel.decide.sensitivity.elasticity import case_of
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import scenario_of

KINDS = ("workload", "spec", "software", "price", "fit")
"""Types of sources in the order of a page: first what a reader can check; formulas are a single line."""


def sources_behind(
    scenarios: Sequence[Mapping[str, Any]],
    catalogue: Catalogue,
    conditions: Conditions | Sequence[Conditions],
) -> list[str]:
    """Return the sources of predictions, each once, without web addresses: see ``perfmodel cite`` for these.

    Parameters
    ----------
    scenarios : of the predictions, with defaults filled in
    catalogue : of the predictions
    conditions : prices, power and failures, of all or of each
    """
    every = [conditions] * len(scenarios) if isinstance(conditions, Conditions) else conditions
    used: dict[tuple[str, str], dict[str, None]] = {}
    for options, under in zip(scenarios, every, strict=True):
        try:
            scenario = scenario_of(options)
            case = case_of(scenario, catalogue, calibration(), under)
            sources = sources_of(case, derivation(case), catalogue)
        except InputError:  # a saved answer with specs that are not available
            continue
        for source in sources:
            used.setdefault((source.kind, _cited(source)), {}).update(dict.fromkeys(_things(source)))
    lines = [
        f"{', '.join(things)}: {cited}"
        for kind in KINDS
        for (its_kind, cited), things in used.items()
        if its_kind == kind
    ]
    formulas = sorted(cited for kind, cited in used if kind == "formula")
    return [*lines, f"formulas: {'; '.join(formulas)}"] if formulas else lines


def _cited(source: CitedSource) -> str:
    """Return the citation of a source, with the date of reading."""
    read = source.kind in ("spec", "software", "price") and source.date
    return f"{source.cited}, read {source.date}" if read else source.cited


def _things(source: CitedSource) -> list[str]:
    """Return what a source is used for; of a spec its id instead of its numbers."""
    is_spec = source.kind in ("spec", "software")
    return [source.key.partition("/")[0]] if is_spec else source.used_for
