"""Hardware and software that the catalogue leaves out on purpose, with the reasons."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.files.resources import folder
from perfmodel.core.records.names import squashed
from perfmodel.core.records.record import Within, fresh
from perfmodel.hardware.catalogue.spec_file import load
from perfmodel.hardware.provenance import Spec, Text

FILE = "left_out.toml"
"""Name of the file in ``hardware_specs``."""


class LeftOut(Spec):
    """One item without a spec."""

    names: Annotated[tuple[Text, ...], Within(strict=False)]
    """Its other names."""
    reason: Text
    """Why it has no spec."""


class LeftOutFile(Spec):
    """The file of items without a spec, by kind and id."""

    accelerators: dict[str, LeftOut]
    nodes: dict[str, LeftOut]
    links: dict[str, LeftOut]
    software: dict[str, LeftOut] = fresh(dict)


@cache
def _left_out() -> LeftOutFile:
    return load(folder("hardware_specs") / FILE, LeftOutFile)


def why_left_out(kind: str, name: str) -> InputError | None:
    """Return the error for a name that the catalogue leaves out on purpose; None for any other name.

    >>> str(why_left_out("accelerators", "Ascend 910"))[:39]
    'accelerator ascend-910-32gb has no spec'
    """
    of: Mapping[str, LeftOut] = getattr(_left_out(), kind)
    for id, one in of.items():
        if squashed(name) in map(squashed, (id, *one.names)):
            return refusal("spec.left_out", removesuffix=kind.removesuffix("s"), id=id, reason=one.reason)
    return None
