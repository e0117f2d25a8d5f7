"""Scenarios that are crossed: every option is a value or a list of values."""

from collections.abc import Callable, Iterable
from math import prod
from typing import Any

from perfmodel.core.candidates import will_try
from perfmodel.core.errors import refusal
from perfmodel.model.options.scenario import Scenario, by_field, field_of


class Crossed(Scenario):
    """Scenarios: every option is a value or several, and each combination of them is one scenario.

    An option that was given is a tuple of values, each checked by itself.

    Raises
    ------
    InputError : an unknown option or name, a value that does not fit it, or an empty list
    """

    def __init__(self, /, **given: Any) -> None:
        """Take options by name, each a value, or a list, tuple, range or array of values."""
        own = {name: value for name, value in given.items() if name in self._own_fields()}
        super().__init__(**own)
        crossed = {name: value for name, value in given.items() if name not in own}
        will_try((prod(len(each) or 1 for each in crossed.values() if isinstance(each, list)),))
        known = by_field(crossed)  # without what follows from the rest of an answer's scenario
        options = {
            field: _checked(key, each) for key, each in crossed.items() if (field := field_of(key)) in known
        }
        _check_names(options)
        self._take({**self.__dict__, **options}, self.model_fields_set | options.keys())

    def options(self) -> dict[str, tuple[Any, ...]]:
        """Return the values of every option that was given, by its field."""
        return {name: self.__dict__[name] for name in Scenario.model_fields if name in self.model_fields_set}

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        """Return the JSON schema: that of a scenario, each option also as a list."""
        schema = super().model_json_schema()
        for name in Scenario.model_fields:
            option = schema["properties"][name]
            words = {key: option[key] for key in ("title", "description", "unit") if key in option}
            bare = {key: value for key, value in option.items() if key not in (*words, "default")}
            schema["properties"][name] = words | {
                "anyOf": [bare, {"type": "array", "items": bare, "minItems": 1}]
            }
        return schema

    @classmethod
    def _own_fields(cls) -> set[str]:
        return cls.model_fields.keys() - Scenario.model_fields.keys()


def _checked(key: str, given: Any) -> tuple[Any, ...]:
    """Return the values of an option, each once.

    Raises
    ------
    InputError : an unknown option, a value that does not fit it, or none at all
    """
    field = field_of(key)
    values = tuple(dict.fromkeys(getattr(Scenario(**{key: each}), field) for each in _values(given)))
    if not values:
        raise refusal("sweep.no_value", key)
    return values


def _values(given: Any) -> Iterable[Any]:
    """Return plain values of a list, tuple, range or array, or the one that is given."""
    if hasattr(given, "tolist"):
        given = given.tolist()
    values = given if isinstance(given, (list, tuple, range)) else (given,)
    return (each.item() if hasattr(each, "item") else each for each in values)


def _check_names(options: dict[str, tuple[Any, ...]]) -> None:
    """Refuse unknown names; what names hardware the catalogue looks up."""
    for name, look_up in _looked_up().items():
        for value in options.get(name, ()):
            if value is not None:
                look_up(value)


def _looked_up() -> dict[str, Callable[[str], object]]:
    """Return what finds or reads the value of an option, by its field."""
    from perfmodel.hardware.software import parts
    from perfmodel.hardware.storage import storage
    from perfmodel.model.options.compression import parse_scheme
    from perfmodel.model.setting.anchor import parse_anchors
    from perfmodel.model.setting.profile import read_profile
    from perfmodel.workloads import workload

    return {
        "compression": parse_scheme,
        "framework": parts,
        "storage": storage,
        "workload": workload,
        "jitter": _law,
        "anchor": parse_anchors,
        "profile": read_profile,
    }


def _law(spec: str) -> None:
    from perfmodel.equations.distributions import parse_distribution

    if spec != "none":
        parse_distribution(spec)
