"""The kinds of specs that a catalogue holds, and the class of each."""

from __future__ import annotations

from typing import Literal, TypeAlias

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
