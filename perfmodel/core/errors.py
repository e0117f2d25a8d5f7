"""The one exception a user's input can cause; the command line prints it and exits with 2."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile
from typing import Any, Self

from perfmodel.core.problem import (
    LONGEST_NAME,
    UNSORTED,
    Note,
    Path,
    Place,
    Problem,
    Words,
    called,
    problem,
    python,
    shell,
)

LIKENESS = 0.5
"""Of two names, from 0 to 1, from which on one is offered for the other."""
BEGINNING = 3
"""Letters from which on the same beginning counts."""
LONGEST_QUOTED = 200
"""Letters of what was given that a message repeats at once."""
_QUOTED = re.compile(rf"(?<!\w)(['\"])(?:\\.|(?!\1)[^\\]){{{LONGEST_QUOTED + 1},}}+\1")
_UNBROKEN = re.compile(rf"\S{{{LONGEST_QUOTED + 3},}}")
"""Nothing of ours is as long without a blank; what is quoted has its quotes with it."""


class InputError(ValueError):
    """An input cannot be used: problems, or a sentence, that say what is wrong and what would be right."""

    inside: tuple[str, ...] = ()
    """What the problems are of: a file, one job of several."""
    after = ""
    """What the sentence ends with."""
    most = 1
    """Problems that the sentence says; it counts the others."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong, the first first."""
        if self.args and isinstance(self.args[0], Problem):
            return self.args
        return (Problem(UNSORTED, values={"words": super().__str__()}),)

    def words(self, place: Place = python, longest: int | None = None) -> str:
        """Return what is wrong as an interface says it, as of ``Problem.words``."""
        said = "; ".join(each.words(place, longest) for each in self.problems[: self.most])
        others = len(self.problems) - self.most
        more = f" (and {others} more)" if others > 0 else ""
        inside = "".join(f"{called(each, place)}: " for each in self.inside)
        return f"{inside}{said}{more}{called(self.after, place)}"

    def under(self, *path: object, said: str | None = None, after: str = "") -> Self:
        """Return the error of a larger input that this one is a part of.

        Parameters
        ----------
        path : of the part: its keys and indices, or the name of its file
        said : how people call the part, where that is not its path
        after : what the sentence ends with

        >>> str(unknown_name("node", "dgx", ["dgx-1v"], "node").under("a.toml"))
        "a.toml: unknown node 'dgx'; nearest: dgx-1v"
        """
        keys = tuple(part if isinstance(part, int) else str(part) for part in path)
        error = type(self)(*(each.under(keys) for each in self.problems))
        name = ".".join(map(str, keys)) if said is None else said
        error.inside = ((name, *self.inside)) if name else self.inside
        error.after, error.most = self.after + after, self.most
        return error

    def note(self) -> Note:
        """Return the sentence, for an answer that says what was left out, with the code of the problem."""
        return Note(brief(self.words(shell)), self.problems[0].code)

    def __str__(self) -> str:
        return brief(self.words())


class MissingPackage(InputError):
    """An optional package is not installed; the message says how to get it."""


def needed(module: str, extra: str, what: str) -> None:
    """Import a module of an optional package before any work is done, or refuse what it is for.

    Raises
    ------
    MissingPackage : it is not installed
    """
    from importlib import import_module

    try:
        import_module(module)
    except ImportError:
        raise missing(module.partition(".")[0], extra, what) from None


def missing(package: str, extra: str, what: str) -> MissingPackage:
    """Return the error about an optional package.

    >>> str(missing("scipy", "stats", "the gamma law"))
    "the gamma law needs scipy: pip install 'perfmodel[stats]'"
    """
    return MissingPackage(problem("package.missing", what=what, package=package, extra=extra))


def refusal(code: str, /, *fields: str | Path, **values: Any) -> InputError:
    """Return the error of one problem, as of ``problem``."""
    return InputError(problem(code, *fields, **values))


def brief(message: str) -> str:
    """Return a message that repeats no more than ``LONGEST_QUOTED`` letters of anything at once.

    >>> brief("bad: 'a b'"), len(brief(f"bad: {'b ' * 1000!r}")), len(brief("a" * 1000 + ": bad"))
    ("bad: 'a b'", 207, 204)
    """
    if len(message) <= LONGEST_QUOTED:
        return message
    quoted = _QUOTED.sub(lambda match: f"{match[1]}{_ends(match[0][1:-1])}{match[1]}", message)
    return _UNBROKEN.sub(lambda match: _ends(match[0]), quoted)


def _ends(text: str) -> str:
    """Return the two ends of a text that is too long: of a path the last folder matters most."""
    return f"{text[:140]}...{text[-(LONGEST_QUOTED - 143) :]}"


def shortened(name: str) -> str:
    """Return a name of somebody's as errors say it: of one that is too long its beginning.

    >>> shortened("v100"), len(shortened("v" * 1_000_000))
    ('v100', 103)
    """
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names most like one that nobody knows, the likest first; none where none is.

    Case, blanks and punctuation do not matter; of those that are alike, the same beginning goes first.

    >>> nearest("mlpref", ["stock", "mlperf"])
    ['mlperf']
    >>> nearest("RTX 5090", ["quadro-rtx-5000", "rtx-4090", "t4"])
    ['rtx-4090', 'quadro-rtx-5000']
    """
    import difflib

    name = _letters(shortened(name))  # a comparison takes as long as the square of it
    if not name:
        return []
    letters = {each: _letters(each) for each in sorted(known)}
    holding = [each for each, plain in letters.items() if name in plain]
    if holding:
        return sorted(holding, key=lambda each: not letters[each].startswith(name))[:4]
    comparison = difflib.SequenceMatcher()
    comparison.set_seq2(name)
    near = []
    for each, plain in letters.items():
        comparison.set_seq1(plain)
        if comparison.real_quick_ratio() < LIKENESS or comparison.quick_ratio() < LIKENESS:
            continue
        if (likeness := comparison.ratio()) >= LIKENESS:
            alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(name, plain, strict=False)))
            near.append((-alike if alike >= BEGINNING else 0, -likeness, each))
    return [each for _, _, each in sorted(near)[:3]]


def _letters(name: str) -> str:
    """Return a name without case, blanks and punctuation, a speed as the ids of links have it."""
    return re.sub(r"[\W_]+", "", re.sub(r"(?<=\d)\s*g(bit|bits|bps)(/s|ps)?$", "g", name.lower()))


def unknown_name(kind: str, name: str, known: Iterable[str], *field: str | int) -> InputError:
    """Return the error for a name nobody knows, with the nearest known ones.

    Parameters
    ----------
    kind : what people call such a name
    known : names that there are
    field : that has it, where it is known

    >>> str(unknown_name("accelerator", "v100-sxm2-16", ["v100-sxm2-16gb", "k80"]))
    "unknown accelerator 'v100-sxm2-16'; nearest: v100-sxm2-16gb"
    """
    return InputError(unknown("name.unknown", kind, name, known, field))


def unknown(code: str, kind: str, name: str, known: Iterable[str], field: Path = ()) -> Problem:
    """Return the problem of a name nobody knows, as of ``unknown_name``."""
    name, names = shortened(name), sorted(known)
    near = tuple(nearest(name, names))
    some = ", ".join(names[:12]) + (", ..." if names[12:] else "")
    right = Words(f"nearest: {', '.join(near)}" if near else f"known: {some}")
    values = {"called": Words(kind), "name": name, "right": right}
    return Problem(code, (field,) if field else (), values, near)
