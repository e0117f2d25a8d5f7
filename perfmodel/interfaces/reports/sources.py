"""What the predictions of a report stand on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
"""Of sources, in the order of a page: what a reader can check first; formulas follow in one line."""


def sources_behind(
    scenarios: Iterable[Mapping[str, Any]], catalogue: Catalogue, conditions: Conditions
) -> list[str]:
    """Return the sources of some predictions, each once, without addresses: ``perfmodel cite`` has those.

    Parameters
    ----------
    scenarios : as predictions understood them
    catalogue : hardware they were predicted with
    conditions : prices, power and failures
    """
    used: dict[tuple[str, str], dict[str, None]] = {}
    for asked in scenarios:
        try:
            scenario = scenario_of(asked)
            case = case_of(scenario, catalogue, calibration(), conditions)
            sources = sources_of(case, derivation(case), catalogue)
        except InputError:  # a saved answer, of specs that are not at hand
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
    read = source.kind in ("spec", "software", "price") and source.date
    return f"{source.cited}, read {source.date}" if read else source.cited


def _things(source: CitedSource) -> list[str]:
    """What a source was used for; of a spec its id, not every number of it."""
    is_spec = source.kind in ("spec", "software")
    return [source.key.partition("/")[0]] if is_spec else source.used_for
