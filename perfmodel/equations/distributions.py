"""Make distributions from names and parameters, as options state them, and check them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from perfmodel.core import units
from perfmodel.core.errors import InputError, refusal, unknown_name
from perfmodel.core.files.attachments import attached
from perfmodel.core.files.reading import read_text
from perfmodel.equations.distribution import Distribution, Empirical
from perfmodel.equations.laws import LAWS

LARGEST_SAMPLE = 16 << 20
"""Largest size of a file of measured times [B]: about a million of them."""
TIME_COLUMNS = ("iteration_time", "step_time", "time", "seconds")
"""Names of a table's column of times; the first that exists is read."""

__all__ = ["Distribution", "Empirical", "distribution", "parse_distribution"]


def distribution(name: str, **parameters: float | str | Path | Sequence[float]) -> Distribution:
    """Return the distribution of that law and parameters, after checking them.

    Parameters
    ----------
    name : a key of ``LAWS``, or ``empirical``
    parameters : the law's own (``LAWS[name].parameters``); for ``empirical`` a ``file`` or a ``sample``

    Raises
    ------
    InputError : the law or a parameter is unknown, a parameter is missing, or the law does not allow its
        value

    Examples
    --------
    A mean of 1 is the default, so a jitter is its coefficient of variation.

    >>> str(distribution("lognormal", cv=0.05))
    'lognormal:mean=1,cv=0.05'
    """
    if name == "empirical":
        return _empirical(parameters)
    if name not in LAWS:
        raise unknown_name("distribution", name, [*LAWS, "empirical"])
    law = LAWS[name]
    for key in parameters:
        if key not in law.parameters:
            raise refusal(
                "distribution.no_parameter", str(key), name=name, key=key, known=tuple(law.parameters)
            )
    given = dict(law.defaults) | parameters
    missing = [key for key in law.parameters if key not in given]
    if missing:
        raise refusal("distribution.missing", name=name, known=tuple(missing), missing=missing[0])
    values = tuple(_number(name, key, given[key]) for key in law.parameters)
    for key, value in zip(law.parameters, values, strict=True):
        if key in law.positive and value <= 0:
            raise refusal("distribution.not_positive", str(key), name=name, key=key, value=value)
    if problem := law.check(*values):
        raise refusal("distribution.invalid", name=name, problem=problem)
    return Distribution(name, values)


class _Place(NamedTuple):
    """Position of a number in a file, for error messages."""

    file: Path
    line: int
    column: int | str
    """Position of its first character in a list, or name of its column in a table."""

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}, column {self.column}"


def _number(law: str, key: object, value: object) -> float:
    """Return a parameter as a number; InputError if it is none, infinite or out of range."""
    number = units.number(value)
    if isinstance(value, bool) or not math.isfinite(number):
        raise refusal("distribution.not_finite", str(key), law=law, key=key, value=value)
    if number and not 1e-30 <= abs(number) <= 1e30:
        raise refusal("distribution.range", str(key), law=law, key=key, value=value)
    return number


def _empirical(parameters: dict[str, Any]) -> Empirical:
    """Return the distribution of a file or sample of times; InputError if it has none or negative ones."""
    if set(parameters) == {"file"}:
        source = str(parameters["file"])
        values: list[tuple[object, object]] = _read_sample(Path(source))
    elif set(parameters) == {"sample"}:
        source, values = "sample", [("sample", value) for value in parameters["sample"]]
    else:
        raise refusal("distribution.no_file")
    if not values:
        raise refusal("distribution.no_times", source=source)
    numbers = sorted(_number("empirical", place, value) for place, value in values)
    if numbers[0] < 0 or numbers[-1] <= 0:
        raise refusal("distribution.negative_times", source=source, numbers=numbers[0])
    return Empirical("empirical", (), tuple(numbers), source)


def _read_sample(path: Path) -> list[tuple[object, object]]:
    """Return the numbers of a file as text, each with its position."""
    try:
        attached(path)  # a request of the service can read only attached files
        text = read_text(path, LARGEST_SAMPLE)
    except InputError as error:
        raise error.under(said="empirical") from None
    bare = enumerate((raw.split("#", 1)[0] for raw in text.splitlines()), 1)
    lines = [(number, line) for number, line in bare if line.strip()]
    heading = _cells(lines[0][1]) if lines else []
    name = next((name for name in TIME_COLUMNS if name in heading), None)
    if name is None:
        words = ((number, word) for number, line in lines for word in re.finditer(r"[^,;\s]+", line))
        return [(_Place(path, number, word.start() + 1), word[0]) for number, word in words]
    at = heading.index(name)
    return [(_Place(path, number, name), "".join(_cells(line)[at : at + 1])) for number, line in lines[1:]]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"[,;\t]", line)]


def parse_distribution(spec: str) -> Distribution:
    """Return the distribution that a text ``name:key=value,key=value`` or ``empirical:FILE`` describes.

    Raises
    ------
    InputError : the text has another form, or ``distribution`` refuses the parameters

    Examples
    --------
    >>> parse_distribution("two-point:slow=3,probability=0.01").mean
    1.02
    """
    name, _, rest = spec.strip().partition(":")
    if name == "empirical":
        return distribution(name, file=rest) if rest else distribution(name)
    parameters: dict[str, float | str | Path | Sequence[float]] = {}
    for pair in filter(None, rest.split(",")):
        key, equals, value = pair.partition("=")
        if not equals:
            raise refusal("distribution.malformed", spec=spec, pair=pair)
        if key.strip() in parameters:
            raise refusal("distribution.twice", spec=spec, strip=key.strip())
        parameters[key.strip()] = value.strip()
    return distribution(name, **parameters)
