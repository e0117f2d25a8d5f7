"""The cases of a comparison: what each changes of the first, what it is called, and the address of all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import click

from app.options import MONEY, SCENARIO, YES_OR_NO, Option, options, some_of, text_of, written
from perfmodel.model.options.scenario import field_of, laid_over

LETTERS = ("b", "c", "d", "e", "f")
"""Of the cases beside the first, which is ``a``."""
USUAL = (
    "inter-link",
    "gpus",
    "accelerator",
    "node",
    "strategy",
    "servers",
    "precision",
    "local-batch-size",
    "algorithm",
    "overlap",
)
"""Options in which a case may differ that are always offered; others are where they do, or are asked for."""
NAME, ALSO, DEFAULT = "name", "also", "default"
"""Of a case, after its letter: what it is called, which more options are offered, which are left to the
model though the first case sets them."""
LONGEST_NAME = 60
"""Characters."""
MOST_PARTS = 3
"""Of what a case changes, in what it is called."""
NETWORK = "25 or 100 Gbit/s?"
QUESTIONS: dict[str, tuple[dict[str, Any], ...]] = {
    NETWORK: tuple({"inter-link": f"ethernet-{name}"} for name in ("25g-tcp", "100g-tcp", "100g-rdma")),
    "100 or 400 Gbit/s?": tuple({"inter-link": f"ethernet-{rate}-rdma"} for rate in ("100g", "400g")),
}
"""A question -> what each case that answers it has over the present scenario; TCP may not fill 100 Gbit/s,
which is no reason against them."""
_SPEAK = ("strategy", "precision")
"""Options whose values say of what they are, beside names of hardware."""
_COUNTED = {"gpus": "{} GPUs", "servers": "{} servers", "local-batch-size": "batch {}"}
_BATCHES = ("local-batch-size", "global-batch-size")


class Variant(NamedTuple):
    """One case, as a page's options say it."""

    letter: str
    title: str
    """What somebody calls it; empty where nobody does."""
    changed: dict[str, Any]
    """Of the first case's options; None leaves one to the model."""

    @property
    def said(self) -> str:
        """What ``perfmodel compare --set`` is given.

        >>> Variant("b", "", {"strategy": "all-reduce", "servers": None}).said
        'strategy=all-reduce,servers=default'
        """
        return ",".join(f"{name}={DEFAULT if v is None else written(v)}" for name, v in self.changed.items())


