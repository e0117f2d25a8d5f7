"""``InputError``, the exception that wrong input causes; the command line prints it and exits with 2."""

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
from perfmodel.core.records.meant import meant_by

LIKENESS = 0.5
"""Least likeness of two names, from 0 to 1, at which one is suggested for the other."""
BEGINNING = 3
"""Letters that two names must share at their beginning for it to count."""
LONGEST_QUOTED = 200
"""Longest piece of the input that a message repeats whole [letters]."""
_QUOTED = re.compile(rf"(?<!\w)(['\"])(?:\\.|(?!\1)[^\\]){{{LONGEST_QUOTED + 1},}}+\1")
_UNBROKEN = re.compile(rf"\S{{{LONGEST_QUOTED + 3},}}")
"""A word longer than any in our own messages; the three more are for quotes and a colon."""


class InputError(ValueError):
    """An input cannot be used; the arguments are one or several ``Problem``, or a sentence."""

    inside: tuple[str, ...] = ()
    """Names of the parts of the input that hold the problems, outermost first: a file, one job of several."""
    after = ""
    """Text that ends the sentence."""
    most = 1
    """Problems that the sentence spells out; it counts the others."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems in the order of the input."""
        if self.args and isinstance(self.args[0], Problem):
            return self.args
        return (Problem(UNSORTED, values={"words": super().__str__()}),)

    def words(self, place: Place = python, longest: int | None = None) -> str:
        """Return the whole sentence.

        Parameters
        ----------
        place : how the interface writes the name of an option
        longest : letters of an input value that the sentence repeats; None: all
        """
        sentences = "; ".join(each.words(place, longest) for each in self.problems[: self.most])
        others = len(self.problems) - self.most
        more = f" (and {others} more)" if others > 0 else ""
        inside = "".join(f"{called(each, place)}: " for each in self.inside)
        return f"{inside}{sentences}{more}{called(self.after, place)}"

    def under(self, *path: object, said: str | None = None, after: str = "") -> Self:
        """Return this error as one of the larger input that holds the part it is about.

        Parameters
        ----------
        path : keys and indices that lead to the part, or the name of its file
        said : name of the part in the sentence; by default its path, joined by dots
        after : text that ends the sentence

        >>> str(unknown_name("node", "dgx", ["dgx-1v"], "node").under("a.toml"))
        "a.toml: unknown node 'dgx'; nearest: dgx-1v"
        """
        keys = tuple(part if isinstance(part, int) else str(part) for part in path)
        error = type(self)(*(each.under(keys) for each in self.problems))
        name = ".".join(map(str, keys)) if said is None else said
        error.inside = ((name, *self.inside)) if name else self.inside
        error.after, error.most = self.after + after, self.most
        return error

    def note(self) -> ErrorNote:
        """Return the sentence as a note of an answer, about the code of the first problem."""
        return ErrorNote(self)

    def __str__(self) -> str:
        return brief(self.words())


class ErrorNote(Note):
    """The sentence of an error in an answer, which may still be raised."""

    error: InputError

    def __new__(cls, error: InputError) -> Self:
        """Make the note of an error."""
        note = super().__new__(cls, brief(error.words(shell)), error.problems[0].code)
        note.error = error
        return note

    def __getnewargs__(self) -> tuple[InputError]:  # type: ignore[override]
        return (self.error,)


class MissingPackage(InputError):
    """An optional package is not installed; the message names the pip command that installs it."""


def needed(module: str, extra: str, what: str) -> None:
    """Import a module of an optional package, or raise an error that names the pip command for it.

    Parameters
    ----------
    module : such as ``scipy.stats``
    extra : of perfmodel that installs the package
    what : the feature that needs it

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
    """Return the error about an optional package that is not installed; parameters as of ``needed``.

    >>> str(missing("scipy", "stats", "the gamma law"))
    "the gamma law needs scipy: pip install 'perfmodel[stats]'"
    """
    return MissingPackage(problem("package.missing", what=what, package=package, extra=extra))


def refusal(code: str, /, *fields: str | Path, **values: Any) -> InputError:
    """Return the error of one problem; parameters as of ``problem``."""
    return InputError(problem(code, *fields, **values))


def brief(message: str) -> str:
    """Return a message with every quoted text or word longer than ``LONGEST_QUOTED`` letters shortened.

    >>> brief("bad: 'a b'"), len(brief(f"bad: {'b ' * 1000!r}")), len(brief("a" * 1000 + ": bad"))
    ("bad: 'a b'", 207, 204)
    """
    if len(message) <= LONGEST_QUOTED:
        return message
    quoted = _QUOTED.sub(lambda match: f"{match[1]}{_ends(match[0][1:-1])}{match[1]}", message)
    return _UNBROKEN.sub(lambda match: _ends(match[0]), quoted)


def _ends(text: str) -> str:
    """Return the beginning and the end of a long text; of a path the last folder matters most."""
    return f"{text[:140]}...{text[-(LONGEST_QUOTED - 143) :]}"


def shortened(name: str) -> str:
    """Return a name, cut to ``LONGEST_NAME`` letters and dots where it is longer.

    >>> shortened("v100"), len(shortened("v" * 1_000_000))
    ('v100', 103)
    """
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return up to four known names that are like an unknown one, the likest first; [] where none is.

    Case, blanks and punctuation do not count.  Names with the same beginning come before others.

    >>> nearest("mlpref", ["stock", "mlperf"])
    ['mlperf']
    >>> nearest("RTX 5090", ["quadro-rtx-5000", "rtx-4090", "t4"])
    ['rtx-4090', 'quadro-rtx-5000']
    """
    import difflib

    name = _letters(shortened(name))  # a comparison takes time with the square of the length
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
    """Return a name in lower case without blanks and punctuation; ``100 Gbit/s`` becomes ``100g``."""
    return re.sub(r"[\W_]+", "", re.sub(r"(?<=\d)\s*g(bit|bits|bps)(/s|ps)?$", "g", name.lower()))


def unknown_name(kind: str, name: str, known: Iterable[str], *field: str | int) -> InputError:
    """Return the error for an unknown name, with the nearest known ones.

    Parameters
    ----------
    kind : what the name is of, such as ``accelerator``
    known : all names of that kind
    field : path of the input's field that holds the name, if known

    >>> str(unknown_name("accelerator", "v100-sxm2-16", ["v100-sxm2-16gb", "k80"]))
    "unknown accelerator 'v100-sxm2-16'; nearest: v100-sxm2-16gb"
    >>> str(unknown_name("quantity", "throughput", ["flops", "samples_per_second"]))
    "unknown quantity 'throughput'; here samples_per_second or tokens_per_second"
    """
    return InputError(unknown("name.unknown", kind, name, known, field))


def unknown(code: str, kind: str, name: str, known: Iterable[str], field: Path = ()) -> Problem:
    """Return the problem of an unknown name, under a code; the rest as of ``unknown_name``."""
    name, names = shortened(name), sorted(known)
    near = tuple(nearest(name, names))
    some = ", ".join(names[:12]) + (", ..." if names[12:] else "")
    right = Words(f"nearest: {', '.join(near)}" if near else f"known: {some}")
    if not near and (meant := meant_by(name)) and not {meant, *meant.split()}.isdisjoint(names):
        right = Words(f"here {meant}")
    elif "," in name and near:
        right = Words(f"one goes here, not a list: compare and sweep take several; {right}")
    values = {"called": Words(kind), "name": name, "right": right}
    return Problem(code, (field,) if field else (), values, near)
