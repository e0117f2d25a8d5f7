"""The answer about workers whose times spread, as ``perfmodel.stragglers`` has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from perfmodel.equations.distribution import Distribution
from perfmodel.equations.sgd_variants import VARIANTS, StragglerPrediction
from perfmodel.interfaces.api.stragglers import Stragglers, law_from, stragglers


def stragglers_of(
    answer: Any, distribution: str | Distribution | None, options: Mapping[str, Any]
) -> Stragglers | StragglerPrediction:
    """Return the rows of a service with the law that they are of, or its answer of one variant.

    Parameters
    ----------
    answer : rows, or a single one
    distribution, options : what was asked
    """
    if not isinstance(answer, list):
        one: StragglerPrediction = TypeAdapter(StragglerPrediction).validate_python(answer)
        return one
    rows = TypeAdapter(tuple[StragglerPrediction, ...]).validate_python(answer)
    usual = stragglers.__kwdefaults__ or {}
    law = law_from(usual["distribution"] if distribution is None else distribution, options.get("params"))
    known = {row.variant for row in rows}
    left_out: dict[str, str] = {
        name: "the service has no package for it" for name in VARIANTS if name not in known
    }
    return Stragglers(rows, law, options.get("workers", usual["workers"]), left_out)
