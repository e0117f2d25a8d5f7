"""What was taken of a job or of machines and may be otherwise, as causes: nothing is wrong then."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from perfmodel.decide.diagnosis.causes import Cause, Variant
from perfmodel.decide.diagnosis.changes import Change, Suspect
from perfmodel.decide.diagnosis.turning import LeftOpen, left_open_of_job, left_open_of_listing
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.collectives.model import curve, fitted
from perfmodel.model.collectives.place import Point, place_of
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction
from perfmodel.model.setting.resolve import Setting

FITS = 0.5
"""Least probability that a job with another value of an option fits, for which that value counts as usual."""
MACHINE = "machine"
"""Id of the cause that the machines of a listing are others."""
_OF_JOBS = {
    "local_batch_size": ("batch", "another batch", "the batch is not {taken} each, the default"),
    "global_batch_size": ("batch", "another batch", "the batch of a step is not {taken}, the default"),
    "sequence_length": ("length", "another length", "sequences do not have {taken} tokens, the default"),
}
"""Option left open -> id, name and words of the cause that it has another value; of the number format
``precision`` is that cause."""


def fits(prediction: Prediction) -> bool:
    """Return whether a job is as likely as not to fit in memory."""
    return prediction.memory is None or prediction.memory.probability >= FITS


def assumptions_of_job(scenario: Scenario, setting: Setting) -> Iterator[Suspect]:
    """Yield the causes that an option of a job that was left open has another value than was taken."""

    def changes(option: LeftOpen) -> Callable[..., Iterator[Change]]:
        flag = f"--{option.option.replace('_', '-')}"
        return lambda *_: (Change(f"{flag} {other}", {option.option: other}) for other in option.others)

    for option in left_open_of_job(scenario, setting):
        if option.option in _OF_JOBS:
            id, name, words = _OF_JOBS[option.option]
            to_do = f"look it up, and give --{option.option.replace('_', '-')}"
            yield Suspect(id, name, words.format(taken=option.taken), to_do, changes(option), True)


def assumptions_of_listing(
    scenario: Scenario,
    point: Point,
    catalogue: Catalogue,
    point_with: Callable[[str, int | str], Point | None],
) -> Iterator[Cause]:
    """Yield the cause that the machines of a listing are others than was taken.

    Parameters
    ----------
    scenario, point : machines as they were given, and the collective over them
    catalogue : hardware
    point_with : returns the collective with an option changed; None where it cannot run so
    """
    for option in left_open_of_listing(scenario, point, catalogue):
        if option.option != "node":
            continue
        points = {option.other_words(other): point_with("node", other) for other in option.others}
        variants = [
            Variant(words, curve(place_of(other), fitted().parameters))
            for words, other in points.items()
            if other is not None
        ]
        words = f"{option.words.replace(' are ', ' are not ', 1)}, the default"
        yield Cause(MACHINE, "other machines", words, "look it up, and give --node", tuple(variants))
