"""The one exception a user's input can cause; the command line prints it and exits with 2."""

from __future__ import annotations

from collections.abc import Iterable

LONGEST_NAME = 100
"""Letters of an unknown name that are looked at, and said."""


class InputError(ValueError):
    """What was given cannot be used; the message says what was wrong and what would be right."""


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
    return MissingPackage(f"{what} needs {package}: pip install 'perfmodel[{extra}]'")


def shortened(name: str) -> str:
    """Return a name of somebody's as errors say it: of one that is too long its beginning.

    >>> shortened("v100"), len(shortened("v" * 1_000_000))
    ('v100', 103)
    """
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names most like one that nobody knows, the likest first; none where none is.

    >>> nearest("mlpref", ["stock", "mlperf"])
    ['mlperf']
    """
    import difflib

    name = shortened(name)  # a comparison takes as long as the square of it
    names = sorted(known)
    holding = [known for known in names if name and name.lower() in known]
    near = sorted(holding, key=lambda known: not known.startswith(name.lower()))[:4]
    return near or difflib.get_close_matches(name, names, n=3, cutoff=0.5)


def unknown_name(kind: str, name: str, known: Iterable[str]) -> InputError:
    """Return the error for a name nobody knows, with the nearest known ones.

    >>> str(unknown_name("accelerator", "v100-sxm2-16", ["v100-sxm2-16gb", "k80"]))
    "unknown accelerator 'v100-sxm2-16'; nearest: v100-sxm2-16gb"
    """
    name, names = shortened(name), sorted(known)
    near = nearest(name, names)
    if near:
        return InputError(f"unknown {kind} {name!r}; nearest: {', '.join(near)}")
    return InputError(
        f"unknown {kind} {name!r}; known: {', '.join(names[:12])}{', ...' if names[12:] else ''}"
    )
