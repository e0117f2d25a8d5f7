"""A scenario: a workload on some hardware under a plan.  Options left open stay None."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.records.docstrings import with_parameters
from perfmodel.core.records.options import declared
from perfmodel.model.options.groups import Batch, Data, Exchange, Kept, Layout, Machines, Measured, Network

_BATCH = {"local_batch_size", "global_batch_size"}


class Scenario(Network, Machines, Exchange, Layout, Kept, Batch, Data, Measured):
    """A training job to predict; options are named as on the command line.

    A prediction names the defaults it takes for options left out; ``gpus`` is a synonym of ``world_size``.

    It also takes ``Prediction.scenario``, which has every default filled in and gives the same answer: from
    that, ``nodes``, ``scaling`` and the batch size that the other one implies are left out.

    Raises
    ------
    InputError : an unknown option, or a value that does not fit it

    Examples
    --------
    >>> Scenario(workload="vgg16", gpus=8).world_size
    8
    >>> Scenario(world=8)
    Traceback (most recent call last):
    ...
    perfmodel.core.errors.InputError: unknown option 'world'; nearest: world_size
    """

    answered_by: ClassVar[Literal["data-parallel", "transformer"] | None] = None  # sharing.model_of decides
    if TYPE_CHECKING:
        gpus: int = 1
        """Synonym of ``world_size``."""
    else:

        @property
        def gpus(self):
            """Return ``world_size``."""
            return self.world_size

    def alone(self) -> "Scenario":
        """Return a plain ``Scenario`` with the given options, without the fields of a subclass."""
        given = self.model_fields_set & Scenario.model_fields.keys()
        return Scenario.model_construct(**{name: self.__dict__[name] for name in given})

    @classmethod
    def below(cls, scenario: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of a scenario or its file that options given one by one may override."""
        return dict(scenario)

    @classmethod
    def as_written(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return options by field name: ``world_size`` for ``gpus``."""
        return by_field(given)

    @classmethod
    def refused(cls, error: Any, options: Mapping[str, Any]) -> InputError:
        """Return the error for invalid options, with each option named as it was written."""
        from perfmodel.core.records.mistakes import refused

        keys = {field_of(key): key for key in options}

        def written(place: Sequence[str]) -> str:
            return ".".join(keys.get(key, key) for key in place)

        return refused(error, cls, known=(*SHORT, *cls.model_fields), kind="option", written=written)


Scenario.__doc__ = with_parameters(
    Scenario.__doc__ or "", (f"{name} : {one.line}" for name, one in declared(Scenario).items())
)
SHORT = {one.name: one.field for one in declared(Scenario).values() if one.info.name}
"""Fields with another name in files and on the command line."""
OPTIONS = (*SHORT, *Scenario.model_fields)
"""Keys of a scenario; files may write dashes for underscores."""
AnyScenario: TypeAlias = Scenario | Mapping[str, Any]
"""A scenario, or its options by name: a mapping, or ``Prediction.scenario``."""


def field_of(key: str) -> str:
    """Return the field of a ``Scenario`` that a key means, whether or not that field exists.

    >>> field_of("gpus"), field_of("inter-link")
    ('world_size', 'inter_link')
    """
    return SHORT.get(key) or key.replace("-", "_")


def scenario_of(scenario: object) -> Scenario:
    """Return a scenario as it is, or the scenario of a mapping of options.

    Raises
    ------
    InputError : neither of them; an unknown option, or a value that does not fit it
    """
    return scenario if isinstance(scenario, Scenario) else Scenario(**options_of(scenario))


def options_of(options: object) -> dict[str, Any]:
    """Return a mapping of options as a dictionary.

    Raises
    ------
    InputError : not a mapping, or a key is not a string
    """
    if isinstance(options, Mapping) and all(isinstance(key, str) for key in options):
        return dict(options)
    raise refusal("scenario.invalid", asked=options)


def by_field(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return options by the field names of a ``Scenario``; their values are not checked.

    From the scenario of an answer, options that the others imply are left out.

    Raises
    ------
    InputError : two keys that mean the same
    """
    if {"nodes", "scaling"} <= table.keys():
        implied = "local_batch_size" if table["scaling"] == "strong" else "global_batch_size"
        table = {key: value for key, value in table.items() if key not in ("nodes", "scaling", implied)}
    written: dict[str, str] = {}
    for key in table:
        if (field := field_of(key)) in written:
            raise refusal("scenario.twice", written[field], key, key=key)
        written[field] = key
    return {field: table[key] for field, key in written.items()}


def laid_over(table: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with changes applied, each under its key as written.

    Either batch size replaces the other.

    Raises
    ------
    InputError : two keys of one table that mean the same

    >>> laid_over({"gpus": 8, "local-batch-size": 32}, {"world_size": 16, "global_batch_size": 512})
    {'world_size': 16, 'global_batch_size': 512}
    """
    replaced = set(by_field(changed))
    if replaced & _BATCH:
        replaced |= _BATCH
    kept = {field for field in by_field(table) if field not in replaced}
    return {key: value for key, value in table.items() if field_of(key) in kept} | dict(changed)
