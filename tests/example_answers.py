"""Keeps the answers that the service's document shows true: what the examples of its requests are answered.

``python -m tests.example_answers`` writes them anew, as ``make readme`` does.
"""

from __future__ import annotations

import json
import math
from typing import Any

from perfmodel.interfaces.service.batches import BATCHES
from perfmodel.interfaces.service.commands import COMMANDS, answer
from perfmodel.interfaces.service.example_answers import FILE

LONGEST = 5_500
"""Bytes of an answer that is shown whole."""
KEPT = 2
"""Entries of each list of a longer one, and rows of each table."""
DIGITS = 9
"""Of numbers: beyond, machines may differ."""


def made() -> dict[str, dict[str, Any]]:
    """Return the answers by command and the words of the request, as OpenAPI writes examples."""
    return {name: {words: _example(name, body) for words, body in bodies(name).items()} for name in COMMANDS}


def bodies(name: str) -> dict[str, Any]:
    """Return the bodies that the document shows of a command."""
    return dict(COMMANDS[name].examples) | (BATCHES if name == "predict" else {})


def _example(name: str, body: Any) -> dict[str, Any]:
    return example_of(answer(name, json.dumps(body).encode()))


def example_of(text: bytes) -> dict[str, Any]:
    """Return the example that an answer makes."""
    value = rounded(json.loads(text))
    if len(text) <= LONGEST:
        return {"value": value}
    return {"description": f"Of each list and table the first {KEPT} entries.", "value": shortened(value)}


def differences(one: Any, other: Any, place: str = "") -> list[str]:
    """Return where two answers differ by more than machines do."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return [each for key in one for each in differences(one[key], other[key], f"{place}.{key}")]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return [each for n, pair in pairs for each in differences(*pair, f"{place}.{n}")]
    if isinstance(one, float) and isinstance(other, float) and math.isclose(one, other, rel_tol=1e-6):
        return []
    return [] if one == other else [f"{place}: {one!r:.60} and {other!r:.60}"]


def shortened(value: Any) -> Any:
    """Return an answer with the beginning of each list, and of each table whose rows have names."""
    if isinstance(value, list):
        return [shortened(inner) for inner in value[:KEPT]]
    if not isinstance(value, dict):
        return value
    most = KEPT if _is_table(value) else len(value)
    return {key: shortened(inner) for key, inner in list(value.items())[:most]}


def _is_table(value: dict[str, Any]) -> bool:
    """Whether values are rows of the same columns."""
    rows = [frozenset(inner) for inner in value.values() if isinstance(inner, dict)]
    return len(rows) == len(value) > KEPT and len({*rows}) == 1


def rounded(value: Any) -> Any:
    """Return an answer with numbers to so many digits."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def write() -> None:
    """Write the file that comes with the package."""
    FILE.write_text(json.dumps(made(), indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    write()
