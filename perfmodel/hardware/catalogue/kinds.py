"""The kinds of specs in a catalogue, and the class of each."""

from __future__ import annotations

import json
from typing import Literal, TypeAlias

from perfmodel.core.files.tables import ListAnswer, Record
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.link import Link
from perfmodel.hardware.node import Node
from perfmodel.hardware.software import Software

Kind = Literal["accelerators", "nodes", "links", "software"]
AnySpec: TypeAlias = Accelerator | Node | Link | Software

CLASSES: dict[Kind, type[AnySpec]] = {
    "accelerators": Accelerator,
    "nodes": Node,
    "links": Link,
    "software": Software,
}
KINDS: tuple[Kind, ...] = tuple(CLASSES)


class SpecList(ListAnswer[AnySpec]):
    """A list of specs of one kind: accelerators, nodes, links or software."""

    def records(self) -> list[Record]:
        """Return a row for each spec, with its names and numbers."""
        from perfmodel.hardware.numbers import numbers_of

        return [dict(numbers_of(spec)) for spec in self]

    def to_json(self) -> str:
        """Return what ``perfmodel specs list --json`` prints."""
        return json.dumps([spec.model_dump(mode="json", exclude_defaults=True) for spec in self])
