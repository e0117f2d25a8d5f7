"""Types of the functions and of the client's calls, for editors: ``python -m perfmodel.interfaces.stub``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from inspect import Parameter
from pathlib import Path
from textwrap import indent
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from perfmodel.core.files.writing import write_whole
from perfmodel.interfaces.command import Command
from perfmodel.interfaces.function import docstring_of, parameters_of
from perfmodel.interfaces.register import commands

FILE = Path(__file__).with_name("calls.pyi")
HEAD = '"""Made by ``python -m perfmodel.interfaces.stub`` from the register of commands."""\n'
ALWAYS = (
    "collections.abc.Mapping",
    "collections.abc.Sequence",
    "perfmodel.model.options.keywords.SizedOptions",
    "typing.Any",
    "typing.Literal",
    "typing.Unpack",
)
"""Names that types may need."""
OF_CLIENT = "\n\nclass Calls:\n    def answer_of(self, command: str, given: Mapping[str, Any]) -> Any: ...\n"


def stub() -> str:
    """Return the stub of ``perfmodel.interfaces.calls``."""
    every = commands()
    functions = "".join(
        f"\ndef {one.function}({_parameters(parameters_of(one))}) -> {_answer(one)}:\n"
        f"{indent(_quoted(docstring_of(one)), '    ')}\n"
        for one in every
        if "python" not in one.without
    )
    methods = "".join(
        f"\n    def {one.function}({_parameters(parameters_of(one), client=True)}) -> {_answer(one)}: ...\n"
        for one in every
        if "http" not in one.without
    )
    text = f"{functions}{OF_CLIENT}{methods}"
    return f"{HEAD}\n{_imports(every, text)}{text}"


def _quoted(text: str) -> str:
    return f'"""{text}\n"""'


def _imports(every: Iterable[Command], text: str) -> str:
    """Return the imports of the names that a text uses."""
    names = {*ALWAYS}
    for one in every:
        names |= {name.replace(":", ".") for name in one.answers}
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


def _parameters(parameters: Iterable[Parameter], client: bool = False) -> str:
    texts = ["self"] if client else []
    for each in parameters:
        if client and each.name in ("catalogue", "constants"):
            continue
        if each.kind is Parameter.KEYWORD_ONLY and "*" not in texts:
            texts.append("*")
        if each.kind is Parameter.VAR_KEYWORD:
            texts.append("**options: Unpack[SizedOptions]")
            continue
        default = "" if each.default is Parameter.empty else " = ..."
        texts.append(f"{each.name}: {_type(each.annotation)}{default}")
    return "".join(f"\n        {text}," for text in texts) + "\n    "


def _type(annotation: Any) -> str:
    if annotation is NoneType:
        return "None"
    if get_origin(annotation) in (Union, UnionType):
        return " | ".join(map(_type, get_args(annotation)))
    if get_origin(annotation) is Literal:
        return f"Literal[{', '.join(map(repr, get_args(annotation)))}]"
    name: str = annotation.__name__
    if get_origin(annotation) is None:
        return name
    return f"{name}[{', '.join('...' if each is ... else _type(each) for each in get_args(annotation))}]"


def _answer(one: Command) -> str:
    return " | ".join(name.partition(":")[2] for name in one.answers)


if __name__ == "__main__":
    write_whole(FILE, stub())
