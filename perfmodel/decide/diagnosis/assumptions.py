"""What was taken of a job or of machines and may be otherwise, as causes: nothing is wrong then."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from perfmodel.decide.diagnosis.causes import Cause, Variant
from perfmodel.decide.diagnosis.changes import Change, Suspect
from perfmodel.decide.diagnosis.turning import LeftOpen, left_open_of_job, left_open_of_listing
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.collectives.all_reduce import Curve
from perfmodel.model.collectives.model import curve, fitted
from perfmodel.model.collectives.place import Point, place_of
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction
from perfmodel.model.setting.resolve import Setting

FITS = 0.5
"""Least probability that a job with another value of an option fits, for which that value counts as usual."""
MACHINE, ADAPTERS = "machine", "adapters"
"""Ids of the causes that the machines of a listing are others, and that each uses other adapters."""
_OF_LISTINGS = {
    "node": (MACHINE, "other machines", "look it up, and give --node"),
    "nics": (
        ADAPTERS,
        "other adapters",
        "look up how many network adapters each machine uses, and give --nics",
    ),
}
"""Option left open -> id and name of the cause that it has another value, and what to do about it."""
_OF_JOBS = {
    "local_batch_size": ("batch", "another batch"),
    "global_batch_size": ("batch", "another batch"),
    "sequence_length": ("length", "another length"),
    "precision": ("precision", "another number format"),
}
"""Option left open -> id and name of the cause that it has another value."""


def fits(prediction: Prediction) -> bool:
    """Return whether a job is as likely as not to fit in memory."""
    return prediction.memory is None or prediction.memory.probability >= FITS


def assumptions_of_job(scenario: Scenario, setting: Setting) -> Iterator[Suspect]:
    """Yield the causes that an option of a job that was left open has another value than was taken."""

    def changes(option: LeftOpen) -> Callable[..., Iterator[Change]]:
        flag = f"--{option.option.replace('_', '-')}"
        return lambda *_: (Change(f"{flag} {other}", {option.option: other}) for other in option.others)

    for option in left_open_of_job(scenario, setting):
        id, name = _OF_JOBS[option.option]
        to_do = f"look it up, and give --{option.option.replace('_', '-')}"
        yield Suspect(id, name, f"{option.otherwise}, the default", to_do, changes(option), True)


def assumptions_of_listing(
    scenario: Scenario,
    point: Point,
    catalogue: Catalogue,
    point_with: Callable[[str, int | str], Point | None],
) -> Iterator[Cause]:
    """Yield the causes that the machines of a listing, or their adapters, are others than was taken.

    What gives the same times is one cause: the first that does.

    Parameters
    ----------
    scenario, point : machines as they were given, and the collective over them
    catalogue : hardware
    point_with : returns the collective with an option changed; None where it cannot run so
    """
    known: set[Curve] = set()
    for option in left_open_of_listing(scenario, point, catalogue):
        variants = []
        for other in option.others:
            at = point_with(option.option, other)
            line = None if at is None else curve(place_of(at), fitted().parameters)
            if line is not None and line not in known:
                known.add(line)
                variants.append(Variant(_variant_words(option, other), line, value=other))
        id, name, to_do = _OF_LISTINGS[option.option]
        yield Cause(id, name, f"{option.otherwise}, the default", to_do, tuple(variants), True)


def _variant_words(option: LeftOpen, other: int | str) -> str:
    """Return a machine in words, another value as it is given."""
    return option.other_words(other) if option.option == "node" else f"--{option.option} {other}"
