"""The Python reference: every name of ``perfmodel.__all__``, and the classes of what the functions answer."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any, get_args

import perfmodel
from docs.site import rst
from docs.site.docstring import Docstring, read
from docs.site.fields import fields
from perfmodel.core.records.options import declared
from perfmodel.core.records.record import Record

FOLDER = "reference/python"
_PARAGRAPH = re.compile(r"\n\s*\n")


def pages() -> dict[str, str]:
    """Return the pages by their path in the site."""
    names = sorted(perfmodel.__all__, key=str.lower)
    result = {f"{FOLDER}/{name}.rst": _page(name) for name in names}
    rows = [(f":doc:`{name} <{name}>`", rst.text(read(getattr(perfmodel, name)).summary)) for name in names]
    result[f"{FOLDER}/index.rst"] = rst.page(
        rst.heading("Python"),
        _text((inspect.getdoc(perfmodel) or "").partition("\n\n")[2]),
        rst.table(("name", "is"), rows),
        ".. toctree::\n   :hidden:\n\n" + "".join(f"   {name}\n" for name in names),
    )
    return result


def _page(name: str) -> str:
    described = getattr(perfmodel, name)
    words = read(described)
    parts = [
        rst.heading(f"perfmodel.{name}"),
        rst.text(words.summary) + "\n",
        rst.code(_signature(name, described), "python"),
        _text(words.body),
        *_parameters(words, described),
        *_section("Returns", words),
        *_public_answers(described),
        *_section("Raises", words),
        *_examples(name, words),
    ]
    if inspect.isclass(described):
        parts += _attributes(described) if not words.entries() else []
        parts += _methods(described)
    for answer in _answers(described):
        parts += [rst.heading(f"Answer: {answer.__name__}", "-"), _text(inspect.getdoc(answer) or "")]
        parts += [*_attributes(answer), *_methods(answer)]
    return rst.page(*parts)


def _signature(name: str, described: Any) -> str:
    try:
        parameters = inspect.signature(described).parameters.values()
    except ValueError:  # an exception's
        return f"perfmodel.{name}(message)"
    each = list(_with_star(parameters, list(map(_parameter, parameters))))
    return f"perfmodel.{name}(" + "".join(f"\n    {one}," for one in each) + "\n)"


def _parameter(parameter: inspect.Parameter) -> str:
    """A parameter as its function writes it."""
    annotation = parameter.annotation
    written = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
    return f"{star}{parameter.name}: {written}{default}"


def _with_star(parameters: Any, texts: list[str]) -> Iterator[str]:
    star = False
    for parameter, text in zip(parameters, texts, strict=True):
        if parameter.kind is parameter.VAR_POSITIONAL:
            star = True
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            star = True
            yield "*"
        yield text


def _text(text: str) -> str:
    blocks = [
        block if block.lstrip().startswith((">>>", ".. ")) else rst.text(block)
        for block in _PARAGRAPH.split(inspect.cleandoc(text))
    ]
    return "\n\n".join(blocks) + "\n" if text.strip() else ""


def _parameters(words: Docstring, described: Any) -> list[str]:
    options = declared(described) if inspect.isclass(described) and words.entries() else {}
    rows = [
        (
            ", ".join(map(rst.literal, entry.names)),
            _of_option(options.get(entry.names[0])),
            rst.text(entry.words),
        )
        for entry in words.entries()
    ]
    return ["**Parameters**\n", rst.definitions(rows)] if rows else []


def _of_option(option: Any) -> str:
    if option is None:
        return ""
    if option.choices:
        return ", ".join(map(rst.literal, option.choices))
    return rst.text(getattr(option.type, "__name__", option.type))


def _section(name: str, words: Docstring) -> list[str]:
    text = words.text(name)
    return [f"**{name}**\n", _text(text)] if text else []


def _examples(name: str, words: Docstring) -> list[str]:
    """The worked examples, with the import of what they call, so that they run as they stand."""
    heading_and_text = _section("Examples", words)
    before, prompt, after = "".join(heading_and_text[1:]).partition(">>> ")
    shown = f"{before}>>> from perfmodel import {name}\n{prompt}{after}" if prompt else before
    return [*heading_and_text[:1], shown] if heading_and_text else []


def _public_answers(described: Any) -> list[str]:
    """Links to the pages of the public classes that a function answers with."""
    links = [f":doc:`{each.__name__} <{each.__name__}>`" for each in _classes(described) if each in _public()]
    return [f"**Answers** {', '.join(links)}\n"] if links else []


def _attributes(described: type) -> list[str]:
    rows = [(f"``{each.name}``", f"``{each.type}``", rst.text(each.words)) for each in fields(described)]
    return [rst.definitions(rows)]


def _methods(described: type) -> list[str]:
    rows = []
    for name, method in inspect.getmembers(described):
        if name.startswith("_") or not getattr(method, "__doc__", None) or hasattr(Record, name):
            continue
        if isinstance(method, property):
            rows.append((f"``{name}``", rst.text(read(method).summary)))
        elif callable(method) and str(getattr(method, "__module__", "")).startswith("perfmodel."):
            rows.append((f"``{name}()``", rst.text(read(method).summary)))
    return [rst.table(("method or property", "gives"), rows)]


def _public() -> set[Any]:
    """The classes that have a page."""
    return {getattr(perfmodel, name) for name in perfmodel.__all__ if name[0].isupper()}


def _answers(described: Any) -> list[type]:
    """The classes of perfmodel that a function answers with, and that have no page."""
    return [each for each in _classes(described) if each not in _public()]


def _classes(described: Any) -> list[type]:
    """The classes of perfmodel that a function answers with."""
    if not inspect.isfunction(described):
        return []
    module = import_module(described.__module__)
    answer = described.__annotations__.get("return")
    answer = eval(answer, vars(module)) if isinstance(answer, str) else answer
    result: dict[type, None] = {}
    waiting = [answer]
    while waiting:
        each = waiting.pop(0)
        if inspect.isclass(each) and each.__module__.startswith("perfmodel."):
            result[each] = None
        waiting += get_args(each)
    return list(result)
