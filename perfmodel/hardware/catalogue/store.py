"""The catalogue of hardware and software: finds a spec by its id, reads its one file, and checks it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from perfmodel.core.errors import InputError, refusal, unknown_name
from perfmodel.core.files.attachments import is_request
from perfmodel.core.files.reading import LARGEST_OPTIONS, parse_toml, read_text, read_toml
from perfmodel.core.files.resources import folder
from perfmodel.core.records.arguments import FILES, expect
from perfmodel.core.records.names import Named, meaning, taken_as
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.catalogue.kinds import CLASSES, KINDS, AnySpec, Kind
from perfmodel.hardware.catalogue.left_out import why_left_out
from perfmodel.hardware.catalogue.spec_file import load
from perfmodel.hardware.link import Link
from perfmodel.hardware.node import Node
from perfmodel.hardware.provenance import Spec
from perfmodel.hardware.software import Software

if TYPE_CHECKING:
    from perfmodel.hardware.catalogue.own_specs import OwnSpecs
    from perfmodel.hardware.instance import Instance, Region

_Spec = TypeVar("_Spec", bound=Spec)
FOLDERS = ", ".join(f"{kind}/" for kind in KINDS)
_TELLS: dict[str, Kind] = {
    "peak_flops": "accelerators",
    "accelerators": "nodes",
    "hop_latency": "links",
    "versions": "software",
    "based_on": "software",
}
"""A key only one kind of file has; it sorts the files of a flat folder."""

_OTHER_FILES = ("instances.toml", "storage.toml")
"""Files of a folder that describe no single thing."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Catalogue:
    """The built-in hardware and whatever a user puts beside or over it.

    A folder holds ``accelerators/``, ``nodes/``, ``links/``, ``software/`` and ``instances.toml``, or its
    spec files side by side; a single file does too.  Of two files with one id the later folder's is used.
    Only the file that is needed is read, once.
    """

    def __init__(self, folders: Iterable[Path | str] = ()) -> None:
        """Take the built-in folder, then ``folders``; a folder without a spec file is an InputError."""
        folders = tuple(folders) if isinstance(folders, Iterator) else folders
        expect(FILES, folders=folders)
        self._folders = [folder("hardware_specs"), *(Path(path) for path in folders)]
        self._cache: dict[tuple[Kind, str], Any] = {}
        self._others: dict[tuple[Kind, str], tuple[str, ...]] = {}
        self._known: dict[Kind, list[Named]] = {}
        self._own: OwnSpecs | None = None
        for path in self._folders[1:]:
            if is_request():
                raise refusal("spec.no_folders").under(path)
            if not os.path.exists(path):  # unlike Path's own, also for a name too long to be one
                raise refusal("spec.missing").under(path)
            if not (path.is_file() or path.is_dir()):
                raise refusal("spec.device").under(path)
            if not (
                _is_sorted(path) or (path.is_file() and path.suffix == ".toml") or any(path.glob("*.toml"))
            ):
                raise refusal("spec.empty_folder", folders=FOLDERS).under(path)

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to another process, where the package may lie elsewhere, by the user's own folders alone."""
        return Catalogue, (self.own_folders,)

    @property
    def own_folders(self) -> tuple[Path, ...]:
        """What a user put beside or over the built-in hardware."""
        return tuple(self._folders[1:])

    @property
    def has_own(self) -> bool:
        """Whether a user described any hardware."""
        return bool(self.own_folders) or self._own is not None

    @staticmethod
    @cache
    def built_in() -> Catalogue:
        """Return the catalogue that comes with the package, one for the whole process."""
        return Catalogue()

    @staticmethod
    def with_tables(tables: Mapping[str, Any]) -> Catalogue:
        """Return the built-in catalogue with specs of tables over it.

        Raises
        ------
        InputError : as of ``own_specs``
        """
        from perfmodel.hardware.catalogue.own_specs import own_specs

        catalogue = Catalogue()
        catalogue._own = own_specs(tables)
        return catalogue

    @staticmethod
    def of(catalogue: Catalogue | None) -> Catalogue:
        """Return a catalogue, or the built-in one for None.

        Raises
        ------
        InputError : neither
        """
        if catalogue is None:
            return Catalogue.built_in()
        if not isinstance(catalogue, Catalogue):
            raise refusal("spec.catalogue", "catalogue", catalogue=catalogue)
        return catalogue

    def accelerator(self, id: str) -> Accelerator:
        """Return one accelerator by its id or a name people use; an unknown one or a bad file: InputError."""
        return self._get("accelerators", id, Accelerator)

    def node(self, id: str) -> Node:
        """Return one node by its id or a name people use; an unknown one or a bad file: InputError."""
        return self._get("nodes", id, Node)

    def link(self, id: str) -> Link:
        """Return one link by its id or a name people use; an unknown one or a bad file: InputError."""
        return self._get("links", id, Link)

    def software(self, id: str) -> Software:
        """Return software by its id or a name people use; an unknown one or a bad file: InputError."""
        return self._get("software", id, Software)

    def spec(self, kind: Kind, id: str) -> AnySpec:
        """Return one spec of a kind by its id or a name people use; unknown, or a bad file: InputError."""
        return self._get(kind, id, CLASSES[kind])

    def find(self, name: str) -> tuple[Kind, AnySpec]:
        """Return what an id, or else a name people use, stands for, and of what kind it is.

        Raises
        ------
        InputError : nobody knows the name, it fits several things, or its file is bad
        """
        kind = self.kind_of(name)
        if kind is None:
            known = next(filter(None, (why_left_out(each, name) for each in KINDS)), None)
            raise known or unknown_name("spec", name, (id for kind in KINDS for id in self.ids(kind)))
        return kind, self.spec(kind, name)

    def instances(self) -> tuple[Instance, ...]:
        """Return every cloud offer; a later folder's replaces the same offer in the same region."""
        return self._offers

    @cached_property
    def _offers(self) -> tuple[Instance, ...]:
        from perfmodel.hardware.instance import InstanceFile

        offers: dict[tuple[str, str, str | None], Instance] = {}
        for path in self._folders:
            file = path if path.name == "instances.toml" else path / "instances.toml"
            if file.is_file():
                for offer in load(file, InstanceFile).instances:
                    offers[offer.provider, offer.instance, offer.region] = offer
        for offer in () if self._own is None else self._own.offers:
            offers[offer.provider, offer.instance, offer.region] = offer
        return tuple(offers.values())

    @cached_property
    def regions(self) -> dict[tuple[str, str], Region]:
        """What is known of regions, by provider and name; a later folder's replaces an earlier one's."""
        from perfmodel.hardware.instance import InstanceFile

        result: dict[tuple[str, str], Region] = {}
        for path in self._folders:
            file = path if path.name == "instances.toml" else path / "instances.toml"
            if file.is_file():
                result |= {(one.provider, one.region): one for one in load(file, InstanceFile).regions}
        return result

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
        by_id = (kind for kind in CLASSES if name in self.ids(kind))
        return next(by_id, None) or next(
            (kind for kind in CLASSES if meaning(kind.removesuffix("s"), name, self.named(kind))), None
        )

    def ids(self, kind: Kind) -> list[str]:
        """Return every id of one kind, sorted."""
        files = {file.stem for path in self._folders for file in _files_of_kind(path, kind)}
        return sorted(files.union(self._own_of(kind)))

    def own_ids(self, kind: Kind) -> list[str]:
        """Return the ids of one kind that the user's own files and tables describe, sorted."""
        files = {file.stem for path in self.own_folders for file in _files_of_kind(path, kind)}
        return sorted(files.union(self._own_of(kind)))

    def _own_of(self, kind: Kind) -> Mapping[str, Any]:
        """Return the specs of a kind that were given as tables, by their ids."""
        return {} if self._own is None else self._own.by_kind.get(kind, {})

    def _get(self, kind: Kind, id: str, model: type[_Spec]) -> _Spec:
        known = self._cache.get((kind, id))
        if known is None:
            known = self._cache[kind, id] = self._load(kind, id, model)
        return known

    def _load(self, kind: Kind, id: str, model: type[_Spec]) -> _Spec:
        if id in (own := self._own_of(kind)):
            return own[id]  # type: ignore[no-any-return]
        if _ID.fullmatch(id):
            for path in reversed(self._folders):
                file = _find(path, kind, id)
                if file is not None:
                    return load(file, model)
        one = kind.removesuffix("s")
        meant = meaning(one, id, self.named(kind))
        if meant is None:
            raise why_left_out(kind, id) or unknown_name(one, id, self.ids(kind))
        self._others[kind, id] = meant.others
        return self._get(kind, meant.id, model)

    def named(self, kind: Kind) -> list[Named]:
        """Return everything of a kind with what it is called, each by the file that holds; read once."""
        if kind not in self._known:
            files = {file.stem: file for path in self._folders for file in _files_of_kind(path, kind)}
            names = {id: _names_of(file) for id, file in files.items()}
            names |= {
                id: Named(id, (spec.name, *spec.aliases), spec.family, spec.most_common)
                for id, spec in self._own_of(kind).items()
            }
            self._known[kind] = [each for _, each in sorted(names.items())]
        return self._known[kind]


def _find(path: Path, kind: Kind, id: str) -> Path | None:
    """Return the file of one spec below ``path``, which may be that file."""
    if _is_sorted(path):
        file = path / kind / f"{id}.toml"
        return file if file.is_file() else None
    file = path if path.is_file() and path.stem == id else path / f"{id}.toml"
    return file if file.is_file() and _is_kind(file, kind) else None


def _is_sorted(path: Path) -> bool:
    """Whether the folder sorts its specs into folders by kind."""
    return any((path / kind).is_dir() for kind in CLASSES)


def _is_kind(file: Path, kind: Kind) -> bool:
    """Whether a file of a flat folder is of this kind; one without any telling key may be any."""
    if file.suffix != ".toml" or file.name in _OTHER_FILES:
        return False
    report = {_TELLS[key] for key in read_toml(file) if key in _TELLS}
    return not report or kind in report


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
