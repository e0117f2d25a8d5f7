"""Options of pages: those of the command line, read and checked in the same way."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click

from perfmodel.core.errors import InputError, unknown_name
from perfmodel.core.records.names import word_of
from perfmodel.core.records.options import Offers, declared
from perfmodel.hardware.catalogue.kinds import KINDS
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.dataset import data_sets
from perfmodel.hardware.machine_words import node_words
from perfmodel.interfaces.cli import command_of
from perfmodel.interfaces.cli.options import scenario_from
from perfmodel.interfaces.cli.types import COUNT, Names
from perfmodel.interfaces.register import NAMES
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import SHORT, Scenario
from perfmodel.model.setting.named import LOOKED_UP, id_of
from perfmodel.workloads import names as workload_names

if TYPE_CHECKING:
    from app.file_marks import Kind

LONGEST = 300
"""Most characters of a value in a URL."""

YES_OR_NO = ("yes", "no")
"""Values of a flag with a negative form, in a URL and a widget."""


SAME = "same"
"""Choice of the machines one has."""
Offered = Literal["hardware", "machines", "same or nodes"]
"""Specs of all kinds; nodes and accelerators; ``SAME`` and nodes."""


class Option(NamedTuple):
    """One option of a command, with what its widget needs."""

    name: str
    """Name of the option and of the query parameter."""
    label: str
    choices: tuple[str, ...]
    """Possible values; empty for free text or a number."""
    kind: str
    """Widget: ``choice``, ``radio``, ``choices`` (several), ``pills`` (several of a few, all in view),
    ``whole`` (number), ``slider`` or ``text``."""
    help: str
    parameter: click.Option
    """The option of the command line, which reads and checks values."""
    usual: str = "not set"
    """Placeholder for an option without a value."""
    session: str = ""
    """Key in the session, where two pages use one name with two meanings."""
    largest: int = 0
    """Upper end of a slider."""
    offers: Offers | Offered | None = None
    """What its values name."""
    heading: str = ""
    """Heading in the command line's help."""
    shows: Callable[[str], str] | None = None
    """What a list shows of a choice; by default its words, of an id what people call it."""
    replaces: Kind | None = None
    """Kind of the user's own files that a typed value replaces."""

    @property
    def spellings(self) -> tuple[str, ...]:
        """Names of the query parameter: its own, and former ones that the command line still takes."""
        return (self.name, *(name.removeprefix("--") for name in getattr(self.parameter, "old", ())))

    @property
    def key(self) -> str:
        """Its key in the session."""
        return self.session or self.name


@cache
def options(command: str = "predict") -> dict[str, Option]:
    """Return the options of a command by name, except flags without a negative form."""
    result: click.Command = command_of(command)
    return {
        name: from_parameter(name, parameter)
        for parameter in result.params
        if isinstance(parameter, click.Option) and (parameter.secondary_opts or not parameter.is_flag)
        for name in [parameter.opts[0].removeprefix("--")]
    }


def from_parameter(name: str, parameter: click.Option, **more: Any) -> Option:
    """Return the ``Option`` of a command's parameter; ``more`` replaces fields."""
    kind = parameter.type
    offers: Offers | None = getattr(parameter, "offers", None)
    of: Any = kind.one if isinstance(kind, Names) else kind
    choices = tuple(of.choices) if isinstance(of, click.Choice) else offered(offers, Catalogue.built_in())
    if parameter.is_flag:
        choices = YES_OR_NO
    shown = "choice" if choices else "whole" if kind.name.startswith("integer") else "text"
    if choices and isinstance(kind, Names):
        shown = "choices"
    default = str(parameter.default) if isinstance(parameter.default, str | int | float) else ""
    usual = getattr(parameter, "usual", "") or default
    settled: dict[str, Any] = {
        "label": getattr(parameter, "label", "") or name.replace("-", " ").capitalize(),
        "choices": choices,
        "kind": shown,
        "help": (parameter.help or "").replace("  [default:", " [default:"),
        "usual": _placeholder(usual, shown),
        "offers": offers,
        "heading": getattr(parameter, "heading", ""),
    }
    return Option(name=name, parameter=parameter, **(settled | more))


ROOM = {"whole": 26}
MOST_ROOM = 36
"""Characters of a placeholder that fit a field in the sidebar; a number's field has buttons too."""


def _placeholder(usual: str, kind: str) -> str:
    """Return the placeholder of an empty field: the default, or a hint to the help if that is too long.

    >>> _placeholder("all", "text"), _placeholder("the machine's cores", "whole"), _placeholder("", "text")
    ('all (default)', "the machine's cores", 'not set')
    """
    room = ROOM.get(kind, MOST_ROOM)
    shown = (f"{usual} (default)", usual, "by default, see ?")
    return next(words for words in shown if len(words) <= room) if usual else "not set"


def one_of(name: str, choices: Iterable[str], usual: str, help: str) -> Option:
    """Return an option of a page whose value is one of some words."""
    parameter = click.Option([f"--{name}"], type=click.Choice(tuple(choices)), default=usual, help=help)
    return from_parameter(name, parameter)


