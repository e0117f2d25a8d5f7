"""The jobs of a comparison: options of a scenario, and conditions that one job has for itself."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from perfmodel.core.errors import InputError, refusal, unknown_name
from perfmodel.model.options.conditions import OF_OWNED, Conditions, condition_of
from perfmodel.model.options.scenario import OPTIONS, Scenario, field_of, laid_over

LEFT_OUT = "default"
"""Value that resets an option of a variant to its default."""
_NEXT_KEY = re.compile(r",(?=([A-Za-z_-]+)=)")


def parts_of(job: Any) -> tuple[Any, dict[str, Any]]:
    """Return a job without its own conditions, and those by field; None resets one to its default."""
    if not isinstance(job, Mapping):
        return job, {}
    fields = {key: condition_of(key) for key in job}
    own = {field: job[key] for key, field in fields.items() if field}
    return {key: value for key, value in job.items() if not fields[key]}, own


def conditions_of(own: Mapping[str, Any], shared: Conditions | None) -> Conditions:
    """Return the conditions of a case: its own, laid over those of all.

    A rent that all share is of their kind of price, and a purchase of machines that are owned.
    """
    given = {} if shared is None else shared.model_dump(exclude_unset=True)
    if "pricing" in own:
        if own["pricing"] != given.get("pricing"):
            given.pop("price", None)
        if own["pricing"] != "owned":
            given = {name: value for name, value in given.items() if name not in OF_OWNED}
    return Conditions(**{name: value for name, value in {**given, **own}.items() if value is not None})


def all_conditions(
    own: Sequence[Mapping[str, Any]], shared: Conditions | None
) -> Iterator[Conditions | None]:
    """Yield the conditions of each job of a comparison; interruptions hold for spot prices alone.

    Parameters
    ----------
    own : conditions of each job by itself
    shared : of all

    Raises
    ------
    InputError : a condition that is out of its range
    """
    from perfmodel.decide.price_kinds import uninterrupted

    every = [_checked(each, shared) if each else shared for each in own]
    kinds = {at.pricing for at in every if isinstance(at, Conditions) and at.pricing}
    for at in every:
        if isinstance(at, InputError):  # in its turn, as the caller knows whose it is
            raise at
        yield uninterrupted(at, kinds) if at is not None and "spot" in kinds and at.pricing != "spot" else at


def _checked(own: Mapping[str, Any], shared: Conditions | None) -> Conditions | InputError:
    """Return the conditions of a case, or what is wrong with them."""
    try:
        return conditions_of(own, shared)
    except InputError as error:
        return error


def with_own(job: Scenario, own: Mapping[str, Any]) -> Any:
    """Return a job with conditions of its own."""
    return {**job.model_dump(exclude_unset=True), **own} if own else job


def changed_by(base: Any, text: str) -> Any:
    """Return the job with the options of one ``--set``, which may be conditions of its own too."""
    before, kept = parts_of(base)
    if isinstance(before, Scenario):
        before = before.model_dump(exclude_unset=True)
    try:
        changed, own = parts_of(_options_of(text))
        options = laid_over(before, changed)
        job = Scenario(**{key: value for key, value in options.items() if value != LEFT_OUT})
        given = {name: value for name, value in own.items() if value != LEFT_OUT}
        own |= dict.fromkeys(own.keys() - given.keys()) | Conditions(**given).model_dump(exclude_unset=True)
        return with_own(job, {**kept, **own})
    except InputError as error:
        raise error.under("set", said=f"--set {text}") from None


def _options_of(text: str) -> dict[str, Any]:
    """Return ``gpus=64,precision=bf16`` as a table; a comma that no option follows belongs to the value."""
    pieces: list[str] = []
    last = 0
    for comma in _NEXT_KEY.finditer(text):
        if _is_option(comma[1]):
            pieces.append(text[last : comma.start()])
            last = comma.end()
    pieces.append(text[last:])
    table: dict[str, Any] = {}
    for piece in pieces:
        key, equals, value = piece.partition("=")
        if not (equals and value.strip()):
            raise refusal("compare.set_malformed")
        key = key.strip()
        if not _is_option(key):
            raise unknown_name("option", key, (*OPTIONS, *Conditions.model_fields))
        if key in table:
            raise refusal("compare.key_twice", key=key, piece=piece)
        table[key] = _value(value.strip())
    return table


def _is_option(key: str) -> bool:
    """Return whether a key is an option of a scenario, or one of its conditions."""
    return field_of(key) in Scenario.model_fields or condition_of(key) is not None


def _value(text: str) -> Any:
    """Return a text as a number or truth value if it is one."""
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, (int, float)) else text.strip("\"'")