class _Name(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A short text."""

    name = "name"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        text = " ".join(str(value).split())
        if len(text) > LONGEST_NAME:
            self.fail(f"{len(text)} characters; expected at most {LONGEST_NAME}")
        return text


def name_option(letter: str) -> Option:
    """Return the option of what a case is called."""
    return text_of(
        f"{letter}-{NAME}",
        _Name(),
        "",
        "What the case is called on the page; by default by what it changes.",
        label=f"Name of {letter.upper()}",
    )._replace(usual="by what it changes")


@cache
def variant_options(letter: str) -> dict[str, Option]:
    """Return every option of a case beside the first, by its name without the letter."""
    same = {
        name: options()[name]._replace(name=f"{letter}-{name}", session=f"{letter}-{name}", usual="same as A")
        for name in SCENARIO
    }
    also = some_of(f"{letter}-{ALSO}", SCENARIO, "More options in which the case may differ.")
    default = some_of(f"{letter}-{DEFAULT}", SCENARIO, "What A sets and this case leaves to the model.")
    return same | {
        ALSO: also._replace(label="Differs also in"),
        DEFAULT: default._replace(label="Left to the model"),
    }


def offered_options(letter: str, said: Iterable[str], also: Iterable[str]) -> list[Option]:
    """Return the options that a page draws of a case: the usual ones and whatever else differs.

    Parameters
    ----------
    said : names that are chosen, with the letter
    also : names that are asked for, without it
    """
    every, chosen = variant_options(letter), {*said, *(f"{letter}-{name}" for name in also)}
    more = [name for name in SCENARIO if name not in USUAL and f"{letter}-{name}" in chosen]
    return [every[name] for name in (*USUAL, *more, ALSO, DEFAULT)]


def variants(picked: Mapping[str, Any]) -> list[Variant]:
    """Return the cases that a page's options say, the first first."""
    result = [Variant("a", picked.get(f"a-{NAME}", ""), {})]
    for letter in LETTERS:
        changed = {name: picked[key] for name in SCENARIO if (key := f"{letter}-{name}") in picked}
        changed |= dict.fromkeys(
            name for name in picked.get(f"{letter}-{DEFAULT}", ()) if name not in changed
        )
        title = picked.get(f"{letter}-{NAME}", "")
        if changed or title:
            result.append(Variant(letter, title, changed))
    return result


def full(base: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    """Return a case's options: those of the first with what it changes; either batch replaces the other.

    >>> full({"gpus": 8, "servers": 2, "global-batch-size": 512}, {"servers": None, "local-batch-size": 32})
    {'gpus': 8, 'local-batch-size': 32}
    """
    return {name: value for name, value in laid_over(base, changed).items() if value is not None}


def difference(base: Mapping[str, Any], picked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``full`` lays over a scenario's options to come to others.

    >>> difference({"gpus": 8, "servers": 2}, {"gpus": 16}), difference({"gpus": 8}, {"gpus": 8})
    ({'gpus': 16, 'servers': None}, {})
    """
    changed = {name: value for name, value in picked.items() if base.get(name) != value}
    if any(name in changed for name in _BATCHES):
        changed |= {name: picked[name] for name in _BATCHES if name in picked}
        return changed | dict.fromkeys(n for n in base if n not in picked and n not in _BATCHES)
    return changed | dict.fromkeys(name for name in base if name not in picked)


def address(cases: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, str]:
    """Return the query of Compare with these cases, each with its title and all its options.

    Prices and the length of the run are the first case's.

    >>> address([("", {"gpus": 8, "jitter": "x"}), ("twice", {"gpus": 16})])
    {'gpus': '8', 'jitter': 'x', 'b-gpus': '16', 'b-default': 'jitter', 'b-name': 'twice'}
    """
    if not cases:
        return {}
    (title, first), *others = cases
    query = {name: first[name] for name in (*SCENARIO, *MONEY) if name in first}
    base = {name: first[name] for name in SCENARIO if name in first}
    query |= {f"a-{NAME}": title} if title else {}
    for letter, (title, picked) in zip(LETTERS, others, strict=False):
        changed = difference(base, {name: picked[name] for name in SCENARIO if name in picked})
        query |= {f"{letter}-{name}": value for name, value in changed.items() if value is not None}
        left = tuple(name for name, value in changed.items() if value is None)
        query |= {f"{letter}-{DEFAULT}": left} if left else {}
        query |= {f"{letter}-{NAME}": title} if title else {}
    return {name: written(value) for name, value in query.items()}


def names(cases: Sequence[Variant], scenarios: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what cases are called: by their letters, and in brackets by their titles or what they change.

    Parameters
    ----------
    scenarios : as the model understood each, which says what an option comes to that is left to it
    """
    differing = [name for name in SCENARIO if any(name in case.changed for case in cases)]
    result = []
    for case, scenario in zip(cases, scenarios, strict=True):
        title = case.title or _title(differing if case.letter == "a" else case.changed, case, scenario)
        result.append(f"{case.letter.upper()} ({title})" if title else case.letter.upper())
    return result


def _title(which: Iterable[str], case: Variant, scenario: Mapping[str, Any]) -> str:
    parts = []
    for name in which:
        value = case.changed.get(name)
        value = scenario.get(field_of(name)) if value is None else value
        if value is not None:
            parts.append(words(name, value))
    more = len(parts) - MOST_PARTS
    return ", ".join(parts[:MOST_PARTS]) + (f" and {more} more" if more > 0 else "")


def words(name: str, value: Any) -> str:
    """Return what an option of a value is called, in short.

    >>> words("gpus", 16), words("inter-link", "ib-edr-100g"), words("overlap", "none")
    ('16 GPUs', 'ib-edr-100g', 'overlap none')
    >>> words("gpus", "1"), words("servers", 1)
    ('1 GPU', '1 server')
    """
    if isinstance(value, bool):
        value = YES_OR_NO[0] if value else YES_OR_NO[1]
    if name in _COUNTED:
        said = _COUNTED[name].format(written(value))
        return said.removesuffix("s") if written(value) == "1" else said
    if options()[name].offers or name in _SPEAK:
        return written(value)
    return f"{name.replace('-', ' ')} {written(value)}"
