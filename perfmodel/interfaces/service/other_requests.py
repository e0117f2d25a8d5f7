"""What requests hold that are about no single scenario: collectives, workers, quotes, traces, catalogues."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic_core import core_schema

from perfmodel.core.choices import LARGEST_BATCH_SIZE
from perfmodel.core.records.options import Described
from perfmodel.core.records.record import Within
from perfmodel.hardware.catalogue.kinds import Kind
from perfmodel.interfaces.service.requests import Count, FileName, Request
from perfmodel.model.options.scenario import Scenario

_Samples = Annotated[int, Within(ge=1, le=LARGEST_BATCH_SIZE, strict=True)]
_Name = Annotated[str, Within(min_length=1)]


class TableOrName:
    """A table, or a name."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Take either."""
        table = core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema())
        return core_schema.union_schema([table, core_schema.str_schema(strict=True)])


class QuoteRequest(Request):
    """A proposal whose claims are to be checked.

    Parameters
    ----------
    quote : What a quote's file holds, as a table; or the name of an example, or of one of files.
    calibration : What your own runs taught: one of files.
    """

    quote: TableOrName
    calibration: str | None = None


class TraceRequest(Request):
    """Profiler's files of one job.

    Parameters
    ----------
    traces : What each file holds, by its name: the text, or the JSON itself of a Chrome trace.
    skip : [1] Steps at the start to leave out.
    accelerators : What the GPUs are, where a file does not say.
    workload : Network of the job: adds what the model recommends.
    local_batch_size : [samples] Samples per accelerator of the job: tries larger ones.
    precision : Arithmetic of the job: tries others.
    """

    traces: Annotated[Mapping[FileName, Any], Within(min_length=1)]
    skip: Annotated[int, Within(ge=0, le=1_000_000, strict=True)] = 0
    accelerators: Annotated[tuple[str, ...], Within(strict=False)] = ()
    workload: str | None = None
    local_batch_size: _Samples | None = None
    precision: str | None = None


class ValidateRequest(Described):
    """Measured runs that come with the package.

    Parameters
    ----------
    kind : What was measured.
    mode : Predict from specs alone, or from the measured iteration of one accelerator or machine.
    out_of_sample : Whether each source is predicted by a fit to all the others. Of training that takes some
        40 s on one core, of the other kinds up to 5: a service that allows less (30 s by default,
        perfmodel serve --seconds) answers 504; the command line has no limit.
    """

    kind: Literal["training", "transformers", "collectives", "mlperf", "claims"] = "training"
    mode: Literal["specs", "anchored", "anchored-machine"] = "specs"
    out_of_sample: Annotated[bool, Within(strict=True)] = False


class SpecsRequest(Request):
    """Hardware or software to list or to show.

    Parameters
    ----------
    kind : What to list.
    name : One accelerator, node, link or software to show instead.
    """

    kind: Kind = "accelerators"
    name: str | None = None


class WorkloadsRequest(Request):
    """Networks to list or to show.

    Parameters
    ----------
    word : Only those whose name has it; with recipes of one network, or one recipe.
    name : One network to show instead, layer by layer; may be one of files.
    sequence_length : [tokens] Tokens of one sample, with name.
    recipes : How networks are trained instead: what was published of each recipe, a row for each batch.
    """

    word: _Name | None = None
    name: str | None = None
    sequence_length: Count | None = None
    recipes: Annotated[bool, Within(strict=True)] = False


class SweepRequest(Request):
    """Scenarios crossed: every option of a scenario is a value or a list of values.

    Parameters
    ----------
    columns : Of the table, e.g. ["gpus", "iteration_time"].  [default: all]
    """

    columns: Annotated[tuple[str, ...], Within(strict=False, min_length=1)] | None = None

    def __init__(self, /, **table: Any) -> None:
        """Take what is the request's own; options are checked where they are crossed."""
        own = {key: value for key, value in table.items() if key in SweepRequest.model_fields}
        super().__init__(**own)
        options = {key: value for key, value in table.items() if key not in own}
        self.__dict__["options"] = options

    @property
    def options(self) -> dict[str, Any]:
        """Values of options, by the names of a scenario."""
        options: dict[str, Any] = self.__dict__["options"]
        return options

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        """Return the JSON schema: that of a scenario, each option also as a list."""
        schema, scenario = super().model_json_schema(), Scenario.model_json_schema()
        for name, option in scenario["properties"].items():
            words = {key: option[key] for key in ("title", "description", "unit") if key in option}
            bare = {key: value for key, value in option.items() if key not in (*words, "default")}
            schema["properties"][name] = words | {
                "anyOf": [bare, {"type": "array", "items": bare, "minItems": 1}]
            }
        return schema
