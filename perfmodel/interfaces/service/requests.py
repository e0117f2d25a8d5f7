"""What requests about scenarios hold: options in Python's words, beside them specs and files of one's own.

Each is declared once, as options are (``core/records/options``): the JSON schema has label, words, unit and
range.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic_core import core_schema

from perfmodel.core.choices import Names
from perfmodel.core.records.options import Described, declared
from perfmodel.core.records.record import Within
from perfmodel.model.options.conditions import LARGEST, Conditions
from perfmodel.model.options.run import Run
from perfmodel.model.options.scenario import Scenario

FileName = Annotated[
    str, Within(pattern=r"^([A-Za-z0-9-]{1,20}/)?[^./\\\x00-\x1f\x7f][^/\\\x00-\x1f\x7f]{0,199}$")
]
"""Of no more than one folder, which tells files of one name apart; no name that starts with a dot."""


class FileContent:
    """The text of a file, or of one that is no text its bytes in base64."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Take either."""
        words = {"pydantic_js_updates": {"description": "What the file holds, in base64."}}
        encoded = core_schema.typed_dict_field(core_schema.str_schema(pattern=BASE64), metadata=words)
        table = core_schema.typed_dict_schema({"base64": encoded}, extra_behavior="forbid")
        return core_schema.union_schema([core_schema.str_schema(strict=True), (table, "table[base64]")])


BASE64 = r"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
Files = Mapping[FileName, FileContent]
"""What a file holds by its name, which an option that names a file then means."""
Specs = Mapping[str, Any]
"""As ``hardware.catalogue.own_specs`` takes them."""
_Page = Annotated[int, Within(ge=1, le=1000, strict=True)]
_Offset = Annotated[int, Within(ge=0, le=10**9, strict=True)]
_Price = Annotated[float, Within(gt=0, le=LARGEST)]


class OfLinks:
    """A number of every link, or a table of numbers by link."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Take either."""
        one = core_schema.float_schema(strict=True, ge=0, le=LARGEST)
        return core_schema.union_schema([one, core_schema.dict_schema(core_schema.str_schema(), one)])


def _as_class(name: str, words: str, base: type[Described], fields: Mapping[str, tuple[type, str]]) -> Any:
    """Return a request with fields that other classes declare.

    Parameters
    ----------
    fields : the class that declares one, and its name there, by its name in the request
    """
    space: dict[str, Any] = {}
    annotations: dict[str, Any] = {}
    for field, (cls, origin) in fields.items():
        one = declared(cls)[origin]
        if issubclass(cls, Described):
            annotations[field], space[field] = cls.model_fields[origin]
        else:
            annotations[field], space[field] = cls.__annotations__[origin], one.default
    doc = _docstring(words, fields)
    return type(
        name, (base,), {"__module__": __name__, "__doc__": doc, "__annotations__": annotations, **space}
    )


def _docstring(words: str, fields: Mapping[str, tuple[type, str]]) -> str:
    """Return the docstring of a class whose fields others declare, given as to ``_as_class``."""
    lines = []
    for field, (cls, origin) in fields.items():
        one = declared(cls)[origin]
        lines.append(f"{field} : {one.line}")
    return "\n".join([words, "", "Parameters", "----------", *lines])


class Request(Described):
    """What every request may hold.

    Parameters
    ----------
    specs : Hardware of your own, over the built-in: accelerators, nodes and links by their ids, instances
        with their sources; each table holds what its TOML file would.
    files : What files hold by their names, which other options may then name: a network as .csv, .json (a
        Hugging Face configuration) or .onnx, a profile, a calibration, measured times. A text, or of what
        is none {"base64": "..."}.
    """

    specs: Specs | None = None
    files: Files | None = None


class _PlanRequest(Request):
    """A request for plans.

    Parameters
    ----------
    conditions : Region, power and failures; its own prices and length of a run are not used.
    limit : [1] Plans of a page: also so many of all that were tried, the cheapest first.
    offset : [1] Plans before the page.
    have : Machines one has, e.g. "8 x dgx-a100-80gb@ib-hdr-200g": what would be bought for them is compared.
    buy : With have: "4 x dgx-h100", "ib-ndr-400g" for all, or both joined by +, for each option.
        [default: more of the same, faster networks, newer machines]
    hour_value : [USD] With have: of an hour of its work.  [default: its rent]
    adapter_prices : [USD] Of one network adapter that is bought, of all or by link.
    switch_prices : [USD] Of one switch with its cables, of all or by link; 0 where there are enough.
    switch_ports : [1] Of one switch, of all or by link.
    """

    conditions: Conditions | None = None
    limit: _Page | None = None
    offset: _Offset = 0
    have: str | None = None
    buy: Names = ()
    hour_value: _Price | None = None
    adapter_prices: OfLinks | None = None
    switch_prices: OfLinks | None = None
    switch_ports: OfLinks | None = None


PlanRequest: Any = _as_class(
    "PlanRequest",
    "A training run to be done, and what may be hired for it; of what is left open, everything is tried.",
    _PlanRequest,
    {
        "max_global_batch_size" if field == "max_global_batch" else field: (Run, field)
        for field in Run.model_fields
        if field not in ("conditions", "options", "meant")
    }
    | {field: (Scenario, field) for field, one in declared(Scenario).items() if one.info.plan},
)
