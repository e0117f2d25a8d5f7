"""What requests hold whose command is no record yet: sweeps."""

from typing import Annotated, Any

from perfmodel.core.records.record import Within
from perfmodel.interfaces.service.requests import Request
from perfmodel.model.options.scenario import Scenario


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
