"""Frozen records with annotated fields, which pydantic checks where the values come from outside.

To import pydantic and to build its models takes a quarter of the start of ``perfmodel predict``, whose own
values need no check.  So a ``Record`` is a plain class with the methods of pydantic's models, and only
``model_validate`` and ``Record(...)`` call pydantic (``core/records/checking``).  A record may be a field of
a pydantic model, or the body of a request.
"""

import json
from collections.abc import Callable, Collection, Mapping
from datetime import date
from inspect import get_annotations
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    NoReturn,
    Self,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
)

if TYPE_CHECKING:
    from pydantic import TypeAdapter

REQUIRED: Any = type("Required", (), {"__repr__": lambda _: "required"})()
"""Marks a field without a default."""


class Fresh(NamedTuple):
    """A default that a function makes anew for each record."""

    make: Callable[[], Any]


def fresh(make: Callable[[], Any]) -> Any:
    """Return the default of a field with a mutable value: ``fresh(dict)``."""
    return Fresh(make)


class SameAs(NamedTuple):
    """A field that takes type, description and limits from the field of that name in another class."""

    cls: Any
    changed: Any
    """Its default; ``REQUIRED``: that of the other class."""

    def field(self, name: str) -> "Field":
        """Return the field of that name."""
        stated: Field = self.cls.model_fields[name]
        if self.changed is REQUIRED:
            return stated
        kind = _without_none(stated.annotation)
        if self.changed is None:
            kind = _or_none(kind)
        return Field(kind, self.changed)


def _without_none(annotation: Any) -> Any:
    """Return a type without its member None."""
    if get_origin(annotation) is Annotated:
        kind, *metadata = get_args(annotation)
        return Annotated[(_without_none(kind), *metadata)]
    if get_origin(annotation) in (Union, UnionType):
        (annotation,) = (kind for kind in get_args(annotation) if kind is not NoneType)
    return annotation


def _or_none(annotation: Any) -> Any:
    """Return a type with None as a member."""
    if get_origin(annotation) is Annotated:
        kind, *metadata = get_args(annotation)
        return Annotated[(_or_none(kind), *metadata)]
    return annotation | None


def same_as(cls: Any, default: Any = REQUIRED) -> Any:
    """Return the mark of a field that another class declares: ``node: str | None = same_as(Scenario)``.

    Parameters
    ----------
    cls : a record with a field of that name, whose type and description the field takes
    default : of the field; by default that of the other class
    """
    return SameAs(cls, default)


class Late:
    """Descriptor of a field that may be set to a function without arguments, called when it is first read."""

    def __init__(self, default: Any) -> None:
        self.default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, one: Any, owner: type) -> Any:
        """Return the value, computed at the first read."""
        if one is None:
            return self
        value = one.__dict__[self.name]
        if callable(value):
            value = one.__dict__[self.name] = value()
        return value

    def __set__(self, one: Any, value: object) -> NoReturn:
        """Raise AttributeError; with ``__set__`` the descriptor takes precedence over ``__dict__``."""
        raise AttributeError(self.name)


def late(default: Any = REQUIRED) -> Any:
    """Return the mark of a field that is computed when it is first read.

    Parameters
    ----------
    default : of the field: a value, or ``fresh(list)``
    """
    return Late(default)


class Field(NamedTuple):
    """Annotation and default of one field."""

    annotation: Any
    default: Any

    @property
    def value(self) -> Any:
        """The default, made anew if it is ``Fresh``."""
        return self.default.make() if isinstance(self.default, Fresh) else self.default

    @property
    def checked(self) -> Any:
        """The default as pydantic's models declare it: a value, or an ellipsis for a required field."""
        return ... if self.default is REQUIRED else self.value


class Within(NamedTuple):
    """Limits on the values of a field; written in ``Annotated``, as pydantic's ``Field`` is."""

    gt: float | None = None
    ge: float | None = None
    le: float | None = None
    strict: bool | None = None
    """False: convertible values are accepted, as a list for a tuple; True: only the type itself."""
    allow_inf_nan: bool | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Return the type's own schema with the limits added."""
        return handler(source) | {key: value for key, value in self._asdict().items() if value is not None}


