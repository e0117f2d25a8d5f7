"""The cases of the page Compare: their differences from the first case, their names and their address."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import click

from app.options import MONEY, SCENARIO, Option, options, some_of, text_of, values, written
from perfmodel.model.options.scenario import field_of, laid_over
from perfmodel.model.prediction.names import network_name

LETTERS = ("b", "c", "d", "e", "f")
"""Letters of the cases after the first, which is ``a``."""
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
    "pricing",
)
"""Options that the form of a case always shows; others appear if the case differs or the user adds them."""
OF_CASE = (*SCENARIO, "pricing")
"""Options in which cases may differ."""
NAME, ALSO, DEFAULT = "name", "also", "default"
"""Parameters of a case, after its letter: its name, options added to its form, and options that it leaves to
the model though the first case sets them."""
LONGEST_NAME = 60
"""Most characters of a name."""
MOST_PARTS = 3
"""Most changed options that a generated name lists."""
NETWORK, FASTER_NETWORK = "25 or 100 Gbit/s?", "100 or 400 Gbit/s?"
QUESTIONS: dict[str, tuple[dict[str, Any], ...]] = {
    NETWORK: tuple(
        {"inter-link": f"ethernet-{name}"} for name in ("25g-tcp", "100g-tcp", "100g-rdma", "25g-rdma")
    ),
    FASTER_NETWORK: tuple({"inter-link": f"ethernet-{rate}-rdma"} for rate in ("100g", "400g")),
}
"""Question -> changes of the scenario in each case that answers it; both rates come with TCP and with RDMA,
as TCP may not fill them."""
_BATCHES = ("local-batch-size", "global-batch-size")
_MACHINE = ("node", "accelerator")
_OF_MACHINES = (*_MACHINE, "intra_link", "world_size", "framework")
"""Options that may differ between machines, beyond those of their network."""


class Variant(NamedTuple):
    """One case of a comparison."""

    letter: str
    title: str
    """Name that the user gave it; empty by default."""
    changed: dict[str, Any]
    """Options that differ from the first case; None leaves one to the model."""

    @property
    def set_argument(self) -> str:
        """The argument of ``perfmodel compare --set``.

        >>> Variant("b", "", {"strategy": "all-reduce", "servers": None}).set_argument
        'strategy=all-reduce,servers=default'
        """
        return ",".join(f"{name}={DEFAULT if v is None else written(v)}" for name, v in self.changed.items())


class _Name(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Type of a case's name: a text of at most ``LONGEST_NAME`` characters."""

    name = "name"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        text = " ".join(str(value).split())
        if len(text) > LONGEST_NAME:
            self.fail(f"{len(text)} characters; expected at most {LONGEST_NAME}")
        return text


def name_option(letter: str) -> Option:
    """Return the option for the name of a case."""
    return text_of(
        f"{letter}-{NAME}",
        _Name(),
        "",
        "Name of the case on the page; by default its changed options.",
        label=f"Name of {letter.upper()}",
    )._replace(usual="its changed options")


@cache
def variant_options(letter: str) -> dict[str, Option]:
    """Return all options of a case after the first, by their names without the letter."""
    same = {
        name: options()[name]._replace(name=f"{letter}-{name}", session=f"{letter}-{name}", usual="same as A")
        for name in OF_CASE
    }
    also = some_of(f"{letter}-{ALSO}", SCENARIO, "More options in which the case may differ.")
    default = some_of(f"{letter}-{DEFAULT}", OF_CASE, "What A sets and this case leaves to the model.")
    return same | {
        ALSO: also._replace(label="Differs also in"),
        DEFAULT: default._replace(label="Left to the model"),
    }


def offered_options(letter: str, stated: Iterable[str], also: Iterable[str]) -> list[Option]:
    """Return the options that a page draws for a case: the usual ones, and others that differ or were added.

    Parameters
    ----------
    letter : of the case
    stated : names of options in the address or the session, with letters
    also : names of options that the user added, without the letter
    """
    every, chosen = variant_options(letter), {*stated, *(f"{letter}-{name}" for name in also)}
    more = [name for name in SCENARIO if name not in USUAL and f"{letter}-{name}" in chosen]
    return [every[name] for name in (*USUAL, *more, ALSO, DEFAULT)]


def variants(picked: Mapping[str, Any]) -> list[Variant]:
    """Return the cases that the chosen options of the page define, the first one included."""
    result = [Variant("a", picked.get(f"a-{NAME}", ""), {})]
    for letter in LETTERS:
        changed = {name: picked[key] for name in OF_CASE if (key := f"{letter}-{name}") in picked}
        changed |= dict.fromkeys(
            name for name in picked.get(f"{letter}-{DEFAULT}", ()) if name not in changed
        )
        title = picked.get(f"{letter}-{NAME}", "")
        if changed or title:
            result.append(Variant(letter, title, changed))
    return result


