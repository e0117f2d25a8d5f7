"""The values of a Hugging Face config.json, each checked when it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from perfmodel.core.errors import refusal

MOST_LAYERS = 10_000
"""Ten times the deepest that anybody trained (DeepNet's 1,000)."""

MOST_EXPERTS = 16_384
"""Of one layer; eight times the most that anybody trained (Switch-C's 2,048)."""


class Config:
    """The values of the file, or of a table in it.

    Raises
    ------
    InputError : by every method, where a value is missing or of the wrong kind
    """

    def __init__(self, path: Path, values: dict[str, Any]) -> None:
        self.path = path
        self.values = values
        self.read = {"model_type", "architectures"}
        """Keys that were asked for."""

    def whole(self, key: str, default: int | None = None, largest: int = 10**9, smallest: int = 1) -> int:
        """Return a whole number; ``default`` if the file has none, or null."""
        value = self._value(key)
        if value is None and default is not None:
            return default
        bound = f"above {smallest - 1}" if smallest else "of at least 0"
        if value is None:
            raise refusal("network.key_missing", key=key, bound=bound).under(self.path)
        if isinstance(value, bool) or not isinstance(value, int) or not smallest <= value <= largest:
            raise refusal(
                "network.key_whole", key=key, shown=shown(value), bound=bound, largest=largest
            ).under(self.path)
        return value

    def _value(self, key: str, default: Any = None) -> Any:
        self.read.add(key)
        return self.values.get(key, default)

    def text(self, key: str, default: str) -> str:
        """Return a text; ``default`` if the file has none, or null."""
        value = self._value(key)
        if value is not None and not isinstance(value, str):
            raise refusal("network.key_text", key=key, shown=shown(value)).under(self.path)
        return default if value is None else value

    def must_be(self, key: str, expected: bool | int | str | None) -> None:
        """Check a key whose other values change the network in a way that is not computed."""
        value = self._value(key, expected)
        if value is not None and value != expected:
            raise refusal("network.key_unsupported", key=key, shown=shown(value), expected=expected).under(
                self.path
            )

    def layers(self, key: str, default: int | None = None) -> int:
        """Return a number of layers."""
        return self.whole(key, default, largest=MOST_LAYERS)

    def flag(self, key: str, default: bool) -> bool:
        """Return true or false."""
        value = self._value(key, default)
        if not isinstance(value, bool):
            raise refusal("network.key_flag", key=key, shown=shown(value)).under(self.path)
        return value

    def items(self, key: str) -> list[Any]:
        """Return a list; empty if the file has none, or null."""
        value = self._value(key) or []
        if not isinstance(value, list):
            raise refusal("network.key_list", key=key, shown=shown(value)).under(self.path)
        return value

    def table(self, key: str) -> Config:
        """Return the values of a table; an empty one if the file has none."""
        value = self._value(key) or {}
        if not isinstance(value, dict):
            raise refusal("network.key_table", key=key, shown=shown(value)).under(self.path)
        return Config(self.path, value)

    def class_name(self) -> str:
        """Return the first of ``architectures``; "" if the file has none."""
        names = self.values.get("architectures") or [""]
        if not isinstance(names, list) or not isinstance(names[0], str):
            raise refusal("network.architectures", names=shown(names)).under(self.path)
        return names[0]


def shown(value: object) -> str:
    """Return a value as Python writes it, cut short."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
