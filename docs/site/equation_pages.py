"""A page for each module of ``perfmodel.equations``, made from the docstrings of its formulas."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple

import perfmodel.equations
from docs.site import rst
from docs.site.docstring import Docstring, Entry, read
from docs.site.equation_lines import lines
from perfmodel.core.formula import FORMULAS, Formula
from perfmodel.core.vocabulary import QUANTITIES
from perfmodel.decide.explanations.equations import own_symbol
from perfmodel.decide.explanations.plain_math import greek
from perfmodel.decide.explanations.sources import cited, references

PACKAGE = "perfmodel.equations"
FOLDER = "equations"
_SYMBOL = re.compile(r"([A-Za-z](?:_\w+)?|[a-z]+(?:_\w+)?(?= *(?:,|$))|[A-Z][a-z]*_\w+)(?=,|$| \[)")
_SPELLED = (
    ("all reduce", "all-reduce"),
    ("all gather", "all-gather"),
    ("all to all", "all-to-all"),
    ("reduce scatter", "reduce-scatter"),
    ("nccl", "NCCL"),
)
"""Words of names that are written otherwise."""
_OWN = (
    "of this model: no publication is cited, because it follows from what its quantities mean, or is a form "
    "that was chosen to meet :doc:`measured runs </accuracy/report>`."
)


def by_module() -> dict[str, list[tuple[str, Formula]]]:
    """Return every formula by the module of ``perfmodel.equations`` that defines it, in the order written."""
    for module in pkgutil.walk_packages(perfmodel.equations.__path__, f"{PACKAGE}."):
        import_module(module.name)
    result: dict[str, list[tuple[str, Formula]]] = {}
    for name, entry in FORMULAS.items():
        home = entry.function.__module__
        if home.startswith(f"{PACKAGE}."):
            result.setdefault(home.removeprefix(f"{PACKAGE}."), []).append((name, entry))
    return dict(sorted(result.items()))


class Users(NamedTuple):
    """What uses each formula, by its name."""

    commands: Mapping[str, Sequence[str]]
    """Command lines that ran it."""
    modules: Mapping[str, Sequence[str]]
    """Modules of perfmodel by which it is reached."""
    elsewhere: Mapping[str, str] = MappingProxyType({})
    """What those are for that no command runs; reStructuredText."""


def pages(users: Users) -> dict[str, str]:
    """Return the pages by their path in the site."""
    modules = by_module()
    result = {f"{FOLDER}/{module}.rst": _page(module, each, users) for module, each in modules.items()}
    result[f"{FOLDER}/index.rst"] = _index(modules)
    result[f"{FOLDER}/sources.rst"] = _sources(modules)
    return result


def _index(modules: Mapping[str, list[tuple[str, Formula]]]) -> str:
    count = sum(map(len, modules.values()))
    rows = [
        (f":doc:`{_title(module)} <{module}>`", _summary(module), str(len(each)))
        for module, each in modules.items()
    ]
    return rst.page(
        rst.heading("Equations"),
        f"All {count} formulas that predictions are made of, each with its symbols, units, source and a "
        "worked example, and each page with where its equations hold. The pages are generated from the "
        "functions that compute: the equation beside a function is the one that runs. "
        "``perfmodel explain`` prints those of one prediction with its numbers, ``perfmodel cite`` "
        "their sources.\n",
        rst.table(("page", "about", "formulas"), rows),
        ":doc:`Every publication the formulas cite <sources>`\n",
        ".. toctree::\n   :hidden:\n\n" + "".join(f"   {module}\n" for module in [*modules, "sources"]),
    )


def _title(name: str) -> str:
    """The name of a module or a formula in words.

    >>> _title("direct_all_reduce"), _title("nccl_graph")
    ('Direct all-reduce', 'NCCL graph')
    """
    words = name.replace("_", " ")
    for written, read_as in _SPELLED:
        words = re.sub(rf"\b{written}\b", read_as, words)
    return words[:1].upper() + words[1:]


def _summary(module: str) -> str:
    return rst.text(_words(module).summary)


def _words(module: str) -> Docstring:
    return read(import_module(f"{PACKAGE}.{module}"))


def _page(module: str, each: list[tuple[str, Formula]], users: Users) -> str:
    words = _words(module)
    parts = [f".. _equations-{module}:\n", rst.heading(_title(module))]
    parts += [_paragraphs(words.summary), _paragraphs(words.body)]
    parts += [rst.heading("Validity", "-"), _paragraphs(words.text("Validity"))]
    for name, entry in each:
        parts += _formula(name, entry, users)
    return rst.page(*parts)


def _formula(name: str, entry: Formula, users: Users) -> list[str]:
    words = read(entry.function)
    symbols = [row for line in words.entries() for row in _rows(entry.function, line)]
    raised = " ".join(words.text("Raises").split())
    return [
        f".. _{name}:\n",
        rst.heading(_title(name.partition(".")[2]), "-"),
        rst.text(words.summary) + "\n",
        f".. math:: {lines(words.latex)}\n" if words.latex else "",
        _paragraphs(words.body),
        rst.table(("symbol", "name", "unit", "meaning, and where it holds"), symbols, "symbols"),
        f"**Gives** {rst.text(' '.join(words.text('Returns').split()))}\n" if words.text("Returns") else "",
        f"**Refuses** {rst.text(raised)}\n" if raised else "",
        "**Example**\n" if words.text("Examples") else "",
        _example(entry.function, words.text("Examples")),
        "**Source** " + ("; ".join(_source(key) for key in entry.cites) or _OWN) + "\n",
        _used(name, users),
        f"**In Python** ``{entry.function.__module__}.{entry.function.__name__}``"
        + ("" if entry.symbolic else ", of numbers: it does not take symbols")
        + "\n",
    ]


def _rows(function: Callable[..., Any], line: Entry) -> list[tuple[str, str, str, str]]:
    result = []
    for place, name in enumerate(line.names):
        quantity = QUANTITIES.get(name)
        symbol = own_symbol(function, name) or _bare_symbol(line, place)
        if not symbol and quantity and line.unit:
            symbol = quantity.symbol
        meaning = quantity.meaning if quantity else ""
        note = line.note if line.unit else re.sub(r"^" + _SYMBOL.pattern + r",? ?", "", line.words).strip()
        said = note if _repeats(meaning, note) else "; ".join(part for part in (meaning, note) if part)
        unit = line.unit or (quantity.unit if quantity else "")
        result.append((f":math:`{symbol}`" if symbol else "", f"``{name}``", rst.text(unit), rst.text(said)))
    return result


def _repeats(meaning: str, note: str) -> bool:
    """Whether a note says in its own words what the vocabulary says."""
    words = {word for word in re.findall(r"[a-z]+", meaning) if word not in ("of", "a", "the", "one", "and")}
    return 2 * len(words & set(re.findall(r"[a-z]+", note))) >= len(words)


def _bare_symbol(line: Entry, place: int) -> str:
    """The symbol of a line without a unit, as ``order : k, in 1..n``."""
    match = None if line.unit or place else _SYMBOL.match(line.words)
    return greek(match[1]) if match else ""


def _paragraphs(text: str) -> str:
    """Text of a docstring, whose equations stay."""
    blocks = [
        block if block.startswith(".. ") else rst.text(block) for block in re.split(r"\n\s*\n", text.strip())
    ]
    return "\n\n".join(blocks) + "\n" if text.strip() else ""


def _example(function: Callable[..., Any], text: str) -> str:
    """The worked example of a formula, with what is imported for it, so that it runs as it stands."""
    blocks = re.split(r"\n\s*\n", inspect.cleandoc(text))
    code = [place for place, block in enumerate(blocks) if block.startswith(">>>")]
    shown = [block if place in code else rst.text(block) for place, block in enumerate(blocks)]
    if code:
        names = re.findall(r"\b[A-Za-z_]\w*", "\n".join(blocks[place] for place in code))
        shown[code[0]] = _imports(import_module(function.__module__), names) + shown[code[0]]
    return "\n\n".join(shown) + "\n" if text else ""


def _imports(module: ModuleType, names: Sequence[str]) -> str:
    """Lines that import those of some names that a module has."""
    values = {name: getattr(module, name) for name in sorted(set(names)) if hasattr(module, name)}
    own = [name for name, value in values.items() if not isinstance(value, ModuleType)]
    others = [value.__name__.rpartition(".") for value in values.values() if isinstance(value, ModuleType)]
    lines = [f"from {home} import {name}" if home else f"import {name}" for home, _, name in others]
    lines += [f"from {module.__name__} import {', '.join(own)}"] if own else []
    return "".join(f">>> {line}\n" for line in lines)


def _source(key: str) -> str:
    entry = references()[key]
    return rst.link(cited(key), entry["url"]) if entry.get("url") else rst.text(cited(key))


def _used(name: str, users: Users) -> str:
    lines, modules = users.commands.get(name, ()), users.modules.get(name, ())
    if lines:
        return "**Runs in**\n\n" + rst.code("\n".join(lines), "none")
    if name in users.elsewhere:
        return f"**Used** {users.elsewhere[name]}\n"
    return f"**Reached from** {', '.join(map(rst.literal, modules))}\n" if modules else ""


def _sources(modules: Mapping[str, list[tuple[str, Formula]]]) -> str:
    users: dict[str, list[str]] = {}
    for each in modules.values():
        for name, entry in each:
            for key in entry.cites:
                users.setdefault(key, []).append(name)
    rows = [
        (_source(key), ", ".join(f":ref:`{name} <{name}>`" for name in users[key]))
        for key in sorted(users, key=lambda key: cited(key).lower())
    ]
    return rst.page(
        rst.heading("Sources of the equations"),
        f"The {len(rows)} publications that formulas cite, and which formulas. "
        "``perfmodel cite --bibtex`` prints those of one prediction as BibTeX.\n",
        rst.table(("publication", "formulas"), rows),
    )
