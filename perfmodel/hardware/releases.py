"""Resolves names of software, with or without a year, to ids and releases of a catalogue."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from perfmodel.core.errors import refusal
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.formats import OPERANDS
from perfmodel.hardware.software import LATEST_RELEASE, Release, parts, with_year


def software_id(text: str, catalogue: Catalogue) -> str:
    """Return ``NAME`` or ``NAME@YEAR`` with the name replaced by the id that it means.

    Raises
    ------
    InputError : an unknown name, or one that fits several

    >>> software_id("PyTorch", Catalogue.built_in()), software_id("TF@2020", Catalogue.built_in())
    ('pytorch', 'tensorflow@2020')
    """
    name, year = parts(text)
    return with_year(catalogue.software(name).id, year)


@lru_cache(maxsize=1024)
def release(text: str, catalogue: Catalogue) -> Release:
    """Return the release that ``NAME@YEAR`` means, or of the latest year without one.

    Raises
    ------
    InputError : an unknown name, or one that fits several; a year that is not one; software based on itself

    >>> [release(name, Catalogue.built_in()).gradient_bytes for name in ("nemo@2022", "NeMo@2024")]
    [4, 2]
    """
    name, year = parts(text)
    facts: dict[str, Any] = {}
    chain: list[str] = []
    while name:
        software = catalogue.software(name)
        if software.id in chain:
            raise refusal("software.circle", chain=chain[0], software=software.id)
        chain.append(software.id)
        facts = software.stated_until(year or LATEST_RELEASE) | facts
        name = software.based_on or ""
    whole = Release.model_construct(**facts)
    if year is None:
        return whole
    by_then = tuple(each for each in whole.low_precisions if OPERANDS[each].since <= year)
    return whole if by_then == whole.low_precisions else whole.model_copy(update={"low_precisions": by_then})