def some_of(name: str, choices: Iterable[str], help: str) -> Option:
    """Return an option of a page whose value is any number of some words, joined by commas in the URL."""
    parameter = click.Option([f"--{name}"], help=help)
    return from_parameter(name, parameter, choices=tuple(choices), kind="choices", usual="none")


def text_of(name: str, convert: Any, usual: str, help: str, **more: Any) -> Option:
    """Return an option of a page for free text, which ``convert`` reads or refuses."""
    kind = convert if isinstance(convert, click.ParamType) else click.types.FuncParamType(convert)
    return from_parameter(name, click.Option([f"--{name}"], type=kind, default=usual, help=help), **more)


def whole_of(name: str, help: str, **more: Any) -> Option:
    """Return an option of a page for a whole number from 1."""
    return from_parameter(name, click.Option([f"--{name}"], type=COUNT, help=help), **more)


def offered(offers: Offers | Offered | None, catalogue: Catalogue) -> tuple[str, ...]:
    """Return the names that an option offers from a catalogue; () for an option that takes no names."""
    if offers is None:
        return ()
    if offers == "hardware":
        return tuple(id for kind in KINDS for id in catalogue.ids(kind))
    if offers == "machines":
        return (*machines(catalogue), *accelerators(catalogue))
    if offers == "same or nodes":
        return (SAME, *machines(catalogue))
    if offers in ("workloads", "data sets"):
        return tuple(workload_names() if offers == "workloads" else data_sets())
    if offers in ("accelerators", "nodes"):
        return machines(catalogue) if offers == "nodes" else accelerators(catalogue)
    if offers == "instances":
        return tuple(sorted({offer.instance for offer in catalogue.instances()}))
    scope = "inter" if offers == "links between nodes" else "intra"
    return tuple(id for id in catalogue.ids("links") if catalogue.link(id).scope == scope)


@lru_cache(maxsize=8)
def machines(catalogue: Catalogue) -> tuple[str, ...]:
    """Return the ids of machines by name, of those of one family or name the most common first.

    >>> [id for id in machines(Catalogue.built_in()) if id.startswith("dgx-1")]
    ['dgx-1v', 'dgx-1p', 'dgx-1v-32gb']
    >>> [id for id in machines(Catalogue.built_in()) if id.startswith("dgx-a100")]
    ['dgx-a100-80gb', 'dgx-a100-40gb']
    """
    nodes = {id: catalogue.node(id) for id in catalogue.ids("nodes")}
    first: dict[str, str] = {}
    for id, node in nodes.items():
        names = (node_words(node), node.family or id)
        known = next((first[name] for name in names if name in first), id)
        first |= {name: first.get(name, known) for name in names}
    return tuple(sorted(nodes, key=lambda id: (first[node_words(nodes[id])], not nodes[id].most_common, id)))


@lru_cache(maxsize=8)
def accelerators(catalogue: Catalogue) -> tuple[str, ...]:
    """Return the ids of accelerators by name, of those of one family those with a usual machine first.

    >>> [id for id in accelerators(Catalogue.built_in()) if id.startswith("v100-")]
    ['v100-sxm2-16gb', 'v100-sxm2-32gb', 'v100-sxm3-32gb', 'v100-pcie-16gb']
    """
    chips = {id: catalogue.accelerator(id) for id in catalogue.ids("accelerators")}
    first: dict[str, str] = {}
    for id, chip in chips.items():
        first.setdefault(chip.family or id, id)

    def place(id: str) -> tuple[str, bool, bool, str]:
        chip = chips[id]
        return first[chip.family or id], chip.usual_node is None, not chip.most_common, id

    return tuple(sorted(chips, key=place))


def read(option: Option, text: str) -> Any:
    """Return the session's value for text of a URL or a field: text, a whole number, or several words.

    Raises
    ------
    InputError : the command line would refuse it, or it names a file, which a page takes by upload
    """
    if len(text) > LONGEST:
        raise InputError(f"{len(text)} characters; expected at most {LONGEST}")
    if "empirical" in text:
        raise InputError("a sample of one's own is uploaded on the page Stragglers, not named in a URL")
    if option.kind in ("choices", "pills"):
        words = tuple(dict.fromkeys(text.split(",")))
        return tuple(_known(option, word) for word in words if word)
    if option.kind in ("choice", "radio"):
        return _known(option, text)
    value = convert(option, text)
    return value if option.kind in ("whole", "slider") else text


def _known(option: Option, word: str) -> str:
    word = word if word in option.choices else _meant(option, word)
    if word not in option.choices:
        raise unknown_name(option.name, word, option.choices)
    return word


def _meant(option: Option, word: str) -> str:
    """Return the choice that another name means, as for the command line; an unknown name unchanged."""
    if option.offers in LOOKED_UP:
        return id_of(option.offers, word, Catalogue.built_in())
    if option.offers in ("machines", "same or nodes"):
        return machine_of(word)
    one = getattr(option.parameter.type, "one", option.parameter.type)
    synonyms: Mapping[str, str] = getattr(one, "synonyms", {})
    return word_of(word, option.choices, synonyms)


