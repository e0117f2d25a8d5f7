"""The fields of an answer's class, with their types and what the class says of each."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from typing import Any, NamedTuple

from perfmodel.core.records.options import declared
from perfmodel.core.vocabulary import QUANTITIES
from perfmodel.model.options.scenario import Scenario

_ENDS = {
    f"{end}_{level}": f"{word} end of the {level} % interval."
    for end, word in (("low", "Lower"), ("high", "Upper"))
    for level in (80, 95)
}
"""What the ends of an interval are called, in every answer that has one."""


class Field(NamedTuple):
    """One attribute."""

    name: str
    type: str
    """As its class writes it."""
    words: str
    """What its class says of it, else what the name means everywhere; with its unit, where it has one."""


def fields(described: type) -> list[Field]:
    """Return the public attributes that a class declares, those of its bases first.

    >>> from perfmodel.model.prediction.result import Interval
    >>> [field.name for field in fields(Interval)][:2]
    ['low_80', 'high_80']
    """
    result: dict[str, Field] = {}
    for base in reversed(described.__mro__):
        if base.__module__.startswith("perfmodel."):
            result |= {field.name: field for field in _own(base)}
    return [field._replace(words=_with_unit(field)) for field in result.values()]


def _with_unit(field: Field) -> str:
    quantity = QUANTITIES.get(field.name)
    words = field.words or _ENDS.get(field.name, "")
    if not words and quantity:
        words = f"{quantity.meaning[:1].upper()}{quantity.meaning[1:]}."
    if not words and field.name in declared(Scenario):
        words = declared(Scenario)[field.name].words
    stated = quantity is None or "[" in words or not re.search(r"\b(float|int)\b", field.type)
    return words if stated or quantity.unit == "1" else f"{words.removesuffix('.')} [{quantity.unit}]."


def _own(described: type) -> list[Field]:
    try:
        source = textwrap.dedent(inspect.getsource(described))
    except (OSError, TypeError):
        return []  # made by a function, not written
    (tree,) = ast.parse(source).body
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    result = []
    for statement, after in zip(body, [*body[1:], None], strict=True):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        name = statement.target.id
        if not name.startswith("_") and "ClassVar" not in ast.unparse(statement.annotation):
            result.append(Field(name, _type(statement.annotation), _words(after)))
    return result


def _type(annotation: ast.expr) -> str:
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Annotated":
        inner: Any = annotation.slice
        return ast.unparse(inner.elts[0])
    return ast.unparse(annotation)


def _words(statement: ast.stmt | None) -> str:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return " ".join(str(statement.value.value).split())
    return ""
