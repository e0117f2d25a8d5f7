"""The check of a quote as bounded ``Work``."""

from __future__ import annotations

from app.bounded import Work
from app.layout_work import QUICK
from perfmodel.core.errors import InputError
from perfmodel.decide.quote import Quote, check_quote
from perfmodel.decide.quote.file import scenario_of_claim
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.workloads import workload

FEW_CLAIMS = 20
"""Claims up to which a check takes less time than starting a process, at some 12 ms for a claim."""
FEW_GPUS = 2 * QUICK
"""Accelerators, summed over the transformers whose layout is searched, up to which searches take at most some
tenths of a second."""
WHERE = "the quote"


def work(quote: Quote, catalogue: Catalogue, calibration: str | None) -> Work:
    """Return the check of every claim of a quote as ``Work``.

    Parameters
    ----------
    quote : as ``read_quote`` returns it
    catalogue : hardware that its names refer to
    calibration : path of the user's own calibration, or None
    """
    return Work(
        call=check_quote,
        arguments=(quote, catalogue, WHERE, calibration),
        noun="check",
        doing=f"Checking {len(quote.claims)} claims" if len(quote.claims) > 1 else "Checking the claim",
        less="check fewer claims at once, or claims on fewer accelerators",
        is_quick=_is_quick(quote, catalogue),
    )


def _is_quick(quote: Quote, catalogue: Catalogue) -> bool:
    if len(quote.claims) > FEW_CLAIMS:
        return False
    searched: dict[str, int] = {}
    for claim in quote.claims:
        try:
            job = scenario_of_claim(quote, claim, WHERE, catalogue)
            network = workload(job.workload, job.sequence_length, job.image_tokens)
        except InputError:
            continue  # the check reports the error
        if network.architecture is not None:
            searched[repr(job)] = job.world_size
    return sum(searched.values()) <= FEW_GPUS
