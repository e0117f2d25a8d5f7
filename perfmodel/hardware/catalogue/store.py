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
    from perfmodel.hardware.instance import Instance, InstanceFile, Interruptions, Region

_Spec = TypeVar("_Spec", bound=Spec)
FOLDERS = ", ".join(f"{kind}/" for kind in KINDS)
_KIND_OF_KEY: dict[str, Kind] = {
    "peak_flops": "accelerators",
    "accelerators": "nodes",
    "hop_latency": "links",
    "versions": "software",
    "based_on": "software",
}
"""Key that only files of one kind have -> the kind; it sorts the files of a flat folder."""

_OTHER_FILES = ("instances.toml", "storage.toml")
"""Files that are not the spec of one thing."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Catalogue:
    """The built-in specs of hardware and software, with a user's own specs added or in their place.

    A user's folder has ``accelerators/``, ``nodes/``, ``links/``, ``software/`` and ``instances.toml``, or
    all spec files in one folder; a single file may be given too.  Of two files with one id, that of the later
    folder is used.  A file is read when it is first needed, folders are listed once: a file that comes later
    needs a new catalogue.
    """

    def __init__(self, folders: Iterable[Path | str] = ()) -> None:
        """Search the built-in folder, then ``folders``; a folder without a spec file raises InputError."""
        folders = tuple(folders) if isinstance(folders, Iterator) else folders
        expect(FILES, folders=folders)
        self.own_folders = tuple(Path(path) for path in folders)
        """The user's folders and files of specs."""
        self._cache: dict[tuple[Kind, str], Any] = {}
        self._others: dict[tuple[Kind, str], tuple[str, ...]] = {}
        self._known: dict[Kind, list[Named]] = {}
        self._files: dict[Kind, dict[str, Path]] = {}
        self._kinds: dict[Path, frozenset[Kind]] = {}
        self._own: OwnSpecs | None = None
        for path in self.own_folders:
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
        """Pickle only the user's folders, as the package may be elsewhere in another process."""
        return Catalogue, (self.own_folders,)

    @property
    def has_own(self) -> bool:
        """Whether a user gave specs, as files or tables."""
        return bool(self.own_folders) or self._own is not None

    @property
    def _base(self) -> Catalogue | None:
        """The catalogue that a user's own specs are added to; None of that one itself."""
        return Catalogue.built_in() if self.has_own else None

    @property
    def _folders(self) -> tuple[Path, ...]:
        """Where this catalogue looks, apart from the one that it adds to."""
        return self.own_folders if self._base else (folder("hardware_specs"),)

    @staticmethod
    @cache
    def built_in() -> Catalogue:
        """Return the catalogue of the package, one for the whole process."""
        return Catalogue()

    @staticmethod
    def with_tables(tables: Mapping[str, Any]) -> Catalogue:
        """Return a catalogue of the built-in specs and those of tables, which take precedence.

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
        InputError : any other object
        """
        if catalogue is None:
            return Catalogue.built_in()
        if not isinstance(catalogue, Catalogue):
            raise refusal("spec.catalogue", "catalogue", catalogue=catalogue)
        return catalogue

    def accelerator(self, id: str) -> Accelerator:
        """Return an accelerator by its id or another name; raises InputError if unknown or invalid."""
        return self._get("accelerators", id, Accelerator)

    def node(self, id: str) -> Node:
        """Return a node by its id or another name; raises InputError if unknown or invalid."""
        return self._get("nodes", id, Node)

    def link(self, id: str) -> Link:
        """Return a link by its id or another name; raises InputError if unknown or invalid."""
        return self._get("links", id, Link)

    def software(self, id: str) -> Software:
        """Return software by its id or another name; raises InputError if unknown or invalid."""
        return self._get("software", id, Software)

    def spec(self, kind: Kind, id: str) -> AnySpec:
        """Return a spec of a kind by its id or another name; raises InputError if unknown or invalid."""
        return self._get(kind, id, CLASSES[kind])

    def find(self, name: str) -> tuple[Kind, AnySpec]:
        """Return the kind and the spec that an id or another name means.

        Raises
        ------
        InputError : the name is unknown or ambiguous, or its file is invalid
        """
        kind = self.kind_of(name)
        if kind is None:
            known = next(filter(None, (why_left_out(each, name) for each in KINDS)), None)
            raise known or unknown_name("spec", name, (id for kind in KINDS for id in self.ids(kind)))
        return kind, self.spec(kind, name)

    def instances(self) -> tuple[Instance, ...]:
        """Return every cloud offer; one of a later folder replaces the same offer in the same region."""
        return self._offers

    @cached_property
    def _offers(self) -> tuple[Instance, ...]:
        listed = [offer for file in self._of_clouds for offer in file.instances]
        listed += () if self._own is None else self._own.offers
        return tuple({(one.provider, one.instance, one.region): one for one in listed}.values())

    @cached_property
    def regions(self) -> dict[tuple[str, str], Region]:
        """Cloud regions by provider and name; one of a later folder replaces an earlier one."""
        return {(one.provider, one.region): one for file in self._of_clouds for one in file.regions}

    @cached_property
    def interruptions(self) -> tuple[Interruptions, ...]:
        """How often machines at spot prices are taken back; those of a later folder first."""
        return tuple(one for file in reversed(self._of_clouds) for one in file.interruptions)

    @cached_property
    def _of_clouds(self) -> tuple[InstanceFile, ...]:
        """What each folder says of clouds, the built-in one first."""
        from perfmodel.hardware.instance import InstanceFile

        files = (path if path.name == "instances.toml" else path / "instances.toml" for path in self._folders)
        read = (load(file, InstanceFile) for file in files if file.is_file())
        return (*(self._base._of_clouds if self._base else ()), *read)

    def others(self, kind: Kind, name: str) -> tuple[str, ...]:
        """Return the other family members that a name fits, after it was looked up."""
        return self._others.get((kind, name), ())

    def note(self, kind: Kind, name: str) -> str | None:
        """Return the note about an ambiguous name, after it was looked up; None if it was not ambiguous."""
        others = self.others(kind, name)
        return taken_as(name, self._cache[kind, name].id, others) if others else None

    def kind_of(self, name: str) -> Kind | None:
        """Return the kind of the spec that an id or another name means; None of an unknown name.

        Raises
        ------
        InputError : the name is ambiguous
        """
        by_id = (kind for kind in CLASSES if name in self.ids(kind))
        return next(by_id, None) or next(
            (kind for kind in CLASSES if meaning(kind.removesuffix("s"), name, self.named(kind))), None
        )

    def ids(self, kind: Kind) -> list[str]:
        """Return all ids of one kind, sorted."""
        return sorted(
            {*(self._base.ids(kind) if self._base else ()), *self._files_of(kind), *self._own_of(kind)}
        )

    def own_ids(self, kind: Kind) -> list[str]:
        """Return the ids of one kind that the user's own files and tables describe, sorted."""
        return sorted({*self._files_of(kind), *self._own_of(kind)}) if self.has_own else []

    def _files_of(self, kind: Kind) -> dict[str, Path]:
        """Return by id the file of each spec of a kind that takes precedence; looked for once."""
        if kind not in self._files:
            below = (self._files_below(path, kind) for path in self._folders)
            self._files[kind] = {file.stem: file for files in below for file in files}
        return self._files[kind]

    def _files_below(self, path: Path, kind: Kind) -> Iterator[Path]:
        """Return the files of a kind in a folder; a flat one holds several kinds, a file may be given too."""
        if _is_sorted(path):
            return (path / kind).glob("*.toml")
        files = [path] if path.is_file() else path.glob("*.toml")
        return (file for file in files if self._may_be(file, kind))

    def _find(self, path: Path, kind: Kind, id: str) -> Path | None:
        """Return the file of one spec below ``path``, which may be that file."""
        if _is_sorted(path):
            file = path / kind / f"{id}.toml"
            return file if file.is_file() else None
        file = path if path.is_file() and path.stem == id else path / f"{id}.toml"
        return file if file.is_file() and self._may_be(file, kind) else None

    def _may_be(self, file: Path, kind: Kind) -> bool:
        """Whether a file may describe something of a kind, by its keys, read once."""
        if file not in self._kinds:
            self._kinds[file] = _kinds_of(file)
        return kind in self._kinds[file]

    def _own_of(self, kind: Kind) -> Mapping[str, Any]:
        """Return the specs of a kind that were given as tables, by their ids."""
        return {} if self._own is None else self._own.by_kind.get(kind, {})

    def _get(self, kind: Kind, id: str, model: type[_Spec]) -> _Spec:
        """Return a spec by its id, from the cache if it was read before."""
        known = self._cache.get((kind, id))
        if known is None:
            known = self._cache[kind, id] = self._load(kind, id, model)
        return known

    def _load(self, kind: Kind, id: str, model: type[_Spec]) -> _Spec:
        if id in (own := self._own_of(kind)):
            return own[id]  # type: ignore[no-any-return]
        if _ID.fullmatch(id):
            for path in reversed(self._folders):
                file = self._find(path, kind, id)
                if file is not None:
                    return load(file, model)
            if self._base and id in self._base._files_of(kind):
                return self._base._get(kind, id, model)
        one = kind.removesuffix("s")
        meant = meaning(one, id, self.named(kind))
        if meant is None:
            raise why_left_out(kind, id) or unknown_name(one, id, self.ids(kind))
        self._others[kind, id] = meant.others
        return self._get(kind, meant.id, model)

    def named(self, kind: Kind) -> list[Named]:
        """Return the names of all specs of a kind, each from the file that takes precedence; read once."""
        if kind not in self._known:
            names = {each.id: each for each in self._base.named(kind)} if self._base else {}
            names |= {id: _names_of(file) for id, file in self._files_of(kind).items()}
            names |= {
                id: Named(id, (spec.name, *spec.aliases), spec.family, spec.most_common)
                for id, spec in self._own_of(kind).items()
            }
            self._known[kind] = [each for _, each in sorted(names.items())]
        return self._known[kind]


def _is_sorted(path: Path) -> bool:
    """Whether a folder has a subfolder for each kind."""
    return any((path / kind).is_dir() for kind in CLASSES)


def _kinds_of(file: Path) -> frozenset[Kind]:
    """Return the kinds that a file of a flat folder may be of, by its keys; all where these do not say."""
    if file.suffix != ".toml" or file.name in _OTHER_FILES:
        return frozenset()
    return frozenset(_KIND_OF_KEY[key] for key in read_toml(file) if key in _KIND_OF_KEY) or frozenset(KINDS)


def _names_of(file: Path) -> Named:
    """Return the names in a spec's file; only the keys before its first table are parsed, which is fast."""
    text = read_text(file, LARGEST_OPTIONS)
    try:
        table = parse_toml(text.partition("\n[")[0], file)
    except InputError:  # not a spec, or a text with a line that starts with a bracket
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
