"""Quotes of the page Check a quote: from its fields or an uploaded file, and as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from app.options import SCENARIO, values
from app.quote_words import example
from app.titles import job_of
from perfmodel.core.errors import InputError, unknown_name
from perfmodel.core.problem import Problem
from perfmodel.core.sentences import capitalised
from perfmodel.decide.quote import Checked, Claim, Quote, read_quote
from perfmodel.decide.quote.claim_words import shown
from perfmodel.decide.quote.file import GOES_WITH, SYNONYMS, quote_of
from perfmodel.decide.quote.listing import claimed
from perfmodel.model.prediction.answer_card import Card
from perfmodel.workloads import names as workload_names
from perfmodel.workloads import understood

MOST = 500
"""Most claims of an uploaded file, whose check takes some seconds."""
EXTRA = ("per", "epochs", "tokens", "price", "from-gpus", "size", "format", "convention")
"""Keys of a claim whose fields appear only for quantities that they go with."""


@cache
def title_of(example: str) -> str:
    """Return the title of a quote that comes with the package."""
    return read_quote(example)[0].title


def filled_in(picked: Mapping[str, Any]) -> Quote:
    """Return the quote that the fields of the page define.

    Raises
    ------
    InputError : an invalid claim, or none
    """
    quantity = picked.get("quantity", "images_per_second")
    if "value" not in picked:
        raise InputError(f"Say how much is promised, e.g. {example(quantity)}")
    claim: dict[str, Any] = {"quantity": quantity, "value": _plain(picked.get("value", ""))}
    for name in EXTRA:
        if name in picked and goes_with(name, quantity):
            claim[name.replace("-", "_")] = float(picked[name]) if name == "epochs" else picked[name]
    if quantity == "flops" and "per" not in claim:
        claim["per"] = "job"
    table = {"title": "A claim of your own", "scenario": values(picked, SCENARIO), "claims": (claim,)}
    try:
        return quote_of(table)
    except InputError as error:  # the page has a single claim, with a field for its value
        raise InputError(*map(_of_the_claim, error.problems)) from None


def named(quote: Quote, claim: Checked) -> Quote:
    """Return a quote of a single claim with the claim as its title.

    Parameters
    ----------
    claim : as checked
    """
    job = job_of(quote.scenario.get("workload"), Card(advice="", machines=claim.machines))
    where = job.gpus if claim.scenario.startswith(claim.machines) else str(job)
    of = "of" if claim.quantity.endswith("per_second") else "for"
    return quote.model_copy(update={"title": capitalised(f"{claimed(claim)} {of} {where}")})


def _of_the_claim(problem: Problem) -> Problem:
    """Return a problem without the claim's path in its sentence, as there is only one claim."""
    return replace(problem, before="", values={**problem.values, "field": problem.fields[0][-1]})


def goes_with(name: str, quantity: str) -> bool:
    """Return whether an option of a claim applies to the claimed quantity.

    >>> goes_with("per", "images_per_second"), goes_with("per", "images_per_second_per_gpu")
    (True, False)
    """
    known = SYNONYMS.get(quantity)
    if name == "per" and known is not None and known.per is not None:
        return False
    return (known.kind if known else quantity) in GOES_WITH[name.replace("-", "_")]


def _plain(text: str) -> float | str:
    """Return a number as float; text with a unit unchanged."""
    try:
        return float(text)
    except ValueError:
        return text


def uploaded_quote(path: Path) -> Quote:
    """Return the quote of an uploaded file.

    Raises
    ------
    InputError : not a quote, too many claims, or a scenario that names files
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
    """Raise InputError for a scenario that names files, which would be the server's."""
    if "profile" in table or "empirical" in str(table.get("jitter", "")):
        raise InputError("profile and empirical jitter name files; an uploaded quote may name none")
    workload = table.get("workload")
    if workload is not None and understood(str(workload)).id not in workload_names():
        raise unknown_name("workload", str(workload), workload_names())


def text(claim: Checked, value: float) -> str:
    """Return a value as text in the units of a claim."""
    return shown(value, claim.quantity, claim.sample, claim.per)


def as_toml(quote: Quote) -> str:
    """Return a quote as the text of a TOML file."""
    lines = [f"title = {_toml_value(quote.title)}", "", "[scenario]"]
    lines += [f"{key} = {_toml_value(value)}" for key, value in quote.scenario.items()]
    for claim in quote.claims:
        lines += ["", "[[claims]]"]
        lines += [f"{key} = {_toml_value(value)}" for key, value in _given(claim).items()]
    return "\n".join(lines) + "\n"


def _given(claim: Claim) -> dict[str, Any]:
    return {
        key: getattr(claim, key) for key in sorted(claim.model_fields_set, key=list(Claim.model_fields).index)
    }


def _toml_value(value: Any) -> str:
    import json

    return json.dumps(value) if isinstance(value, str | bool) else repr(value)
