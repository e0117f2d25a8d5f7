"""Resolves names as people type them to ids."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from perfmodel.core.errors import refusal
from perfmodel.core.problem import LONGEST_NAME

MOST_SHOWN = 4
"""Most names that a message lists."""
NONE: Mapping[str, str] = {}
SEVERAL_KINDS = ("link", "node")
"""Kinds of things of which a last word alone, such as ``25g``, means none where it is a word of several."""
_JOINTS = re.compile(r"[ _-]+")
_WORD = re.compile(r"[^ _(),-]+")
_PORT_SPEED = re.compile(r"-(\d+)g\b")


class Named(NamedTuple):
    """A thing that people name: its id and other names."""

    id: str
    names: tuple[str, ...] = ()
    """Its full name and aliases."""
    family: str = ""
    """Name that several things share, such as V100; empty for a thing without a family."""
    most_common: bool = False
    """Whether a name that fits several members of the family means this one."""


class Meaning(NamedTuple):
    """The thing that a name means."""

    id: str
    others: tuple[str, ...] = ()
    """Ids of other members of the family that the name fits too."""


def taken_as(typed: str, id: str, others: Sequence[str]) -> str:
    """Return the note that an ambiguous name means ``id`` and could mean ``others``."""
    return f"{typed} is taken as {id}, the most common; also {shown(others, ', ')}"


def shown(ids: Sequence[str], last: str = " and ") -> str:
    """Return a list of names as a phrase: at most ``MOST_SHOWN`` and the number of others.

    >>> shown(["a", "b", "c"]), shown(["a", "b", "c", "d", "e", "f"])
    ('a, b and c', 'a, b, c, d and 2 more')
    """
    if len(ids) > MOST_SHOWN:
        return f"{', '.join(ids[:MOST_SHOWN])} and {len(ids) - MOST_SHOWN} more"
    return last.join(part for part in (", ".join(ids[:-1]), ids[-1]) if part)


@lru_cache(maxsize=4096)  # a typed name is compared with every known name
def squashed(name: str) -> str:
    """Return a name in lower case without spaces, underscores and hyphens, for comparisons.

    >>> squashed("RTX 4090") == squashed("rtx_4090") == squashed("rtx4090")
    True
    """
    return _JOINTS.sub("", name).casefold()


def added_to(name: str, id: str) -> str:
    """Return what an id of several words says beyond a name; empty where it says no more.

    >>> added_to("ResNet-50", "resnet50-v1.5"), added_to("BERT large", "bert-large")
    ('v1.5', '')
    """
    first, *rest = id.split("-")
    while rest and squashed(first) != squashed(name):
        first = f"{first}-{rest.pop(0)}"
    return "-".join(rest)


def spaced(id: str) -> str:
    """Return an id as words.

    >>> spaced("few-adapters")
    'few adapters'
    """
    return id.replace("-", " ")


def word_of(typed: str, known: Iterable[str], synonyms: Mapping[str, str] = NONE) -> str:
    """Return the choice that a word means, by its spelling or as a synonym; an unknown word unchanged.

    >>> word_of("All_Reduce", ["all-reduce", "parameter-server"])
    'all-reduce'
    >>> word_of("DDP", ["all-reduce", "parameter-server"], {"ddp": "all-reduce"})
    'all-reduce'
    """
    wanted = squashed(typed)
    meant = (known_as for word, known_as in synonyms.items() if squashed(word) == wanted)
    return next((word for word in known if squashed(word) == wanted), None) or next(meant, typed)


def meaning(kind: str, typed: str, known: Iterable[Named]) -> Meaning | None:
    """Return the thing that a name means; None where it fits nothing.

    Rules are tried in this order, and the first that anything fits decides: equal to an id or name; equal to
    a family; equal to the end of an id (``p3.16xlarge``); all its words are words of the thing (``A100
    80GB``).  Of links and machines one word, such as ``25g``, is the end of an id only where no other has it.
    Within a family the most common member is chosen.

    Parameters
    ----------
    kind : kind of thing, for the error
    typed : the name as a person wrote it
    known : all things of that kind

    Raises
    ------
    InputError : the name fits several things, of which none is the most common

    Examples
    --------
    >>> cards = [
    ...     Named("v100-sxm2-16gb", family="v100", most_common=True),
    ...     Named("v100-pcie-16gb", family="v100"),
    ...     Named("t4"),
    ... ]
    >>> meaning("accelerator", "V100", cards)
    Meaning(id='v100-sxm2-16gb', others=('v100-pcie-16gb',))
    >>> meaning("accelerator", "v100 pcie", cards).id
    'v100-pcie-16gb'
    """
    known = list(known)
    if len(typed) > LONGEST_NAME:  # splitting it into words for every known thing takes seconds
        return next((Meaning(one.id, ()) for one in known if one.id == typed), None)
    for fits in _FITS:
        fitting = [one for one in known if fits(typed, one)]
        if fitting:
            if fits is _end and kind in SEVERAL_KINDS and len(_WORD.findall(typed)) == 1:
                fitting += [one for one in known if _words(typed, one) and one not in fitting]
                fitting.sort(key=lambda one: (typed.casefold() not in one.id, len(_WORD.findall(one.id))))
            chosen = _chosen(kind, typed, fitting)
            return Meaning(chosen.id, tuple(one.id for one in _relatives(typed, chosen, known)))
    return None


def _relatives(typed: str, chosen: Named, known: list[Named]) -> list[Named]:
    """Return other members of the family that the name fits too; none if the name is the chosen one's id."""
    if not chosen.family or squashed(typed) == squashed(chosen.id):
        return []
    family = [one for one in known if one.family == chosen.family and one != chosen]
    return [one for one in family if any(fits(typed, one) for fits in _FITS)]


