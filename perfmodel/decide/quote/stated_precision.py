"""Which precision the words of a claim state or exclude: "in FP8", "16-bit", "FP8 not used"."""

from __future__ import annotations

import re

from perfmodel.core.errors import InputError
from perfmodel.decide.quote.completed_job import changed
from perfmodel.decide.quote.file import BANDWIDTHS, Claim
from perfmodel.decide.quote.mentions import mentions
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.setting.resolve import Setting, resolve

_HALF = ("fp16", "amp", "bf16")
"""Precisions of which "16-bit" may be any."""
_BITS_16, _BITS_32 = r"\b16[ -]?bits?\b|\bhalf[ -]precision\b", r"\b32[ -]?bits?\b|\bsingle[ -]precision\b"
_NAMED = {
    "mxfp8": r"\bmxfp8\b",
    "nvfp4": r"\bnvfp4\b",
    "mxfp4": r"\bmxfp4\b",
    "fp8": r"\b(?:fp|float)[ -]?8\b|\b8[ -]bit float\w*",
    "bf16": r"\bb(?:f|float)[ -]?16\b",
    "tf32": r"\btf[ -]?32\b",
    "fp32": rf"\b(?:fp|float)[ -]?32\b|{_BITS_32}",
    "amp": rf"\b(?:fp|float)[ -]?16\b|\bmixed[ -]precision\b|{_BITS_16}",
}
"""Precision -> its names in words; of ``amp`` those of any 16 bits."""
_NARROW = r"\b(?:(?:mx|nv)?(?:fp|float)[ -]?[48]|[48][ -]bits?)\b"


def in_stated_precision(claim: Claim, scenario: Scenario, catalogue: Catalogue) -> Scenario:
    """Return a scenario in the one precision that a claim's words name, where no option states it.

    A precision that the accelerator lacks is not taken, nor is one of 16 bits for another that is assumed.

    Raises
    ------
    InputError : an impossible scenario
    """
    if claim.format is not None or claim.kind in BANDWIDTHS or scenario.precision is not None:
        return scenario
    named = [name for name, pattern in _NAMED.items() if mentions(pattern, words_of(claim))]
    if len(named) != 1:
        return scenario
    (precision,) = named
    setting = resolve(scenario, catalogue)
    if setting.precision == precision or (precision == "amp" and setting.precision in _HALF):
        return scenario
    try:
        setting.accelerator.training_peak(precision)
        stated = changed(scenario, precision=precision)
        resolve(stated, catalogue)
    except InputError:
        return scenario
    return stated


def states_precision(claim: Claim, setting: Setting) -> bool:
    """Return whether a quote states its precision, or excludes those of fewer bits.

    It does so by an option, by a format, by the words for 16 or 32 bits alone, or by denying those of 8 or 4.
    """
    if claim.format is not None or "precision" in setting.scenario.model_fields_set:
        return True
    words = words_of(claim)
    if mentions(_NARROW, words):
        return False
    wide = any(mentions(_NAMED[name], words) for name in ("bf16", "tf32", "fp32", "amp"))
    return wide or re.search(_NARROW, words, re.IGNORECASE) is not None


def words_of(claim: Claim) -> str:
    """Return the words of a claim, and how it was read."""
    return f"{claim.text}. {claim.reading}"
