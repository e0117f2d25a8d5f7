"""Location of a problem in the body of a request, as a path of keys."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from perfmodel.core.problem import Problem
from perfmodel.model.options.scenario import field_of

Place = tuple[str | int, ...]
MOST_NODES = 5000
"""Keys and list members of a body that are searched."""


class _Node(NamedTuple):
    """A value in a body with its path."""

    place: Place
    key: str
    """The last key on its path."""
    value: Any


def written(place: Sequence[str | int]) -> str | None:
    """Return a path as in error messages, keys and numbers joined by dots; None for the whole body."""
    return ".".join(map(str, place)) if place else None


def value_at(body: Any, place: Sequence[str | int]) -> Any:
    """Return the value at a path of a body; None where there is none."""
    for part in place:
        try:
            body = body[part]
        except (KeyError, IndexError, TypeError):
            return None
    return body


def place_of(body: Mapping[str, Any], problem: Problem, known: Collection[str] = ()) -> Place | None:
    """Return the path in a body that a problem is about; None where there is none.

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


def fields_of(body: Mapping[str, Any], problem: Problem) -> tuple[Place, ...]:
    """Return the fields that a problem is about, with their paths in the body where it has them.

    >>> fields_of({"gpus": 0}, Problem("value.invalid", (("world_size",), ("nodes",))))
    (('gpus',), ('nodes',))
    """
    nodes = list(_nodes(body))
    return tuple(next((node.place for node in _at_end(nodes, path)), path) for path in problem.fields)


def _at_end(nodes: Sequence[_Node], path: Sequence[str | int]) -> list[_Node]:
    """Return the nodes at which a path ends, or as much of its end as the body has."""
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
    """Yield start and stop of the parts of a path, the longest first."""
    for start in range(length):
        for stop in range(length, start, -1):
            yield start, stop


def _field(part: str | int) -> str | int:
    """Return the field that a key means; a list index unchanged."""
    return field_of(part) if isinstance(part, str) else part


def _nodes(body: Any) -> Iterator[_Node]:
    """Yield the nodes of a body level by level."""
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
    """Return whether two values are equal, with lists like tuples and 1 like 1.0."""
    if isinstance(one, list) and isinstance(other, tuple):
        other = list(other)
    numbers = {type(one), type(other)} == {int, float}
    return one is other or ((type(one) is type(other) or numbers) and one == other)


def _names(key: str) -> tuple[str, ...]:
    """Return the names of a key in messages: itself, its field, and its singular."""
    return tuple(dict.fromkeys((key, field_of(key), key.removesuffix("s"))))