def _chosen(kind: str, typed: str, fitting: list[Named]) -> Named:
    common = [one for one in fitting if one.most_common] if len(fitting) > 1 else fitting
    if len(common) == 1 and len({one.family or one.id for one in fitting}) == 1:
        return common[0]
    raise refusal("name.ambiguous", kind=kind, typed=typed, shown=shown(list(map(_with_name, fitting))))


def _with_name(one: Named) -> str:
    """Return an id with the full name behind it, where that is another."""
    name = next(iter(one.names), one.id)
    return one.id if squashed(name) == squashed(one.id) else f"{one.id} ({name})"


def _whole(typed: str, one: Named) -> bool:
    return squashed(typed) in map(squashed, (one.id, *one.names))


def _family(typed: str, one: Named) -> bool:
    return bool(one.family) and squashed(typed) == squashed(one.family)


def _end(typed: str, one: Named) -> bool:
    words, wanted = _WORD.findall(one.id.casefold()), squashed(typed)
    return _is_specific(typed) and any(wanted == "".join(words[first:]) for first in range(len(words)))


def _words(typed: str, one: Named) -> bool:
    known = {word for name in (one.id, one.family, *one.names) for word in _WORD.findall(name.casefold())}
    return _is_specific(typed) and known.issuperset(_WORD.findall(typed.casefold()))


def _is_specific(typed: str) -> bool:
    """Whether a part of a name can identify a thing: ``aws`` or ``tesla`` alone cannot."""
    return any(letter.isdigit() for letter in typed) or len(_WORD.findall(typed)) > 1


_FITS: tuple[Callable[[str, Named], bool], ...] = (_whole, _family, _end, _words)


def port_speed(id: str) -> int | None:
    """Return the speed in the id of a link [Gbit/s], to compare with its bandwidth; None if it has none.

    >>> port_speed("ib-ndr-400g"), port_speed("pcie4-x16")
    (400, None)
    """
    match = _PORT_SPEED.search(id)
    return int(match[1]) if match else None
