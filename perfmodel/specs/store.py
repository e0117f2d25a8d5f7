"""The catalogue of hardware: finds a spec by its id, reads its one file, and checks it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import ValidationError

from perfmodel.errors import InputError, unknown_name
from perfmodel.reading import LARGEST_OPTIONS, parse_toml, read_text, read_toml
from perfmodel.resources import folder
from perfmodel.specs.accelerator import Accelerator
from perfmodel.specs.link import Link, RingBandwidth
from perfmodel.specs.names import Named, meaning, taken_as
from perfmodel.specs.node import Node
from perfmodel.specs.provenance import Quantity, Source, Spec

if TYPE_CHECKING:
    from perfmodel.specs.instance import Instance

Kind = Literal["accelerators", "nodes", "links"]
_Spec = TypeVar("_Spec", bound=Spec)

_CLASSES: dict[Kind, type[Accelerator] | type[Node] | type[Link]] = {
    "accelerators": Accelerator,
    "nodes": Node,
    "links": Link,
}
_TELLS: dict[str, Kind] = {
    "peak_flops": "accelerators",
    "accelerators": "nodes",
    "hop_latency": "links",
}
"""A key only one kind of file has; it sorts the files of a flat folder."""

_OTHER_FILES = ("instances.toml", "storage.toml")
"""Files of a folder that describe no single thing."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_PLAIN = {
    "missing": "the key is missing",
    "finite_number": "expected a finite number",
    "float_type": "expected a number",
    "int_type": "expected a whole number",
    "string_type": "expected text",
    "date_type": "expected a date such as 2026-11-20, without quotes",
    "model_type": "expected a table",
    "dict_type": "expected a table",
}


class Catalogue:
    """The built-in hardware and whatever a user puts beside or over it.

    A folder holds ``accelerators/``, ``nodes/``, ``links/`` and ``instances.toml``, or its spec files
    side by side; a single file does too.  Of two files with one id the later folder's is used.  Only the
    file asked for is read, once.
    """

    def __init__(self, folders: Iterable[Path | str] = ()) -> None:
        """Take the built-in folder, then ``folders``; a folder without a spec file is an InputError."""
        self._folders = [folder("hardware_specs"), *(Path(path) for path in folders)]
        self._cache: dict[tuple[Kind, str], Any] = {}
        self._others: dict[tuple[Kind, str], tuple[str, ...]] = {}
        self._known: dict[Kind, list[Named]] = {}
        for path in self._folders[1:]:
            if not os.path.exists(path):  # unlike Path's own, also for a name too long to be one
                raise InputError(f"{path}: no such file or folder of hardware specs")
            if not (path.is_file() or path.is_dir()):
                raise InputError(
                    f"{path}: a device, pipe or socket; expected a file or folder of hardware specs"
                )
            if not (
                _is_sorted(path) or (path.is_file() and path.suffix == ".toml") or any(path.glob("*.toml"))
            ):
                raise InputError(
                    f"{path}: no .toml file; expected spec files, or folders accelerators/, nodes/, links/"
                )

    @staticmethod
    @cache
    def built_in() -> Catalogue:
        """Return the catalogue that comes with the package, one for the whole process."""
        return Catalogue()

    def accelerator(self, id: str) -> Accelerator:
        """Return one accelerator by its id or a name people use; an unknown one or a bad file: InputError."""
        return self._get("accelerators", id, Accelerator)

    def node(self, id: str) -> Node:
        """Return one node by its id or a name people use; an unknown one or a bad file: InputError."""
        return self._get("nodes", id, Node)

    def link(self, id: str) -> Link:
        """Return one link by its id or a name people use; an unknown one or a bad file: InputError."""
        return self._get("links", id, Link)

    def instances(self) -> tuple[Instance, ...]:
        """Return every cloud offer; a later folder's replaces the same offer in the same region."""
        from perfmodel.specs.instance import InstanceFile

        offers: dict[tuple[str, str, str | None], Instance] = {}
        for path in self._folders:
            file = path if path.name == "instances.toml" else path / "instances.toml"
            if file.is_file():
                for offer in _checked(InstanceFile, file, read_toml(file)).instances:
                    offers[offer.provider, offer.instance, offer.region] = offer
        return tuple(offers.values())

    def others(self, kind: Kind, name: str) -> tuple[str, ...]:
        """Return what a name that was looked up might have meant as well: members of the same family."""
        return self._others.get((kind, name), ())

    def note(self, kind: Kind, name: str) -> str | None:
        """Say what a name that was looked up was taken to mean, where it fits several things."""
        others = self.others(kind, name)
        return taken_as(name, self._cache[kind, name].id, others) if others else None

    def kind_of(self, name: str) -> Kind | None:
        """Return what kind of thing an id, or else a name people use, belongs to; None where nobody knows it.

        Raises
        ------
        InputError : the name fits several things, of which none is the most common
        """
        by_id = (kind for kind in _CLASSES if name in self.ids(kind))
        return next(by_id, None) or next(
            (kind for kind in _CLASSES if meaning(kind.removesuffix("s"), name, self._named(kind))), None
        )

    def ids(self, kind: Kind) -> list[str]:
        """Return every id of one kind, sorted."""
        return sorted({file.stem for path in self._folders for file in _files_of_kind(path, kind)})

    def _get(self, kind: Kind, id: str, model: type[_Spec]) -> _Spec:
        key = (kind, id)
        if key not in self._cache:
            self._cache[key] = self._load(kind, id, model)
        return self._cache[key]  # type: ignore[no-any-return]

    def _load(self, kind: Kind, id: str, model: type[_Spec]) -> _Spec:
        if _ID.fullmatch(id):
            for path in reversed(self._folders):
                file = _find(path, kind, id)
                if file is not None:
                    return _load_file(file, model)
        one = kind.removesuffix("s")
        meant = meaning(one, id, self._named(kind))
        if meant is None:
            raise unknown_name(one, id, self.ids(kind))
        self._others[kind, id] = meant.others
        return self._get(kind, meant.id, model)

    def _named(self, kind: Kind) -> list[Named]:
        """Everything of a kind with what it is called, each by the file that holds; read once."""
        if kind not in self._known:
            files = {file.stem: file for path in self._folders for file in _files_of_kind(path, kind)}
            self._known[kind] = [_names_of(file) for _, file in sorted(files.items())]
        return self._known[kind]


