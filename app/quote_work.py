"""The check of a quote as a bounded piece of work."""

from __future__ import annotations

from app.bounded import Work
from app.layout_work import QUICK
from perfmodel.core.errors import InputError
from perfmodel.decide.quote import Quote, check_quote
from perfmodel.decide.quote.file import scenario_of_claim
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.workloads import workload

FEW_CLAIMS = 20
"""A claim takes some 12 ms of a processor, on eight accelerators as on a million: so many take less than a
process does to start."""
FEW_GPUS = 2 * QUICK
"""Accelerators of all transformers together that are searched for a layout, each job once, some tenths of a
second of a processor; afterwards a search is kept, and its claims take as long as others."""
WHERE = "the quote"


def work(quote: Quote, catalogue: Catalogue, calibration: str | None) -> Work:
    """Return the work: every claim held against physics, the model and measured runs.

    Parameters
    ----------
    quote : as ``read_quote`` returns it
    catalogue : hardware its names are looked up in
    calibration : a file of one's own
    """
    return Work(
        call=check_quote,
        arguments=(quote, catalogue, WHERE, calibration),
        noun="check",
        doing=f"Checking {len(quote.claims)} claims" if len(quote.claims) > 1 else "Checking the claim",
        less="ask for fewer claims at once, or of fewer accelerators",
        is_quick=_is_quick(quote, catalogue),
    )


def _is_quick(quote: Quote, catalogue: Catalogue) -> bool:
    if len(quote.claims) > FEW_CLAIMS:
        return False
    searched: dict[str, int] = {}
    for claim in quote.claims:
        try:
            job = scenario_of_claim(quote, claim, WHERE, catalogue)
            network = workload(job.workload, job.sequence_length)
        except InputError:
            continue  # the check says what is wrong, after the claims before it
        if network.architecture is not None:
            searched[repr(job)] = job.world_size
    return sum(searched.values()) <= FEW_GPUS
