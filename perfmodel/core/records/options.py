"""Options, each declared once: a field with its type, range and ``OptionInfo``, and its line in a docstring.

What ``declared`` returns of a class makes the options of the command line, the axes of a sweep, the
widgets of a page and the words of the JSON schema.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache, reduce
from inspect import Parameter, Signature, get_annotations, signature
from operator import or_
from types import GenericAlias, NoneType, UnionType
from typing import Annotated, Any, Final, Literal, NamedTuple, Self, TypeVar, Union, get_args, get_origin

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.problem import called, python
from perfmodel.core.records.docstrings import lines_of
from perfmodel.core.records.names import NONE
from perfmodel.core.records.record import REQUIRED, Record, SameAs

_Function = TypeVar("_Function", bound=Callable[..., Any])

Axis = Literal["computation", "way", "data", "layout", "place", "batch", "size"]
Offers = Literal[
    "workloads", "accelerators", "nodes", "links in a node", "links between nodes", "data sets", "instances"
]
MEASURED: Final = ("B", "B/s", "1/s", "s", "W", "USD", "count of samples", "count of tokens")
"""Units with which people may write a number: ``115kB``, ``6000h``, ``$20,000``."""


class OptionInfo(NamedTuple):
    """What the command line, sweeps and pages need of an option besides its type and its words."""

    label: str = ""
    """What people read over a widget; by default its name."""
    name: str = ""
    """Where people write it, where that is not the field's own name with dashes."""
    synonyms: Mapping[str, str] = NONE
    """Other words for a choice -> the choice."""
    unit: str = ""
    """One of ``MEASURED``, where the number may be written with its unit."""
    offers: Offers | None = None
    """Of what the value is a name, which pages list."""
    axis: Axis = "way"
    """Where a sweep crosses its values: with the work of one accelerator; with how that is shared out; with
    what the samples are; with how the network itself is shared out; with where it runs; with the batch; with
    the number of accelerators.  ``way`` is right for any option; the others compute less often."""
    plan: bool = False
    """Whether ``perfmodel plan`` takes it too, one value for all candidates."""
    basic: bool = False
    """Whether pages show it at once; the others are folded away."""
    commas: bool = False
    """Whether a value may hold commas; a sweep then takes each value by an option of its own."""
    file: bool = False
    """Whether the value names a file, for which a page takes an upload instead."""
    law: bool = False
    """Whether the value is a law of times, which may name a file: ``empirical:FILE``."""
    denied: bool = True
    """Whether a flag can also be said not to hold: ``--no-network-cap``."""
    shell: bool = True
    """Whether the command line offers it."""
    but: tuple[str, ...] = ()
    """Of a table of options, those that the command line does not offer."""
    flag: str = ""
    """Of a table of options, the flag by which the command line gives it with no option of its own: ``cost``."""
    read: Callable[[Any], Any] | None = None
    """What makes the value of a text, or of what stands for it in Python and JSON; an InputError refuses."""
    form: str = ""
    """How that text is written, in capitals: ``MACHINES:SPEED-UP``."""
    old: str = ""
    """An older name, which keeps working and is not shown."""
    sent: Callable[[Any, Any], Any] | None = None
    """What the client sends of a value, from it and the ``Files`` that it takes along."""
    bare: bool = False
    """Whether the command line also takes a time without a unit, in seconds."""
    also: str = ""
    """A class, as ``module:name``, of which Python also takes an object."""
    several: int = 0
    """How many values a list may have that is given in place of one value; 0 where none may."""


