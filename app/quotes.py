"""A quote from the fields of a page, or from a file somebody hands over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from app import axes
from app.options import SCENARIO, values
from perfmodel.core.errors import InputError, unknown_name
from perfmodel.core.problem import Problem
from perfmodel.decide.quote import Checked, Claim, Quote, read_quote
from perfmodel.decide.quote.claim_words import shown
from perfmodel.decide.quote.file import GOES_WITH, KINDS, SYNONYMS, quote_of
from perfmodel.workloads import names as workload_names
from perfmodel.workloads import understood

QUANTITIES = (*SYNONYMS, *KINDS)
MOST = 500
"""Claims of a file: what their check takes, some seconds, is over before somebody gives up."""
EXTRA = ("per", "epochs", "tokens", "price", "from-gpus", "size", "format", "convention")
"""Keys of a claim that a page asks for -> only where they go with its quantity."""


def filled_in(picked: Mapping[str, Any]) -> Quote:
    """Return the quote that the fields of a page come to.

    Raises
    ------
    InputError : a claim that does not fit together
    """
    quantity = picked.get("quantity", "images_per_second")
    claim: dict[str, Any] = {"quantity": quantity, "value": _plain(picked.get("value", ""))}
    for name in EXTRA:
        if name in picked and goes_with(name, quantity):
            claim[name.replace("-", "_")] = float(picked[name]) if name == "epochs" else picked[name]
    if quantity == "flops" and "per" not in claim:
        claim["per"] = "job"
    table = {"title": "A claim of your own", "scenario": values(picked, SCENARIO), "claims": (claim,)}
    try:
        return quote_of(table)
    except InputError as error:  # there is one claim alone, and its value has a field
        raise InputError(*map(_of_the_claim, error.problems)) from None


def _of_the_claim(problem: Problem) -> Problem:
    """Leave out of a sentence which claim it is about, and that it is about its value."""
    return replace(problem, before="", values={**problem.values, "field": problem.fields[0][-1]})


def goes_with(name: str, quantity: str) -> bool:
    """Return whether an option of a claim says something about what is claimed.

    >>> goes_with("per", "images_per_second"), goes_with("per", "images_per_second_per_gpu")
    (True, False)
    """
    known = SYNONYMS.get(quantity)
    if name == "per" and known is not None and known.per is not None:
        return False
    return (known.kind if known else quantity) in GOES_WITH[name.replace("-", "_")]


def _plain(text: str) -> float | str:
    """A number as a number; with a unit it stays text."""
    try:
        return float(text)
    except ValueError:
        return text


def handed_over(path: Path) -> Quote:
    """Return the quote of an uploaded file.

    Raises
    ------
    InputError : a file that is none
    """
    quote = read_quote(path)[0]
    if len(quote.claims) > MOST:
        raise InputError(
            f"{path}: {len(quote.claims):,} claims; this page takes up to {MOST}, "
            "and perfmodel check-quote takes more"
        )
    for table in (quote.scenario, *(claim.scenario for claim in quote.claims)):
        _without_files(table)
    return quote


def _without_files(table: Mapping[str, Any]) -> None:
    """Refuse a scenario that names files, which would be the server's."""
    if "profile" in table or "empirical" in str(table.get("jitter", "")):
        raise InputError("profile and empirical jitter name files; a quote handed over has none")
    workload = table.get("workload")
    if workload is not None and understood(str(workload)).id not in workload_names():
        raise unknown_name("workload", str(workload), workload_names())


def text(claim: Checked, value: float) -> str:
    """Return a value as the claim would say it."""
    return shown(value, claim.quantity, claim.sample, claim.per)


def tick_text(claim: Checked, value: float) -> str:
    """Return what stands at a tick of an axis of a claim: with its unit where that has a prefix."""
    if claim.unit in axes.SHOWN:
        return axes.tick_text(value, claim.unit)
    return shown(value, claim.quantity, claim.sample).partition(" ")[0]


def axis_title(claim: Checked) -> str:
    """Return what an axis of a claim shows, with the unit that its ticks do not say."""
    words, per = KINDS[claim.quantity].words, "" if claim.per == "job" else f" per {claim.per}"
    if claim.unit in axes.SHOWN:
        return words + per
    unit = shown(1.0, claim.quantity, claim.sample).partition(" ")[2]
    unit = f"USD {unit}".strip() if claim.unit == "USD" else unit
    return f"{words} [{unit}{per}]" if unit else words


def as_toml(quote: Quote) -> str:
    """Return the file that says the same."""
    lines = [f'title = "{quote.title}"', "", "[scenario]"]
    lines += [f"{key} = {_said(value)}" for key, value in quote.scenario.items()]
    for claim in quote.claims:
        lines += ["", "[[claims]]"]
        lines += [f"{key} = {_said(value)}" for key, value in _given(claim).items()]
    return "\n".join(lines) + "\n"


def _given(claim: Claim) -> dict[str, Any]:
    return {
        key: getattr(claim, key) for key in sorted(claim.model_fields_set, key=list(Claim.model_fields).index)
    }


def _said(value: Any) -> str:
    import json

    return json.dumps(value) if isinstance(value, str | bool) else repr(value)
