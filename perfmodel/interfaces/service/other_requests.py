"""What requests hold whose commands are no records yet: sweeps, and measured runs."""

from typing import Annotated, Any, Literal

from perfmodel.core.records.options import Described
from perfmodel.core.records.record import Within
from perfmodel.interfaces.service.requests import Request
from perfmodel.model.options.scenario import Scenario


class ValidateRequest(Described):
    """Measured runs that come with the package.

    Parameters
    ----------
    kind : What was measured.
    mode : Predict from specs alone, or from the measured iteration of one accelerator or machine.
    out_of_sample : Whether each source is predicted by a fit to all the others. Of training that takes some
        40 s on one core, of the other kinds up to 5: a service that allows less (30 s by default,
        `perfmodel serve --seconds`) answers 504; the command line has no limit.
    """

    kind: Literal["training", "transformers", "collectives", "mlperf", "claims"] = "training"
    mode: Literal["specs", "anchored", "anchored-machine"] = "specs"
    out_of_sample: Annotated[bool, Within(strict=True)] = False


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
