"""What every interface says of whether a job fits: its largest batch, its stages, its start lines."""

from __future__ import annotations

from perfmodel.core.units import counted, per_cent, percent
from perfmodel.decide.fits.answer import Fits, Place
from perfmodel.model.prediction.memory_odds import CERTAIN

MOST_PLACES = 16
"""Stages in plain text; of more, the first, the last and the fullest."""


def largest_words(answer: Fits) -> str:
    """Return the largest batch that fits, in words; where none surely does, how sure the present is."""
    if not answer.largest_batch:
        return "not even 1 fits" if answer.fitting is None else "not even 1 fits without a change"
    most, now = counted(answer.largest_batch, "sample"), f"now {answer.batch}"
    if answer.largest_sure_batch == answer.largest_batch:
        return f"{most} ({now})"
    if answer.largest_sure_batch:
        return f"{most} with even odds, {answer.largest_sure_batch} surely ({now})"
    return f"{most} with even odds ({now}, with {percent(answer.fits_probability)})"


def started_words(answer: Fits) -> tuple[str, dict[str, list[str]]]:
    """Return which job start lines are shown of, in words, and the lines by software.

    They are the job's own where it fits as surely as asked or no change does, else of the first that does.
    """
    if answer.fits_probability >= answer.confidence:
        return "it", answer.starts
    if answer.fitting is not None:
        return f"the first change that fits ({answer.fitting.words})", answer.change_starts
    return "it as it is", answer.starts


def unstarted_words(answer: Fits) -> str:
    """Return that no settings are known by which the job's software starts it; empty where some are."""
    started, lines = started_words(answer)
    can_fit = answer.fitting is not None or answer.fits_probability > 1 - CERTAIN
    if answer.software in lines or not can_fit or answer.places[0].layers is None:
        return ""
    return f"no settings of {answer.software} are known that start {started}"


def shown_places(answer: Fits) -> list[Place]:
    """Return all places of a short pipeline; of a long one the first, the fullest and the last."""
    places = answer.places
    if len(places) <= MOST_PLACES:
        return places
    fullest = max(range(len(places)), key=lambda index: places[index].bytes)
    return [places[index] for index in sorted({0, 1, fullest, len(places) - 1})]


def changes_title(answer: Fits) -> str:
    """Return which changes are listed, and in which order."""
    if answer.fitting is None:
        sure = per_cent(answer.confidence, 0)
        return f"nothing tried makes it fit with {sure} probability; what comes nearest"
    return "what makes it fit: first what its software is known to do, on as many GPUs before more"
