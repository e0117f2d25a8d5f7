"""Options, each declared once: a field with type, limits and ``OptionInfo``, and a line of the docstring.

``declared`` reads a class's options; from its result come the options of the command line, the axes of a
sweep, the widgets of a page and the descriptions of the JSON schema.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache, reduce
from inspect import Parameter, Signature, get_annotations
from operator import or_
from types import GenericAlias, NoneType, UnionType
from typing import Annotated, Any, Final, Literal, NamedTuple, Self, Union, get_args, get_origin

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.problem import called, python
from perfmodel.core.records.docstrings import lines_of
from perfmodel.core.records.names import NONE
from perfmodel.core.records.record import REQUIRED, Record, SameAs

Axis = Literal["computation", "way", "data", "layout", "place", "batch", "size"]
Offers = Literal[
    "workloads", "accelerators", "nodes", "links in a node", "links between nodes", "data sets", "instances"
]
MEASURED: Final = ("B", "B/s", "1/s", "s", "W", "USD", "count of samples", "count of tokens")
"""Units with which people may write a number: ``115kB``, ``6000h``, ``$20,000``."""


class OptionInfo(NamedTuple):
    """What command line, sweeps and pages need of an option in addition to type and description."""

    label: str = ""
    """Label of its widget; by default made from its name."""
    name: str = ""
    """Name on the command line without dashes, where it is not the field's name."""
    synonyms: Mapping[str, str] = NONE
    """Synonym of a choice -> the choice."""
    unit: str = ""
    """One of ``MEASURED``, where the number may be written with its unit."""
    offers: Offers | None = None
    """What the value names; a page lists all of them."""
    axis: Axis = "way"
    """The part of the evaluation that changes with the option, so that a sweep repeats no other: the work of
    one accelerator (computation), its distribution (way), samples (data), model parallelism (layout), the
    machine (place), batch, or number of accelerators (size).  ``way`` is correct for any option."""
    basic: bool = False
    """Whether pages show it at once; the others are in a folded section."""
    commas: bool = False
    """Whether a value may contain commas; a sweep then repeats the option for each value."""
    file: bool = False
    """Whether the value names a file, which Python also takes as a ``Path``, and a page as an upload."""
    law: bool = False
    """Whether the value is a distribution of times, which may name a file: ``empirical:FILE``."""
    denied: bool = True
    """Whether a flag has a negative form: ``--no-network-cap``."""
    shell: bool = True
    """Whether the command line has it."""
    but: tuple[str, ...] = ()
    """Of a table of options, those that the command line leaves out."""
    flag: str = ""
    """Of a table of options, the flag by which the command line gives it without any of its options."""
    read: Callable[[Any], Any] | None = None
    """Function from the text, or its form in Python and JSON, to the value; may raise InputError."""
    form: str = ""
    """Format of that text for the help, in capitals: ``MACHINES:SPEED-UP``."""
    old: str = ""
    """A former name, still accepted but not shown."""
    sent: Callable[[Any, Any], Any] | None = None
    """Function from a value and the client's ``Files`` to the JSON value that the client sends."""
    bare: bool = False
    """Whether the command line also takes a time without a unit, in seconds."""
    also: str = ""
    """A class, as ``module:name``; in Python the value may be an instance of it."""
    several: int = 0
    """Most values of a list that may replace the one value; 0: no list is allowed."""


