"""Hardware that is known by name and has no spec, with the reason why."""

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
"""In ``hardware_specs``."""


class LeftOut(Spec):
    """One thing without a spec."""

    names: Annotated[tuple[Text, ...], Within(strict=False)]
    """What else it is called."""
    reason: Text
    """Why it has none."""


class LeftOutFile(Spec):
    """Everything known to have none, by kind and id."""

    accelerators: dict[str, LeftOut]
    nodes: dict[str, LeftOut]
    links: dict[str, LeftOut]
    software: dict[str, LeftOut] = fresh(dict)


@cache
def _left_out() -> LeftOutFile:
    return load(folder("hardware_specs") / FILE, LeftOutFile)


def why_left_out(kind: str, name: str) -> InputError | None:
    """Return the error for a name of something that has no spec; None for any other name.

    >>> str(why_left_out("links", "HCCS"))[:31]
    'link hccs has no spec, as no da'
    """
    of: Mapping[str, LeftOut] = getattr(_left_out(), kind)
    for id, one in of.items():
        if squashed(name) in map(squashed, (id, *one.names)):
            return refusal("spec.left_out", removesuffix=kind.removesuffix("s"), id=id, reason=one.reason)
    return None