class Passing(NamedTuple):
    """A validator in ``Annotated``: a function that returns the value or raises ValueError to refuse it."""

    function: Callable[[Any], Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Return a schema that calls the function after the type's own check."""
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(self.function, handler(source))


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(fresh, late))
class Record:
    """Base of frozen classes with annotated fields, with methods named as those of pydantic's models."""

    __slots__ = ("__dict__", "__weakref__", "model_fields_set")

    model_fields: ClassVar[Mapping[str, Field]] = {}
    strict: ClassVar[bool] = False
    """Whether a value must be of the declared type, without conversion."""
    means_defaults: ClassVar[bool] = False
    """Whether ``exclude_defaults`` keeps a default that was given, and leaves out only fields not given."""
    if TYPE_CHECKING:
        model_fields_set: frozenset[str]
        """The fields that were given."""

    same_as: ClassVar[Mapping[str, SameAs]] = {}
    """The class's own fields that are marked with ``same_as``."""
    heading: ClassVar[str] = ""
    """Heading, in help and pages, of the fields that the class itself declares."""

    def __init_subclass__(cls, *, heading: str = "") -> None:
        """Collect the fields of a class: those of its bases in their order, then its own annotations."""
        cls.heading = heading
        stated = {name: cls.__dict__.get(name, REQUIRED) for name in get_annotations(cls)}
        cls.same_as = {name: each for name, each in stated.items() if isinstance(each, SameAs)}
        own = {
            name: each.field(name) if isinstance(each, SameAs) else Field(annotation, _default(each))
            for (name, annotation), each in zip(get_annotations(cls).items(), stated.values(), strict=True)
            if not _is_of_class(annotation)
        }
        if any(isinstance(field.annotation, str) for field in own.values()):
            raise TypeError(
                f"{cls.__name__}: no `from __future__ import annotations` where a record is declared"
            )
        bases = [base for base in cls.__bases__ if issubclass(base, Record)]
        inherited = {name: field for base in bases for name, field in base.model_fields.items()}
        for name in inherited.keys() & cls.__dict__.keys() - own.keys():
            raise TypeError(f"{cls.__name__}.{name}: annotate it, as the field that it takes the place of")
        cls.model_fields = {**inherited, **own}
        late = [name for name in own if isinstance(cls.__dict__.get(name), Late)]
        cls._late = (*dict.fromkeys(name for base in bases for name in base._late), *late)
        cls._blank = {name: field.default for name, field in cls.model_fields.items()}
        cls._every = frozenset(cls.model_fields)
        cls._required = frozenset(
            name for name, field in cls.model_fields.items() if field.default is REQUIRED
        )
        cls._fresh = {
            name: field.default.make
            for name, field in cls.model_fields.items()
            if isinstance(field.default, Fresh)
        }

    _late: ClassVar[tuple[str, ...]] = ()
    _every: ClassVar[frozenset[str]] = frozenset()
    _required: ClassVar[frozenset[str]] = frozenset()
    _blank: ClassVar[dict[str, Any]] = {}
    _fresh: ClassVar[dict[str, Callable[[], Any]]] = {}

    def __init__(self, /, **values: Any) -> None:
        """Make a record of checked values; raises pydantic's ValidationError."""
        checked = self._checked(values)
        self._take(vars(checked), checked.model_fields_set)

    @classmethod
    def model_construct(cls, /, **values: Any) -> Self:
        """Return a record of values that need no check; a missing or unknown name raises TypeError."""
        one = cls.__new__(cls)
        one._fill(values)
        return one

    def _fill(self, values: dict[str, Any]) -> None:
        """Set the fields to values that need no check, and the others to their defaults."""
        if values.keys() == self._every:
            self._take(values, self._every)
            return
        if not self._required <= values.keys() <= self._every:
            wrong = sorted((self._required - values.keys()) | (values.keys() - self._every))
            raise TypeError(f"{type(self).__name__}: missing or unknown: {', '.join(wrong)}")
        self._take({**self._blank, **values}, frozenset(values))
        for name, make in self._fresh.items():
            if name not in values:
                self.__dict__[name] = make()

    def _take(self, values: dict[str, Any], given: frozenset[str]) -> None:
        object.__setattr__(self, "__dict__", values)
        object.__setattr__(self, "model_fields_set", given)

    def _values(self) -> dict[str, Any]:
        """Return all fields by name, after computing the late ones."""
        for name in self._late:
            getattr(self, name)
        return self.__dict__

    @classmethod
    def model_validate(cls, given: Any) -> Self:
        """Return the record of a mapping; raises pydantic's ValidationError."""
        return cls._checked(given)

    @classmethod
    def _checked(cls, given: Any) -> Self:
        one: Self = cls._adapter().validate_python(given)
        return one

    @classmethod
    def _adapter(cls) -> "TypeAdapter[Any]":
        from perfmodel.core.records.checking import adapter

        return adapter(cls)  # type: ignore[arg-type]  # mypy holds no class with a hash fit for a cache's key

    @classmethod
    def model_validate_json(cls, text: str | bytes) -> Self:
        """Return the record of a JSON text; errors as of ``model_validate``."""
        one: Self = cls._adapter().validate_json(text)
        return one

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        """Return the JSON schema of the class."""
        schema: dict[str, Any] = cls._adapter().json_schema()
        return schema

    @classmethod
    def as_written(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a mapping with the names of the fields; a class that accepts other names overrides it."""
        return given

    @classmethod
    def checked_as(cls, name: str) -> Any:
        """Return the type by which pydantic checks a field."""
        return cls.model_fields[name].annotation

    def check_together(self) -> None:
        """Raise ValueError for values that contradict each other; a hook that subclasses override."""

    def model_copy(self, *, update: Mapping[str, Any] | None = None) -> Self:
        """Return a copy with some fields changed, which are not checked."""
        changed = dict(update or {})
        one = type(self).__new__(type(self))
        one._take(self._values() | changed, self.model_fields_set.union(changed))
        return one

    def model_dump(
        self,
        *,
        mode: Literal["python", "json"] = "python",
        exclude: Collection[str] = (),
        exclude_unset: bool = False,
        exclude_defaults: bool = False,
    ) -> dict[str, Any]:
        """Return the fields as a dict, also of inner records; for JSON, dates become text, tuples lists."""

        def table(one: Record, without: Collection[str] = ()) -> dict[str, Any]:
            return {
                name: plain(value)
                for name, value in one._values().items()
                if name not in without
                and not (exclude_unset and name not in one.model_fields_set)
                and not (exclude_defaults and one._is_default(name, value))
            }

        def plain(value: Any) -> Any:
            if isinstance(value, Record):
                return table(value)
            if isinstance(value, Mapping):
                return {key: plain(item) for key, item in value.items()}
            if hasattr(value, "__dataclass_fields__"):
                return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
            if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
                return [plain(item) for item in value] if mode == "json" else type(value)(map(plain, value))
            return value.isoformat() if mode == "json" and isinstance(value, date) else value

        return table(self, exclude)

    def _is_default(self, name: str, value: Any) -> bool:
        if self.means_defaults:
            return name not in self.model_fields_set
        return bool(value == self.model_fields[name].value)

    def model_dump_json(self, *, exclude_defaults: bool = False) -> str:
        """Return ``model_dump`` as JSON text."""
        table = self.model_dump(mode="json", exclude_defaults=exclude_defaults)
        return json.dumps(table, separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Return pydantic's schema, so that a record may be a field of a model or the body of a request."""
        from perfmodel.core.records.checking import schema

        return schema(cls, handler)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(
            f"{type(self).__name__} is frozen; model_copy(update={{{name!r}: ...}}) changes a copy"
        )

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen; it keeps its {name}")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), *map(self._values().get, self.model_fields)))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self._values().items())
        return f"{type(self).__name__}({fields})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), dict(self._values()), self.model_fields_set)


def _default(stated: Any) -> Any:
    return stated.default if isinstance(stated, Late) else stated


def _is_of_class(annotation: Any) -> bool:
    origin: Any = get_origin(annotation)
    return origin is ClassVar


def _again(cls: type[Record], values: dict[str, Any], given: frozenset[str]) -> Record:
    """Return a record from its pickled state."""
    one = cls.__new__(cls)
    one._take(values, given)
    return one