def machine_of(word: str) -> str:
    """Return the id of a machine or an accelerator by any of its names; an unknown name unchanged.

    >>> machine_of("DGX H100"), machine_of("RTX 4090"), machine_of("abacus")
    ('dgx-h100', 'rtx-4090', 'abacus')
    """
    kinds: tuple[Offers, ...] = ("nodes", "accelerators")
    for kind in kinds:
        with suppress(InputError):
            return id_of(kind, word, Catalogue.built_in())
    return word


def convert(option: Option, text: str) -> Any:
    """Return a text converted to the option's value, as the command line converts it.

    Raises
    ------
    InputError : the command line would refuse it
    """
    try:
        return option.parameter.type.convert(text, option.parameter, None)
    except click.BadParameter as error:
        raise InputError(error.message) from None


def written(value: Any) -> str:
    """Return a value of the session as text for a URL or a shell.

    >>> written(("ring", "tree")), written(32)
    ('ring,tree', '32')
    """
    return ",".join(value) if isinstance(value, tuple) else str(value)


def values(picked: Mapping[str, Any], names: Iterable[str], command: str = "predict") -> dict[str, Any]:
    """Return the converted values of those ``names`` that are chosen, by parameter name of a command."""
    known = options(command)
    return {
        str(known[name].parameter.name): convert(known[name], picked[name])
        if known[name].kind == "text" or known[name].parameter.is_flag
        else picked[name]
        for name in names
        if name in picked and name in known
    }


def scenario(picked: Mapping[str, Any], files: Mapping[str, str] = {}) -> Scenario:
    """Return the scenario of the chosen options, read as by the command line.

    Parameters
    ----------
    picked : chosen options, by name
    files : options that name files -> their paths

    Raises
    ------
    InputError : an invalid value
    """
    return scenario_from(values(picked, SCENARIO) | dict(files))


def as_command(command: str, picked: Mapping[str, Any], more: Iterable[tuple[str, str]] = ()) -> str:
    """Return the shell command with chosen options; ``more`` are options that may be given several times.

    >>> as_command("predict", {"gpus": 8, "jitter": "lognormal:cv=0.05"})
    'perfmodel predict --gpus 8 --jitter lognormal:cv=0.05'
    >>> as_command("predict", {"local-aggregation": "no"})
    'perfmodel predict --no-local-aggregation'
    """
    known = options() | (options(command) if command in NAMES else {})
    words = [word for name, value in (*picked.items(), *more) for word in _words(name, value, known)]
    return shlex.join(["perfmodel", *shlex.split(command), *words])


def file_words(names: Iterable[str]) -> str:
    """Return file names quoted for a shell, with ``./`` before one that begins with a dash.

    >>> file_words(["my step.json", "-a.json"])
    "'my step.json' ./-a.json"
    """
    return shlex.join(f"./{name}" if name.startswith("-") else name for name in names)


def _words(name: str, value: Any, known: Mapping[str, Option]) -> tuple[str, ...]:
    """Return the shell's words for an option and its value; for a flag its positive or negative name."""
    flag = known[name].parameter if name in known else None
    if flag is not None and flag.is_flag:
        return (flag.opts[0] if value == YES_OR_NO[0] else flag.secondary_opts[0],)
    return f"--{name}", written(value)


def as_python(picked: Mapping[str, Any], files: Mapping[str, str] = {}, catalogue: str = "") -> str:
    """Return Python code that predicts the scenario of the chosen options.

    Parameters
    ----------
    picked : chosen options, by name
    files : options that name files -> their names
    catalogue : code of the catalogue, if the user has hardware of their own

    >>> print(as_python({"gpus": 8}))
    from perfmodel import Scenario, predict
    <BLANKLINE>
    answer = predict(Scenario(gpus=8))
    print(answer.iteration_time, answer.terms)
    """
    words = values(picked, SCENARIO) | dict(files)
    return (
        f"from perfmodel import {'Catalogue, ' * bool(catalogue)}Scenario, predict\n\n"
        f"answer = predict(Scenario({arguments(words)}){', ' * bool(catalogue)}{catalogue})\n"
        "print(answer.iteration_time, answer.terms)"
    )


def arguments(words: Mapping[str, Any]) -> str:
    """Return options as code for the arguments of a ``Scenario``, by their short names."""
    short = {field: name for name, field in SHORT.items()}
    return ", ".join(f"{short.get(name, name)}={value!r}" for name, value in words.items())


_DECLARED = tuple(one for one in declared(Scenario).values() if not one.info.file)
"""Options of a scenario, except files, for which a page takes an upload."""
DECLARED = tuple(one.name for one in _DECLARED)
BASIC = tuple(one.name for one in _DECLARED if one.info.basic)
MORE = tuple(one.name for one in _DECLARED if not one.info.basic)
"""Options in the folded section."""
SCENARIO = (*BASIC, *MORE)
MONEY = tuple(one.name for one in declared(Conditions).values())
"""Options for prices, power and failures."""
