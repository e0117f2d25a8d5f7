"""What requests about scenarios hold: options in Python's words, beside them specs and files of one's own.

Each is declared once, as options are (``core/records/options``): the JSON schema has label, words, unit and
range.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic_core import core_schema

from perfmodel.core.records.options import Described
from perfmodel.core.records.record import Within

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
