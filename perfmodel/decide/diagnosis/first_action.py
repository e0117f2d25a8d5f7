"""What to do about a slow run or listing, and which causes each result would point to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfmodel.core.sentences import capitalised, in_a_list
from perfmodel.core.units import percent, show, show_range
from perfmodel.decide.diagnosis.answer import DiagnosedCause, Diagnosis, NextMeasurement, TurningDefault
from perfmodel.decide.diagnosis.assumptions import ADAPTERS
from perfmodel.decide.diagnosis.next_listing import NOT_TESTED

CLOSE = 1.1
"""Ratio up to which expected values are said as one, as no measurement tells them apart."""
LISTED = 0.01
"""Least probability of a cause that is listed by itself."""
TIED = 0.8
"""Least probability of a cause over that of the likeliest for which the two are as likely as each other."""


def tied(answer: Diagnosis) -> list[DiagnosedCause]:
    """Return the causes as likely as the likeliest, which comes first; none where no cause is known."""
    return [each for each in answer.causes if each.probability >= TIED * answer.causes[0].probability]


TRACE = "trace a step and look for what takes longer than predicted (page Trace, or perfmodel trace diff)"
"""What to do about a run that no cause we know explains."""


INSIDE = "within the 80 % interval"
"""What a run is with which nothing is wrong, as its time may still differ from the predicted one."""


def flag_of(turn: TurningDefault) -> str:
    """Return the option of a default as it is typed."""
    return f"--{turn.option.replace('_', '-')}"


def lookups(answer: Diagnosis) -> list[str]:
    """Return what to look up first, as clauses: what was assumed, where the verdict turns on it."""
    is_run = answer.kind == "training"
    options = [
        f"{flag_of(turn)} (with {turn.other_words} it is "
        f"{INSIDE if is_run and turn.verdict == 'normal' else turn.verdict})"
        for turn in answer.turns
    ]
    actions = [f"give {in_a_list(options)}"] if options else []
    if answer.adapters and "nics" not in {turn.option for turn in answer.turns}:
        actions += [each.next for each in answer.causes if each.id == ADAPTERS]
    return actions


def checks(answer: Diagnosis) -> list[str]:
    """Return what to do about a slow measurement, as clauses: the action, and what is left to it.

    The likeliest cause has its own check; where it is not likelier than that none is known, or another is as
    likely, a measurement tells them apart.  Where none does, a run is traced, and of a listing the likeliest
    cause checked.  Where the likeliest are that something was assumed, what ``lookups`` leave of it is next.
    """
    if answer.verdict == "normal":
        return []
    likeliest = [each for each in tied(answer) if not each.is_assumption]
    measurement = _telling(answer, likeliest)
    best = answer.causes[0] if answer.causes else None
    to_look_up = _open_still(answer)
    if to_look_up and not likeliest:
        return to_look_up[:1]
    has_check = best is not None and best.probability > max(answer.normal, answer.unknown)
    if best is not None and has_check and (len(likeliest) == 1 or measurement is None):
        check = likeliest[0] if likeliest else best
        return [] if check.is_assumption and lookups(answer) else [check.next]
    if measurement is not None and len(pointers(measurement.expected, answer)) > 1:
        outcomes = _outcomes(measurement, answer)
        return [f"run {measurement.words}: {outcomes[0]}", *outcomes[1:]] if outcomes else [TRACE]
    if answer.kind == "training":
        return [TRACE]
    faults = [each for each in answer.causes if not each.is_assumption and each.probability >= LISTED]
    return [each.next for each in faults[:1]]


def _open_still(answer: Diagnosis) -> list[str]:
    """Return what to look up of the likeliest causes next to ``lookups``; nothing where those are empty."""
    asked = lookups(answer)
    given = tuple(f"give {flag_of(turn)}" for turn in answer.turns)
    assumed = [each.next for each in tied(answer) if each.is_assumption]
    return [each for each in assumed if asked and each not in asked and not each.endswith(given)]


def _telling(answer: Diagnosis, likeliest: Sequence[DiagnosedCause]) -> NextMeasurement | None:
    """Return the measurement that tells the two likeliest causes apart best; of one cause the best of all.

    None that only changes an option to look up, which tells as much.
    """
    asked = {turn.option for turn in answer.turns}
    telling = [each for each in answer.next if not each.options or not asked.issuperset(each.options)]
    if len(likeliest) < 2:
        return telling[0] if telling else None
    one, other = (each.id for each in likeliest[:2])

    def ratio(each: NextMeasurement) -> float:
        values = [each.expected.get(one), each.expected.get(other)]
        known = [value for value in values if value]
        return max(known) / min(known) if len(known) == 2 else 1.0

    best = max(telling, key=ratio, default=None)
    return best if best is not None and ratio(best) > CLOSE else None


def _outcomes(measurement: NextMeasurement, answer: Diagnosis) -> list[str]:
    """Return the results that a measurement may have, as clauses with the causes that each points to.

    A result that only causes give that do not explain what was measured rules the others out, and says what
    is left then.  Empty where no cause explains it.
    """
    strong, weak = [], []
    groups = _groups(measurement.expected, answer)
    for value, causes in groups:
        able = {each.id for each in answer.causes if explains(each, answer)} | {"normal"}
        names = [name for id, name in causes.items() if id in able]
        if names:
            strong.append((value, names))
        else:
            weak.append(value)
    if not strong:
        return []
    (first, of_first), *others = strong
    took = show(answer.measured, "s")
    how = f" ({took} times the predicted change)" if answer.kind == "training" else ""
    said = [f"{first}{how} would point to {', '.join(of_first)}"]
    said += [f"{value} to {', '.join(of)}" for value, of in others]
    if not weak:
        return ["; ".join(said)]
    tested = {id for _, of in groups for id in of}
    left = [each.name for each in answer.causes if explains(each, answer) and each.id not in tested]
    out = in_a_list(name for _, names in strong for name in names)
    rest = (
        f" and leave {in_a_list(left)}; if it is not that, {TRACE}"
        if left
        else f", and no other cause that we know explains {took} alone: then {TRACE}"
    )
    return ["; ".join(said), f"{' or '.join(weak)} would rule out {out}{rest}"]


def explains(cause: DiagnosedCause, answer: Diagnosis) -> bool:
    """Return whether a cause by itself may explain a run: whether its 80 % interval holds what was measured.

    Of a listing, which is weighed size by size, every cause may.
    """
    off = answer.predicted * answer.measured / cause.predicted_time
    return answer.kind == "collective" or answer.low_80 <= off <= answer.high_80


def pointers(expected: Mapping[str, float], answer: Diagnosis) -> list[tuple[str, str]]:
    """Return expected values, each with the names of its causes; those close to each other are one.

    Causes that are not listed are left out, and so is that nothing is wrong where that is as unlikely.
    """
    return [(value, ", ".join(causes.values())) for value, causes in _groups(expected, answer)]


def _groups(expected: Mapping[str, float], answer: Diagnosis) -> list[tuple[str, dict[str, str]]]:
    """Return expected values as ``pointers``, each with the names of its causes by id, likeliest first."""
    unit = "s" if answer.kind == "training" else "B/s"
    known = {cause.id: (cause.name, cause.probability) for cause in answer.causes}
    known["normal"] = ("nothing wrong", answer.normal)
    likely = {cause: value for cause, value in expected.items() if known[cause][1] >= LISTED}
    groups: list[dict[str, float]] = []
    for cause, value in sorted(likely.items(), key=lambda each: each[1]):
        if not groups or value > CLOSE * min(groups[-1].values()):
            groups.append({})
        groups[-1][cause] = value
    named = [{cause: name for cause, (name, _) in known.items() if cause in group} for group in groups]
    return [(_values(group, unit), names) for group, names in zip(groups, named, strict=True)]


def _values(group: Mapping[str, float], unit: str) -> str:
    """Return the least and the largest value of a group as text, which may be one."""
    first, last = min(group.values()), max(group.values())
    alike = show(first, unit) == show(last, unit)
    return show(first, unit) if alike else show_range(first, last, unit)


def expected_words(answer: Diagnosis) -> str:
    """Return what the expected values of next measurements are."""
    if answer.kind == "training":
        return (
            f"Each time is the {show(answer.measured, 's')} measured times the change that the model "
            "predicts if that is the cause: compare yours with these, not with the predicted time."
        )
    size = show(answer.sizes[-1].message_bytes, "B")
    words = f"Each is the bus bandwidth at {size} that the model predicts if that is the cause."
    untold = [each.name for each in answer.causes if each.id in NOT_TESTED and each.probability >= LISTED]
    return f"{words} {capitalised(in_a_list(untold))} may give any of them." if untold else words


def likeliest_words(answer: Diagnosis) -> str:
    """Return the likeliest causes with their probabilities, in words that say whether several tie."""
    causes = tied(answer)
    named = [f"{each.words} ({percent(each.probability)})" for each in causes]
    if len(causes) == 1:
        return f"most likely cause: {named[0]}"
    return f"likeliest causes, about equal: {in_a_list(named)}"
