"""Types of public names, functions and the client's calls: ``python -m perfmodel.interfaces.stub``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import reduce
from inspect import Parameter
from operator import or_
from pathlib import Path
from textwrap import indent
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import perfmodel
from perfmodel.core.files.writing import write_whole
from perfmodel.interfaces.command import Command
from perfmodel.interfaces.function import docstring_of, parameters_of
from perfmodel.interfaces.register import OF_HAND, commands

CALLS = Path(__file__).with_name("calls.pyi")
PACKAGE = Path(__file__).parents[1] / "__init__.pyi"
HEAD = '"""Made by ``python -m perfmodel.interfaces.stub`` from the register of commands."""\n'
ALWAYS = (
    "collections.abc.Mapping",
    "collections.abc.Sequence",
    "pathlib.Path",
    "perfmodel.model.options.keywords.Options",
    "perfmodel.model.options.keywords.SizedOptions",
    "typing.Any",
    "typing.Literal",
    "typing.Unpack",
    "typing.overload",
)
"""Names that types may need."""
ALL = "all"
MANY: Any = list[float] | list[int] | list[str] | tuple[float | str, ...]
"""Several values where one is also taken: a text is a sequence too."""
OF_CLIENT = "\n\nclass Calls:\n    def answer_of(self, command: str, given: Mapping[str, Any]) -> Any: ...\n"


def stub() -> str:
    """Return the stub of ``perfmodel.interfaces.calls``."""
    every = [one for one in commands() if one.name not in OF_HAND]
    functions = "".join(
        f"\n{head}def {one.function}({_parameters(one, parameters)}) -> {answer}:\n"
        f"{indent('...' if number else _quoted(docstring_of(one)), '    ')}\n"
        for one in every
        for number, (head, parameters, answer) in enumerate(_calls(one))
        if "python" not in one.without
    )
    methods = "".join(
        f"\n{indent(f'{head}def {one.function}', '    ')}({_parameters(one, parameters, client=True)})"
        f" -> {answer}: ...\n"
        for one in every
        for head, parameters, answer in _calls(one, client=True)
        if "http" not in one.without
    )
    text = f"{functions}{OF_CLIENT}{methods}"
    return f"{HEAD}\n{_imports(every, text)}{text}"


def package_stub() -> str:
    """Return the stub of ``perfmodel``, by which type checkers know its names without running it."""
    homes = sorted((home, name) for name, home in perfmodel._HOMES.items())
    imports = "".join(f"from {home} import {name}\n" for home, name in homes)
    names = "".join(f"    {name!r},\n" for name in perfmodel.__all__)
    return f"{HEAD}\n{imports}\n__version__: str\n_HOMES: dict[str, str]\n__all__ = [\n{names}]\n"


def _calls(one: Command, client: bool = False) -> list[tuple[str, list[Parameter], str]]:
    """Return the decorator, parameters and answer of each way to call a function."""
    named = (one.of_client,) if client and one.of_client else one.answers
    parameters, answers = parameters_of(one), [name.partition(":")[2] for name in named]
    if one.given:
        return _by_what_is_given(parameters, answers, one.given)
    if not one.several:
        return [("", parameters, " | ".join(answers))]
    field = one.fields[one.several]
    others = tuple(word for word in field.choices if word != ALL)
    kinds: Any = (Literal[others], Literal[ALL])
    if field.info.several:
        kinds = (float | str, MANY)
    elif field.default is None:
        kinds = (None, field.type)
    elif ALL not in field.choices:
        kinds = [Literal[word] for word in field.choices]

    def of(kind: Any) -> list[Parameter]:
        taken = field.default is kind or field.default in get_args(kind)
        default = field.default if taken else Parameter.empty
        return [
            each.replace(annotation=kind, default=default) if each.name == one.several else each
            for each in parameters
        ]

    return [("@overload\n", of(kind), answer) for kind, answer in zip(kinds, answers, strict=True)]


def _by_what_is_given(
    parameters: list[Parameter], answers: list[str], given: Mapping[str, tuple[int, ...]]
) -> list[tuple[str, list[Parameter], str]]:
    """Return an overload for each field that says which answer there is, and for none of them."""
    return [
        (
            "@overload\n",
            [
                _required(each) if each.name == field else each
                for each in parameters
                if each.name == field or each.name not in given
            ],
            " | ".join(answers[place] for place in places),
        )
        for field, places in given.items()
    ]


def _required(one: Parameter) -> Parameter:
    kind: Any = Literal[True] if one.default is False else one.annotation
    if one.default is None:
        kind = reduce(or_, (each for each in get_args(kind) if each is not NoneType))
    return one.replace(annotation=kind, default=Parameter.empty)


def _quoted(text: str) -> str:
    return f'"""{text}\n"""'


def _imports(every: Iterable[Command], text: str) -> str:
    """Return the imports of the names that a text uses."""
    names = {*ALWAYS}
    for one in every:
        names |= {name.replace(":", ".") for name in (*one.answers, one.of_client) if name}
        types = (
            kind for each in parameters_of(one) for kind in (each.annotation, *get_args(each.annotation))
        )
        names |= {
            f"{kind.__module__}.{kind.__name__}"
            for kind in types
            if isinstance(kind, type) and kind.__module__.startswith("perfmodel")
        }
    homes: dict[str, list[str]] = {}
    for home, _, name in (full.rpartition(".") for full in sorted(names)):
        if re.search(rf"\b{name}\b", text):
            homes.setdefault(home, []).append(name)
    return "".join(f"from {home} import {', '.join(plain)}\n" for home, plain in homes.items())


def _parameters(one: Command, parameters: Iterable[Parameter], client: bool = False) -> str:
    texts = ["self"] if client else []
    for each in parameters:
        if client and each.name in ("catalogue", "constants"):
            continue
        if each.kind is Parameter.KEYWORD_ONLY and not any(text.startswith("*") for text in texts):
            texts.append("*")
        if each.kind is Parameter.VAR_POSITIONAL:
            texts.append(f"*{each.name}: {_type(each.annotation)}")
            continue
        if each.kind is Parameter.VAR_KEYWORD:
            sized = not any(text.startswith("gpus:") for text in texts)
            keywords = f"Unpack[{'SizedOptions' if sized else 'Options'}]"
            texts.append(f"**options: {'object' if one.crosses else keywords}")
            continue
        default = "" if each.default is Parameter.empty else " = ..."
        texts.append(f"{each.name}: {_type(each.annotation)}{default}")
    return "".join(f"\n        {text}," for text in texts) + "\n    "


def _type(annotation: Any) -> str:
    if annotation in (None, NoneType):
        return "None"
    if get_origin(annotation) in (Union, UnionType):
        return " | ".join(map(_type, get_args(annotation)))
    if get_origin(annotation) is Literal:
        return f"Literal[{', '.join(map(repr, get_args(annotation)))}]"
    name: str = annotation.__name__
    if get_origin(annotation) is None:
        return name
    return f"{name}[{', '.join('...' if each is ... else _type(each) for each in get_args(annotation))}]"


if __name__ == "__main__":
    write_whole(CALLS, stub())
    write_whole(PACKAGE, package_stub())