class Declared(NamedTuple):
    """One option as its class declares it."""

    field: str
    """Name in Python and JSON."""
    name: str
    """Name on the command line, without dashes."""
    type: Any
    """``bool``, ``int``, ``float``, ``str`` or the ``Literal`` of ``choices``."""
    choices: tuple[str, ...]
    """The words it takes; empty for an option of another type."""
    least: float | None
    most: float | None
    above: bool
    """Whether it must be more than ``least``, not equal."""
    default: Any
    unit: str
    """Unit of a number; ``1`` of a count."""
    template: str
    """Description in a sentence or two, with other options as in messages: ``--base-batch``."""
    default_template: str
    """Description of the default, in the same form; empty where it is obvious."""
    info: OptionInfo
    many: bool = False
    """Whether it takes several values, each of ``type``."""
    heading: str = ""
    """Heading of its group in help and pages."""

    @property
    def words(self) -> str:
        """The description, other options by their names in Python and JSON."""
        return called(self.template, python)

    @property
    def usual(self) -> str:
        """The description of the default, other options as in ``words``."""
        return called(self.default_template, python)

    @property
    def line(self) -> str:
        """The description as a line of a docstring, with unit and default."""
        unit = f"[{self.unit}] " if self.unit else ""
        usual = f"  [default: {self.usual}]" if self.usual else ""
        return f"{unit}{self.words}{usual}"

    def takes(self, value: object) -> bool:
        """Whether a value is valid as it is; pydantic has to convert or refuse any other."""
        if value is None:
            return self.default is None
        if self.many or type(value) is not (str if self.choices else self.type):
            return False
        if isinstance(value, bool | str):
            return value in self.choices if self.choices else True
        if isinstance(value, int | float):
            least, most = self.least, self.most
            enough = least is None or value > least or (value == least and not self.above)
            return enough and (most is None or value <= most)
        return False

    @property
    def is_text(self) -> bool:
        """Whether its number may be given as text: with a unit, or as a percentage."""
        return self.type is float and (self.unit in MEASURED or self.most == 1)

    @property
    def label(self) -> str:
        """Label of its widget, with the unit of a number that is written without one."""
        name = self.field if self.many else self.name
        words = self.info.label or name.replace("_", " ").replace("-", " ").capitalize()
        bare = self.type in (int, float) and self.unit not in ("", "1", *MEASURED)
        return f"{words} [{self.unit}]" if bare else words


class PlainSignature:
    """Descriptor for ``__signature__``: the fields of a class with plain types, without their annotations."""

    def __get__(self, _: Any, cls: type) -> Signature:
        return Signature(
            [
                Parameter(
                    one.field,
                    Parameter.KEYWORD_ONLY,
                    default=one.default,
                    annotation=_annotation(one),
                )
                for one in declared(cls).values()
            ]
        )


def _annotation(one: Declared) -> Any:
    if one.many:
        return GenericAlias(tuple, (one.type, ...))
    return one.type if one.default is not None else one.type | None