def _load_file(file: Path, model: type[_Spec]) -> _Spec:
    table = read_toml(file)
    if table.get("id", file.stem) != file.stem:
        raise InputError(
            _one_line(f"{file}: id is {table['id']!r}; expected {file.stem!r}, the name of the file")
        )
    if folder("hardware_specs") in file.parents:
        return _trusted(model, table)
    return _checked(model, file, table)


def _trusted(model: type[_Spec], table: dict[str, Any]) -> _Spec:
    """Return the spec of a file that comes with the package, which the tests have checked.

    Checking it again would build pydantic's validators, a twentieth of the start of ``perfmodel predict``.
    """
    trusted: Any = model.model_construct(**{key: _value(key, item) for key, item in table.items()})
    return trusted  # type: ignore[no-any-return]


def _value(key: str, item: Any) -> Any:
    if isinstance(item, list):
        return tuple(tuple(part) if isinstance(part, list) else part for part in item)
    if not isinstance(item, dict):
        return item
    if "by_group_size" in item:
        rings = {int(size): float(rate) for size, rate in item["by_group_size"].items()}
        return RingBandwidth.model_construct(**{**item, "by_group_size": rings})
    if "basis" in item:
        return Quantity.model_construct(**{**item, "value": float(item["value"])})
    if key == "sources":
        return {name: Source.model_construct(**source) for name, source in item.items()}
    return {name: _value(name, part) for name, part in item.items()}


def _find(path: Path, kind: Kind, id: str) -> Path | None:
    """Return the file of one spec below ``path``, which may be that file."""
    if _is_sorted(path):
        file = path / kind / f"{id}.toml"
        return file if file.is_file() else None
    file = path if path.is_file() and path.stem == id else path / f"{id}.toml"
    return file if file.is_file() and _is_kind(file, kind) else None


def _is_sorted(path: Path) -> bool:
    """Whether the folder sorts its specs into ``accelerators/``, ``nodes/`` and ``links/``."""
    return any((path / kind).is_dir() for kind in _CLASSES)


def _is_kind(file: Path, kind: Kind) -> bool:
    """Whether a file of a flat folder is of this kind; one without any telling key may be any."""
    if file.suffix != ".toml" or file.name in _OTHER_FILES:
        return False
    told = {_TELLS[key] for key in read_toml(file) if key in _TELLS}
    return not told or kind in told


def _files_of_kind(path: Path, kind: Kind) -> Iterator[Path]:
    if _is_sorted(path):
        yield from (path / kind).glob("*.toml")
    else:
        yield from (
            file for file in ([path] if path.is_file() else path.glob("*.toml")) if _is_kind(file, kind)
        )


def _names_of(file: Path) -> Named:
    """Return what a spec is called: the keys before the first table of its file, which are read fast."""
    text = read_text(file, LARGEST_OPTIONS)
    try:
        table = parse_toml(text.partition("\n[")[0], file)
    except InputError:  # no spec, or a text that holds such a bracket
        table = parse_toml(text, file)
    aliases = table.get("aliases")
    names = [table.get("name"), *(aliases if isinstance(aliases, list) else [])]
    family = table.get("family")
    return Named(
        file.stem,
        tuple(name for name in names if isinstance(name, str)),
        family if isinstance(family, str) else "",
        table.get("most_common") is True,
    )


def _checked(model: type[_Spec], file: Path, table: dict[str, Any]) -> _Spec:
    try:
        return model.model_validate(table)
    except ValidationError as error:
        raise InputError(_explain(file, error)) from None


def _explain(file: Path, error: ValidationError) -> str:
    """Return one line that names file, key, value and what was expected; the rest is counted."""
    first, *others = error.errors(include_url=False)
    key = ".".join(str(part) for part in first["loc"] if part != "[key]")
    cause = first.get("ctx", {}).get("error")
    if first["type"] == "value_error":
        told = f"{key}: {cause}" if key else str(cause)
    elif first["type"] == "extra_forbidden":
        told = f"{key} = {_short(first['input'])}: nobody knows this key"
    elif first["type"] == "missing":
        told = f"{key}: {_PLAIN['missing']}"
    else:
        wrong = first["msg"].replace("Input should be", "expected").replace("String should", "expected to")
        told = f"{key} = {_short(first['input'])}: {_PLAIN.get(first['type'], wrong)}"
    more = f" (and {len(others)} more)" if others else ""
    return _one_line(f"{file}: {told}{more}")


def _short(value: object) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _one_line(text: str) -> str:
    return " ".join(text.split())
