"""The manifest of a folder of parts: the sweep, the version of perfmodel, and the complete parts."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any, Final

from perfmodel.core.errors import refusal
from perfmodel.core.files.reading import read_json
from perfmodel.core.files.resources import folder as data_folder
from perfmodel.core.files.writing import Unwritable, write_whole
from perfmodel.decide.sweeps.part_files import PartSummary, file_sha256
from perfmodel.decide.sweeps.parts import Parts
from perfmodel.model.options.scenario import Scenario

NAME: Final = "_manifest.json"
"""Name of the manifest; readers of data sets ignore names that begin with an underscore."""
LINES: Final = "_complete.jsonl"
"""Name of the file with a line for each part completed since the manifest was written."""
VERSION: Final = 1
LARGEST: Final = 2**28
"""Largest manifest that is read [B]."""
_PACKAGE: Final = Path(__file__).parents[1]
_KEPT: Final = (".py", ".json", ".toml", ".csv")
"""Endings of files of the package that affect predictions."""
_FIELDS: Final = ("number", "rows", "refused", "bytes", "sha256")
"""Fields of a part that a manifest keeps."""


class Manifest:
    """The manifest of a folder, read if it exists.

    Newly completed parts are lines of a separate file until the manifest is written again.

    Parameters
    ----------
    folder : of the parts
    sweep : result of ``description``

    Raises
    ------
    InputError : the folder's manifest is of another sweep or version, or cannot be read
    """

    def __init__(self, folder: Path, sweep: Mapping[str, Any]) -> None:
        self.folder, self.sweep = folder, sweep
        self._lines: FileIO | None = None
        path = folder / NAME
        self.was_there = path.exists()
        parts = (*self._read(path), *_lines(folder / LINES)) if self.was_there else ()
        self.complete = {part.number: part for part in parts}
        """Parts that were written, by number."""

    def _read(self, path: Path) -> list[PartSummary]:
        """Return the complete parts of a manifest; an InputError for one of another sweep or version."""
        written = read_json(path, LARGEST)
        elsewhere = "write to another folder, or remove this one"
        try:
            version, sweep = written["version"], written["sweep"]
            complete = [_part(table) for table in written["complete"]]
        except (KeyError, TypeError, ValueError):
            raise refusal("sweep.no_manifest", elsewhere=elsewhere).under(path) from None
        if version != VERSION:
            raise refusal(
                "sweep.manifest_version", version=version, known=VERSION, elsewhere=elsewhere
            ).under(path)
        if differing := [name for name in self.sweep if sweep.get(name) != self.sweep[name]]:
            raise refusal("sweep.other_sweep", differing=_in_words(differing), elsewhere=elsewhere).under(
                path
            )
        return complete

    def add(self, part: PartSummary) -> None:
        """Record that a part is complete.

        Raises
        ------
        Unwritable : the line cannot be written
        """
        self.complete[part.number] = part
        path = self.folder / LINES
        try:
            self._lines = self._lines or path.open("ab", buffering=0)
            self._lines.write(json.dumps(_kept(part)).encode() + b"\n")
        except OSError as error:
            raise Unwritable(f"{path}: cannot be written: {error.strerror}") from None

    @property
    def rows(self) -> int:
        """Number of rows of all complete parts."""
        return sum(part.rows for part in self.complete.values())

    @property
    def refused(self) -> dict[str, int]:
        """Number of refused scenarios of the complete parts by reason, in the order of parts."""
        total = Counter[str]()
        for number in sorted(self.complete):
            total.update(self.complete[number].refused)
        return dict(total)

    def write(self) -> None:
        """Write the manifest, completely or not at all."""
        parts = [_kept(self.complete[number]) for number in sorted(self.complete)]
        table = {
            "version": VERSION,
            "sweep": self.sweep,
            "rows": self.rows,
            "refused": self.refused,
            "is_complete": len(parts) == self.sweep["parts"],
            "complete": parts,
        }
        write_whole(self.folder / NAME, json.dumps(table, indent=1) + "\n")
        if self._lines is not None:
            self._lines.close()
            self._lines = None
        with suppress(OSError):  # remaining lines repeat the manifest
            (self.folder / LINES).unlink()


def _kept(part: PartSummary) -> dict[str, Any]:
    """Return the fields of a part that a manifest keeps; durations are of one run only."""
    return {name: getattr(part, name) for name in _FIELDS}


def _part(table: Mapping[str, Any]) -> PartSummary:
    """Return a part from its fields in a manifest."""
    return PartSummary(**{name: table[name] for name in _FIELDS})


def _lines(path: Path) -> Iterator[PartSummary]:
    """Yield the parts completed after the manifest was written, up to an incomplete line."""
    try:
        for line in path.read_text("utf-8").splitlines():
            yield _part(json.loads(line))
    except (OSError, KeyError, TypeError, ValueError):
        return


def description(parts: Parts) -> dict[str, Any]:
    """Return everything that determines the rows of a sweep, as a manifest keeps it."""
    options = {
        name: _short(values)
        for name, values in parts.axes.items()
        if values != (Scenario.model_fields[name].default,)
    }
    table: dict[str, Any] = {
        "options": options,
        "columns": list(parts.columns),
        "scenarios": math.prod(map(len, parts.axes.values())),
        "parts": len(parts),
        "scenarios_of_part": parts.most,
        "perfmodel": sys.modules["perfmodel"].__version__,
        "package": package_sha256(),
        "constants": hashlib.sha256(repr(_plain(parts.constants)).encode()).hexdigest(),
        "files": _named_files(parts),
    }
    return table | {"sha256": hashlib.sha256(json.dumps(table).encode()).hexdigest()}


def package_sha256(*more: str) -> str:
    """Return the SHA-256 of the package's code and built-in hardware.

    Parameters
    ----------
    more : names of further folders of data
    """
    return _files_sha256([_PACKAGE, *map(data_folder, ("hardware_specs", *more))])


def _files_sha256(folders: Iterable[Path]) -> str:
    """Return the SHA-256 over names and contents of all files in folders that affect predictions."""
    digest = hashlib.sha256()
    for folder in folders:
        files = [folder] if folder.is_file() else folder.rglob("*")
        for file in sorted(file for file in files if file.suffix in _KEPT and file.is_file()):
            if "_data" in file.relative_to(folder).parts:
                continue
            name = file.relative_to(folder).as_posix()
            digest.update(f"{name}\n{file_sha256(file)}\n".encode())
    return digest.hexdigest()


def _named_files(parts: Parts) -> dict[str, str]:
    """Return the SHA-256 of every file that an option names, and of the user's own hardware."""
    named = sorted({value for values in parts.axes.values() for value in values if isinstance(value, str)})
    files = {name: file_sha256(Path(name)) for name in named if _is_file(name)}
    own = parts.catalogue.own_folders
    return files | ({"hardware specs": _files_sha256(own)} if own else {})


def _is_file(name: str) -> bool:
    """Return whether a name is that of a file."""
    try:
        return Path(name).is_file()
    except (OSError, ValueError):
        return False


def _short(values: tuple[Any, ...]) -> Any:
    """Return values for JSON; whole numbers in equal steps as first, last and step."""
    if len(values) > 2 and all(type(value) is int for value in values):
        step = values[1] - values[0]
        if step > 0 and values == tuple(range(values[0], values[-1] + 1, step)):
            return {"from": values[0], "to": values[-1], "step": step}
    return list(values)


def _plain(value: Any) -> Any:
    """Return constants in an order that is the same in every process."""
    if isinstance(value, Mapping):
        return [[str(key), _plain(value[key])] for key in sorted(value, key=str)]
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if hasattr(value, "tolist"):
        return value.tolist()
    return _plain(vars(value)) if hasattr(value, "__dict__") else value


def _in_words(names: list[str]) -> str:
    """Return names joined by commas and "and", without ``sha256`` if there are others."""
    known = [name for name in names if name != "sha256"] or names
    return f"{', '.join(known[:-1])} and {known[-1]}" if len(known) > 1 else known[0]