def full(base: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    """Return all options of a case: the first case's with its changes; either batch size replaces the other.

    >>> full({"gpus": 8, "servers": 2, "global-batch-size": 512}, {"servers": None, "local-batch-size": 32})
    {'gpus': 8, 'local-batch-size': 32}
    """
    return {name: value for name, value in laid_over(base, changed).items() if value is not None}


def own_conditions(case: Variant) -> dict[str, Any]:
    """Return the conditions that a case has for itself; None is one that it leaves to the model."""
    own = {name: value for name, value in case.changed.items() if name not in SCENARIO}
    return dict.fromkeys(own) | values({name: v for name, v in own.items() if v is not None}, own)


def difference(base: Mapping[str, Any], picked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changes that turn one scenario's options into another's by ``full``.

    >>> difference({"gpus": 8, "servers": 2}, {"gpus": 16}), difference({"gpus": 8}, {"gpus": 8})
    ({'gpus': 16, 'servers': None}, {})
    """
    changed = {name: value for name, value in picked.items() if base.get(name) != value}
    if any(name in changed for name in _BATCHES):
        changed |= {name: picked[name] for name in _BATCHES if name in picked}
        return changed | dict.fromkeys(n for n in base if n not in picked and n not in _BATCHES)
    return changed | dict.fromkeys(name for name in base if name not in picked)


def address(cases: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, str]:
    """Return the query of the page Compare for cases, each a title and all its options.

    Prices but their kind, and the length of the run, are taken from the first case.

    >>> address([("", {"gpus": 8, "jitter": "x"}), ("twice", {"gpus": 16})])
    {'gpus': '8', 'jitter': 'x', 'b-gpus': '16', 'b-default': 'jitter', 'b-name': 'twice'}
    """
    if not cases:
        return {}
    (title, first), *others = cases
    query = {name: first[name] for name in (*SCENARIO, *MONEY) if name in first}
    base = {name: first[name] for name in OF_CASE if name in first}
    query |= {f"a-{NAME}": title} if title else {}
    for letter, (title, picked) in zip(LETTERS, others, strict=False):
        changed = difference(base, {name: picked[name] for name in OF_CASE if name in picked})
        query |= {f"{letter}-{name}": value for name, value in changed.items() if value is not None}
        left = tuple(name for name, value in changed.items() if value is None)
        query |= {f"{letter}-{DEFAULT}": left} if left else {}
        query |= {f"{letter}-{NAME}": title} if title else {}
    return {name: written(value) for name, value in query.items()}


def names(cases: Sequence[Variant], scenarios: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of cases: letters, with titles or changed options in brackets.

    Parameters
    ----------
    cases : of the comparison
    scenarios : resolved scenario of each, with the values of options left to the model
    """
    differing = [name for name in OF_CASE if any(name in case.changed for case in cases)]
    result = []
    for case, scenario in zip(cases, scenarios, strict=True):
        title = case.title or _title(differing if case.letter == "a" else case.changed, case, scenario)
        result.append(f"{case.letter.upper()} ({title})" if title else case.letter.upper())
    return result


def by_letters(text: str, names: Iterable[str], said: bool = False) -> str:
    """Return text with the names of cases as letters, each introduced behind the first mention of its case.

    Parameters
    ----------
    text : with names
    names : by ``names``
    said : whether the names were mentioned before, so that letters stand everywhere

    >>> by_letters("Take B (16 GPUs): B (16 GPUs) is faster than A", ["A", "B (16 GPUs)"])
    'Take 16 GPUs (B): B is faster than A'
    """
    from perfmodel.decide.comparison.comparison_words import title

    for name in names:
        letter = name.partition(" ")[0]
        before, mentioned, after = ("", "", text) if said else text.partition(name)
        called = title(letter, name)
        introduced = f"{called} ({letter})" if mentioned and called else mentioned
        text = f"{before}{introduced}{after.replace(name, letter)}"
    return text


def question(differ: Iterable[str], first: Mapping[str, Any]) -> str:
    """Return the question that a comparison answers.

    Parameters
    ----------
    differ : options in which the cases differ
    first : resolved scenario of the first case

    >>> question(["inter_link"], {"workload": "resnet50"}), question(["world_size"], {"workload": "vgg16"})
    ('Which network is best for ResNet-50?', 'How many GPUs are best for VGG-16?')
    """
    from perfmodel.decide.comparison.reasons import NETWORK

    options, network = {*differ}, {*NETWORK}
    best = "Which case is best"
    if options == {"world_size"}:
        best = "How many GPUs are best"
    elif options == {"framework"}:
        best = "Which software is best"
    elif options and options <= network:
        best = "Which network is best"
    elif options & {*_MACHINE} and options <= {*_OF_MACHINES} | network:
        best = "Which machine is best"
    return f"{best} for {network_name(first['workload'])}?"


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
    """Return short text for an option with a value, as ``option_words`` does.

    >>> words("gpus", 16), words("inter-link", "ib-edr-100g"), words("overlap", "none")
    ('16 GPUs', 'InfiniBand EDR 100 Gbit/s', 'overlap none')
    """
    from perfmodel.decide.comparison.option_words import option_words

    return option_words(field_of(name), value if isinstance(value, bool) else written(value))
