"""Where in the body of a request a mistake lies: the path of its keys, as the body has them.

>>> place_spoken_of({"node": "dgx-1v", "gpus": -1}, "gpus = -1: expected greater than or equal to 1")
('gpus',)
>>> place_spoken_of({"conditions": {"region": "atlantis"}}, "no known price of dgx-1v in 'atlantis'")
('conditions', 'region')
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from perfmodel.errors import LONGEST_NAME, shortened
from perfmodel.problem import Problem
from perfmodel.specs.scenario import field_of

Place = tuple[str | int, ...]
MOST_NODES = 5000
"""Keys and members of a body that are looked at."""
_SHORTEST = 3
"""Letters of the beginning of a text by which a message may call it."""
_PHRASES = {"global_batch_size": "global batch", "world_size": "GPUs"}
"""What messages call a field besides by its name."""
_COMMAND = re.compile(r"`[^`]*`")
"""Of a message, which is about no key that it names."""


class _Node(NamedTuple):
    place: Place
    key: str
    """The last key above it."""
    value: Any


def written(place: Sequence[str | int]) -> str | None:
    """Return a place as errors say it, keys and numbers joined by dots; None of the whole body."""
    return ".".join(map(str, place)) if place else None


def value_at(body: Any, place: Sequence[str | int]) -> Any:
    """Return what stands at a place of a body; None where nothing does."""
    for part in place:
        try:
            body = body[part]
        except (KeyError, IndexError, TypeError):
            return None
    return body


def place_of(body: Mapping[str, Any], problem: Problem, known: Collection[str] = ()) -> Place | None:
    """Return the place of a body that a problem is about; None where it has none.

    Parameters
    ----------
    known : keys that the body might have

    >>> place_of({"a": {"nodes": 0}}, Problem("value.invalid", (("b", "nodes"),), {"given": 0}))
    ('a', 'nodes')
    """
    given = problem.values.get("given", problem.values.get("name"))
    nodes = [_Node((), "", body), *_nodes(body)]
    if problem.code == "value.missing":
        *above, key = problem.fields[0]
        tables = _at_end(nodes, above) or nodes
        table = next((node for node in tables if _equal(node.value, given)), tables[0])
        return (*table.place, key)
    ends = next((ends for path in problem.fields if (ends := _at_end(nodes, path))), [])
    for end in ends:
        if given is None or _equal(end.value, given):
            return end.place
    inside = [node for node in nodes if not ends or node.place[: len(ends[0].place)] == ends[0].place]
    same = [node for node in inside if given is not None and (_equal(node.value, given) or node.key == given)]
    if same and problem.code != "field.unknown":
        called = problem.values.get("called")
        return min(same, key=lambda node: called not in _names(node.key)).place
    possible = (path for path in problem.fields if path[:1] and path[0] in known)
    return ends[0].place if ends else next(possible, None)


def _at_end(nodes: Sequence[_Node], path: Sequence[str | int]) -> list[_Node]:
    """The parts of a body where a path ends, or as much of its end as the body has."""
    fields = tuple(map(_field, path))
    for start, stop in _parts(len(path)):
        part = fields[start:stop]
        ends = [node for node in nodes if tuple(map(_field, node.place[-len(part) :])) == part]
        if stop < len(path):
            ends = [node for node in ends if isinstance(node.value, str)]  # which is what holds the rest
        if ends:
            return ends
    return []


def _parts(length: int) -> Iterator[tuple[int, int]]:
    """Where parts of a path start and stop, those first that are longest."""
    for start in range(length):
        for stop in range(length, start, -1):
            yield start, stop


def _field(part: str | int) -> str | int:
    return field_of(part) if isinstance(part, str) else part


def place_spoken_of(body: Mapping[str, Any], message: str, known: Collection[str] = ()) -> Place | None:
    """Return the place that a message is about: what it begins with, quotes or names; None where none is.

    Parameters
    ----------
    known : keys that the body might have, of which a message may ask for one
    """
    message = _COMMAND.sub("", message)
    nodes = list(_nodes(body))
    begins = [node for node in nodes if _begins(node, message)]
    quoted = [node for node in nodes if _quotes(node, message)]
    if begins:
        inside = [node for node in quoted if node.place[: len(begins[0].place)] == begins[0].place]
        return (inside or begins)[-1 if inside else 0].place
    if quoted:
        return quoted[0].place
    asked = re.match(r"give (\w+)", message)
    if asked and asked[1] in known and asked[1] not in body:
        return (asked[1],)
    for phrases in (False, True):
        spoken = [(at, node.place) for node in nodes if (at := _spoken(node, message, phrases)) >= 0]
        if spoken:
            return min(spoken, key=lambda each: each[0])[1]
    named = [node for node in nodes if isinstance(node.value, str) and _holds_word(message, node.value)]
    if named:
        return max(named, key=lambda node: len(node.value)).place
    first = re.match(rf"[\w-]{{{_SHORTEST},{LONGEST_NAME}}}", message)
    begun = [node for node in nodes if first and str(node.value).startswith(first[0])]
    if begun:
        return begun[0].place
    return tuple(body) if len(body) == 1 else None


def _nodes(body: Any) -> Iterator[_Node]:
    """Yield the parts of a body level by level."""
    level = [_Node((), "", body)]
    count = 0
    while level:
        below = []
        for node in level:
            inner: Iterator[tuple[str | int, Any]]
            if isinstance(node.value, Mapping):
                inner = iter(node.value.items())
            elif isinstance(node.value, list):
                inner = enumerate(node.value)
            else:
                continue
            for part, value in inner:
                if (count := count + 1) > MOST_NODES:
                    return
                one = _Node((*node.place, part), part if isinstance(part, str) else node.key, value)
                below.append(one)
                yield one
        level = below


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, tuple):
        other = list(other)
    numbers = {type(one), type(other)} == {int, float}
    return one is other or ((type(one) is type(other) or numbers) and one == other)


def _names(key: str) -> tuple[str, ...]:
    """What messages call a key: it, the field that it means, and one of several."""
    return tuple(dict.fromkeys((key, field_of(key), key.removesuffix("s"))))


def _begins(node: _Node, message: str) -> bool:
    if not isinstance(node.place[-1], str) or len(node.key) > LONGEST_NAME:
        return False
    return any(
        message.startswith((f"{name} ", f"{name}:", f"{name}. ", f"{name}, ", f"unknown {name} "))
        for name in _names(node.key)
    )


def _quotes(node: _Node, message: str) -> bool:
    if isinstance(node.place[-1], str) and len(node.place) > 1 and repr(shortened(node.key)) in message:
        return True
    value = node.value
    if isinstance(value, str):
        return bool(value) and repr(shortened(value)) in message
    return type(value) in (int, float) and abs(value) < 1e15 and f"'{float(value)}'" in message


def _spoken(node: _Node, message: str, phrases: bool) -> int:
    """Where a message says the key of a node, or what else it calls it; -1 where it does not."""
    if not isinstance(node.place[-1], str) or len(node.key) > LONGEST_NAME:
        return -1
    field = field_of(node.key)
    words = (field.replace("_", " "), _PHRASES.get(field, field)) if phrases else (node.key, field)
    places = [at.start() for word in words if (at := re.search(rf"\b{re.escape(word)}\b", message))]
    return min(places, default=-1)


def _holds_word(message: str, text: str) -> bool:
    return text in message and bool(re.search(rf"(?<![\w-]){re.escape(text)}(?![\w-])", message))