class Described(Record):
    """A record of options, whose fields have label, description and unit, also in its JSON schema.

    It accepts a choice in any spelling or as a synonym, and a number with its unit, such as ``115kB``.
    """

    __signature__ = PlainSignature()

    def __init__(self, /, **options: Any) -> None:
        """Make a record of options by name; an unknown option or an invalid value raises InputError."""
        written, known = self.as_written(options), declared(type(self))  # type: ignore[arg-type]
        if self._required <= written.keys() and all(
            name in known and known[name].takes(value) for name, value in written.items()
        ):
            self._fill({**self._blank, **written} if len(written) == len(known) else dict(written))
            return
        try:
            super().__init__(**options)
        except ValueError as error:
            raise self.refused(error, options) from None

    @classmethod
    def as_written(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return options with former names replaced by those of the fields."""
        older = {one.info.old: name for name, one in declared(cls).items() if one.info.old not in ("", name)}  # type: ignore[arg-type]
        if twice := [(old, name) for old, name in older.items() if {old, name} <= given.keys()]:
            raise refusal("scenario.twice", *twice[0], field=twice[0][0], key=twice[0][1])
        return {older.get(name, name): value for name, value in given.items()} if older else given

    @classmethod
    def model_validate(cls, given: Any) -> Self:
        """Return a record of a mapping of options, or the record itself; errors as of the class."""
        if isinstance(given, cls):
            return given
        if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
            raise refusal("options.no_table", given=given)
        return cls(**given)

    @classmethod
    def model_validate_json(cls, text: str | bytes) -> Self:
        """Return a record of options in a JSON text; errors as of the class, or of ``json.loads``."""
        return cls.model_validate(json.loads(text))

    @classmethod
    def refused(cls, error: Any, options: Mapping[str, Any]) -> InputError:
        """Return pydantic's error as an ``InputError``.

        Parameters
        ----------
        error : pydantic's ValidationError
        options : as the caller gave them
        """
        from perfmodel.core.records.mistakes import refused

        return refused(error, cls, kind="option")

    @classmethod
    def checked_as(cls, name: str) -> Any:
        """Return the annotated type by which pydantic reads and checks a field."""
        from perfmodel.core.records.checked_types import checked_type

        return checked_type(declared(cls)[name], super().checked_as(name))  # type: ignore[arg-type]


@cache
def declared(cls: type) -> dict[str, Declared]:
    """Return the options that a class declares, by field.

    Parameters
    ----------
    cls : a record or a named tuple, its fields annotated, its docstring with a section ``Parameters``

    Examples
    --------
    >>> class Job(NamedTuple):
    ...     '''A job.
    ...
    ...     Parameters
    ...     ----------
    ...     nics : [1] Network adapters per node.  [default: all]
    ...     '''
    ...
    ...     nics: int | None = None
    >>> one = declared(Job)["nics"]
    >>> one.type, one.unit, one.words, one.usual, one.label
    (<class 'int'>, '1', 'Network adapters per node.', 'all', 'Nics')
    """
    lines = _described(cls)
    return {
        field: _declared(field, kind, metadata, default, lines.get(field, _Line()))
        for field, kind, metadata, default in _fields(cls)
    }


class _Line(NamedTuple):
    """A field's line in the docstring of its class."""

    unit: str = ""
    words: str = ""
    usual: str = ""
    heading: str = ""


def _described(cls: type) -> dict[str, _Line]:
    """Return the line of each field, from a class, its bases and the classes whose fields it shares."""
    lines: dict[str, _Line] = {}
    for one in reversed(cls.__mro__):
        own = vars(one)
        same: Mapping[str, SameAs] = own.get("same_as", {})
        for name in get_annotations(one):
            if name in same:
                other = declared(same[name].cls)[name]
                usual = other.default_template if same[name].changed is REQUIRED else ""
                lines[name] = _Line(other.unit, other.template, usual, other.heading)
            else:
                lines[name] = lines.get(name, _Line())._replace(heading=own.get("heading", ""))
        for name, (unit, words, usual) in lines_of(one).items():
            before = lines.get(name, _Line())
            if words != called(before.words, python):  # else a docstring that was written of these lines
                lines[name] = _Line(unit or before.unit, words, usual, before.heading)
    return lines


_BOUNDS = ("gt", "ge", "le")


def _fields(cls: type) -> Iterator[tuple[str, Any, list[Any], Any]]:
    """Yield name, type, metadata and default of each field of a record or a named tuple."""
    if issubclass(cls, Record):
        for name, field in cls.model_fields.items():
            yield name, *_plain(field.annotation), field.value
        return
    defaults: dict[str, Any] = getattr(cls, "_field_defaults", {})
    for name, annotation in cls.__annotations__.items():
        yield name, *_plain(annotation), defaults.get(name)


def _declared(field: str, kind: Any, metadata: list[Any], default: Any, lines: _Line) -> Declared:
    many = get_origin(kind) is tuple
    if many:
        kind, more = _plain(get_args(kind)[0])
        metadata = metadata + more
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    info = next((one for one in metadata if isinstance(one, OptionInfo)), OptionInfo())
    bounds = {
        name: end for one in metadata for name in _BOUNDS if (end := getattr(one, name, None)) is not None
    }
    usual = lines.usual
    if not usual and isinstance(default, str | float | int) and not isinstance(default, bool):
        usual = f"{default:g}" if isinstance(default, float) else str(default)
    return Declared(
        field=field,
        name=info.name or field.replace("_", "-"),
        type=kind,
        choices=choices,
        least=bounds.get("gt", bounds.get("ge")),
        most=bounds.get("le"),
        above="gt" in bounds,
        default=default,
        unit=info.unit or lines.unit,
        template=lines.words,
        default_template=usual,
        info=info,
        many=many,
        heading=lines.heading,
    )


def _plain(annotation: Any) -> tuple[Any, list[Any]]:
    """Return a type without ``None`` and ``Annotated``, and the metadata of the latter."""
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *more = get_args(annotation)
        kind, metadata = _plain(inner)
        return kind, metadata + more
    if origin in (Union, UnionType):
        inner, *others = (_plain(one) for one in get_args(annotation) if one is not NoneType)
        return reduce(or_, (kind for kind, _ in others), inner[0]), inner[1]
    if origin is Mapping:
        key, value = get_args(annotation)
        return GenericAlias(Mapping, (key, _plain(value)[0])), []
    return annotation, []