class Declared(NamedTuple):
    """One option as its class declares it."""

    field: str
    name: str
    """Where people write it."""
    type: Any
    """``bool``, ``int``, ``float``, ``str`` or the ``Literal`` of ``choices``."""
    choices: tuple[str, ...]
    """The words it may be; empty where it is no choice."""
    least: float | None
    most: float | None
    above: bool
    """Whether it must be more than ``least``."""
    default: Any
    unit: str
    """Of a number; 1 of a count of things."""
    template: str
    """What it is, in a sentence or two, with other options as in a message: ``--base-batch``."""
    default_template: str
    """What is taken where nothing is said, in such words; empty where that goes without saying."""
    info: OptionInfo
    many: bool = False
    """Whether it takes several values, each of ``type``."""
    heading: str = ""
    """Heading under which people find it."""

    @property
    def words(self) -> str:
        """What it is, other options by their names in Python and JSON."""
        return called(self.template, python)

    @property
    def usual(self) -> str:
        """What is taken where nothing is said, other options as in ``words``."""
        return called(self.default_template, python)

    @property
    def line(self) -> str:
        """What it is, in a line of a docstring, with its unit and its default."""
        unit = f"[{self.unit}] " if self.unit else ""
        usual = f"  [default: {self.usual}]" if self.usual else ""
        return f"{unit}{self.words}{usual}"

    def takes(self, value: object) -> bool:
        """Whether a value is plainly one of its own; pydantic says what any other means, or what is wrong."""
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
        """Whether its number may be a text: with its unit, or a share in per cent."""
        return self.type is float and (self.unit in MEASURED or self.most == 1)

    @property
    def label(self) -> str:
        """What people read over a widget, with the unit of a number that is written without one."""
        name = self.field if self.many else self.name
        words = self.info.label or name.replace("_", " ").replace("-", " ").capitalize()
        bare = self.type in (int, float) and self.unit not in ("", "1", *MEASURED)
        return f"{words} [{self.unit}]" if bare else words


class PlainSignature:
    """The signature of a class: its fields with their types, without what else is declared of them."""

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
    """A record whose fields carry label, words and unit, also in its JSON schema.

    It takes a word in any spelling, or a synonym, and a number with its unit, such as ``115kB``.
    """

    __signature__ = PlainSignature()

    def __init__(self, /, **options: Any) -> None:
        """Take options by name; an unknown one, or a value that does not fit it, is an InputError."""
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
        """Return options under the names of the fields, of which some have older names."""
        older = {one.info.old: name for name, one in declared(cls).items() if one.info.old not in ("", name)}  # type: ignore[arg-type]
        if twice := [(old, name) for old, name in older.items() if {old, name} <= given.keys()]:
            raise refusal("scenario.twice", *twice[0], field=twice[0][0], key=twice[0][1])
        return {older.get(name, name): value for name, value in given.items()} if older else given

    @classmethod
    def model_validate(cls, given: Any) -> Self:
        """Return what the class makes of options by name; errors as of the class."""
        if isinstance(given, cls):
            return given
        if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
            raise refusal("options.no_table", given=given)
        return cls(**given)

    @classmethod
    def model_validate_json(cls, text: str | bytes) -> Self:
        """Return what the class makes of a text that holds JSON; errors as of the class, or of JSON."""
        return cls.model_validate(json.loads(text))

    @classmethod
    def refused(cls, error: Any, options: Mapping[str, Any]) -> InputError:
        """Return what is wrong with options.

        Parameters
        ----------
        error : pydantic's ValidationError
        options : as they were given
        """
        from perfmodel.core.records.mistakes import refused

        return refused(error, cls, kind="option")

    @classmethod
    def checked_as(cls, name: str) -> Any:
        """Return the type of a field, with what reads a text and what the JSON schema says of it."""
        from perfmodel.core.records.checked_types import checked_type

        return checked_type(declared(cls)[name], super().checked_as(name))  # type: ignore[arg-type]


@cache
def declared(cls: type) -> dict[str, Declared]:
    """Return every option that a class declares, by its field.

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


def documented(cls: type) -> Callable[[_Function], _Function]:
    """Return what writes the options of a class that a function takes into the function's docstring."""

    def write(function: _Function) -> _Function:
        parameters = signature(function).parameters
        lines = ""
        for one in declared(cls).values():
            name = one.field if one.field in parameters else one.name.replace("-", "_")
            if name in parameters:
                lines += f"    {name} : {one.line}\n"
        function.__doc__ = (function.__doc__ or "").replace("-------\n", f"-------\n{lines}", 1)
        return function

    return write


class _Line(NamedTuple):
    """What the docstring of a class says of a field."""

    unit: str = ""
    words: str = ""
    usual: str = ""
    heading: str = ""


def _described(cls: type) -> dict[str, _Line]:
    """Return what a class, its bases and the classes whose fields it takes say of each field."""
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
    """Name, type, metadata and default."""
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
    """A type without ``None`` and ``Annotated``, and what the latter says of it."""
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
