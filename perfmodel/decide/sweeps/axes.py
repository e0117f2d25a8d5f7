"""The options of a sweep: one value or many of each, checked before they are crossed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.records.options import Axis, declared
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.setting.crossed import Crossed
from perfmodel.model.setting.named import BY_ID, meaning_of
from perfmodel.workloads import workload


def _across(*axes: Axis) -> tuple[str, ...]:
    """Return the options of these axes, in the order of a ``Scenario``."""
    return tuple(field for field, one in declared(Scenario).items() if one.info.axis in axes)


COMPUTATION: Final = _across("computation")
"""Options on which the work of one accelerator depends, in addition to the batch."""
PLAN: Final = _across("batch")
"""Options of the batches of a group."""
DATA: Final = _across("data")
"""Options of the samples, which no placement depends on."""
WAY: Final = _across("way", "data")
"""Options of parallelism; with ``COMPUTATION`` they define a group, whose scenarios are one array."""
LAYOUT: Final = _across("layout")
"""Options of the layout of a model-parallel transformer."""
PLACE: Final = _across("place")
"""Options of the placements of a group, except the world size, which varies fastest."""

Axes = dict[str, tuple[Any, ...]]


def axes(scenarios: Crossed, catalogue: Catalogue) -> tuple[Axes, tuple[str, ...]]:
    """Return every option of a scenario as a tuple of values, and notes on names that fit several things.

    Parameters
    ----------
    scenarios : with the options that were given
    catalogue : where hardware is looked up

    Raises
    ------
    InputError : an unknown name of hardware, or several values of an option that takes one
    """
    result = scenarios.options()
    if result.get("profile", (None,)) != (None,):
        result |= _from_profile(result)
    if len(result.get("calibration", (None,))) > 1:
        raise refusal("sweep.calibrations", "calibration")
    for name, field in Scenario.model_fields.items():
        result.setdefault(name, (field.default,))
    if result["local_batch_size"] != (None,) and result["global_batch_size"] != (None,):
        raise refusal("batch.exclusive_keys", "local_batch_size", "global_batch_size")
    notes = list(_by_id(result, catalogue))
    notes += dict.fromkeys(note for name in result["workload"] for note in _of_network(name, result))
    return result, tuple(notes)


def _of_network(name: str, axes: Axes) -> Iterator[str]:
    """Yield the notes of a network, with the image tokens of any scenario; none of those it refuses."""
    for tokens in axes["image_tokens"]:
        if tokens is None:
            yield from workload(name, None).notes
            continue
        try:
            yield from workload(name, max(axes["sequence_length"], key=lambda n: n or 0), tokens).notes
        except InputError:
            continue


def is_number(name: str) -> bool:
    """Return whether the values of an option are numbers."""
    one = declared(Scenario).get(name)
    return one is not None and one.type in (int, float)


def _from_profile(result: Axes) -> Axes:
    """Return the open options with the values with which the profile was measured.

    Raises
    ------
    InputError : several profiles, which might differ in these values
    """
    from perfmodel.model.setting.profile import read_profile
    from perfmodel.model.step.profiled import completed

    if len(result["profile"]) > 1:
        raise refusal("sweep.profiles", "profile")
    one = Scenario.model_construct(**{name: values[0] for name, values in result.items()})
    filled, _ = completed(one, read_profile(result["profile"][0]))
    return {name: (getattr(filled, name),) for name in filled.model_fields_set - set(result)}


def _by_id(result: Axes, catalogue: Catalogue) -> tuple[str, ...]:
    """Replace names by ids, without duplicates; return notes on names that fit several things."""
    notes: list[str] = []
    for field in BY_ID:
        ids: dict[str | None, None] = {}
        for name in result[field]:
            if name is None:
                ids[None] = None
                continue
            meant = meaning_of(field, name, catalogue)
            ids[meant.id] = None
            notes += [str(meant)] if meant.others else []
        result[field] = tuple(ids)
    return tuple(notes)


def check_anchor_of_copies(spec: str | None) -> None:
    """Check that a sweep of data-parallel jobs supports an anchor.

    Raises
    ------
    InputError : a run on several accelerators, or with a layout
    """
    if spec is not None and not spec.strip().endswith("@1"):
        raise refusal("sweep.anchor", "anchor", spec=spec)
