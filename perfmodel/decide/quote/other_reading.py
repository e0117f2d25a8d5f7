"""The other meaning of an ambiguous claim: bus or algorithm bandwidth, or another count of FLOP."""

from __future__ import annotations

from perfmodel.core.units import show
from perfmodel.decide.quote.checked import Checked, OtherReading
from perfmodel.decide.quote.claim_judgement import verdict_of
from perfmodel.decide.quote.claim_words import CONVENTION_WORDS, shown
from perfmodel.decide.quote.evidence import Evidence
from perfmodel.decide.quote.expected import Expected, algorithm_share
from perfmodel.decide.quote.file import KINDS, Claim
from perfmodel.model.setting.resolve import Setting


def other_bandwidth(claim: Claim, setting: Setting, evidence: Evidence) -> OtherReading:
    """Return the claim with its figure as the other of bus and algorithm bandwidth."""
    share = algorithm_share(claim, setting)
    is_bus = claim.kind == "bus_bandwidth"
    share = share if is_bus else 1 / share
    limit = evidence.limit.value * share
    expected = None
    if evidence.expected is not None:
        expected = Expected(*(share * each for each in evidence.expected)).within(limit, True)
    return OtherReading(
        quantity="algorithm_bandwidth" if is_bus else "bus_bandwidth",
        limit=limit,
        expected=expected and expected.expected,
        verdict=verdict_of(claim.number, claim.number / limit, True, expected),
    )


def bandwidth_words(claim: Claim, other: OtherReading) -> str:
    """Return which bandwidth a claim is taken as, and its verdict as the other one, in words."""
    stated = "the quote does not say which; " if claim.quantity == "all_reduce_bandwidth" else ""
    now, then = (KINDS[each].words for each in (claim.kind, other.quantity))
    words = (
        f"{stated}taken as {now}; as {then} it would be {other.verdict}, at most {show(other.limit, 'B/s')}"
    )
    return words if other.expected is None else f"{words} and {show(other.expected, 'B/s')} expected"


def count_words(claim: Checked, other: OtherReading) -> str:
    """Return by which convention a claim's FLOP are counted, and its verdict by the other, in words."""
    assert claim.convention is not None
    assert other.convention is not None
    limit, expected = (
        None if each is None else shown(each, claim.quantity, claim.sample, claim.per)
        for each in (other.limit, other.expected)
    )
    taken, else_ = (CONVENTION_WORDS[each] for each in (claim.convention, other.convention))
    words = f"the quote does not say how FLOP are counted (convention): taken {taken}; {else_} "
    words += f"it would be {other.verdict}, at most {limit}"
    return words if expected is None else f"{words} and {expected} expected"
