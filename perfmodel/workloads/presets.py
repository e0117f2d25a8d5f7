"""Reads published transformers from ``architectures/``: a file per family, a row per network."""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from perfmodel.workloads.architecture import Architecture
from perfmodel.workloads.preset_names import LANGUAGE, VISION
from perfmodel.workloads.scan import Scan

_FOLDER = Path(__file__).parent / "architectures"
_SIZE = re.compile(r"a?[\d.]+[bmt]\b")


class Preset(NamedTuple):
    """A published transformer: its architecture and how it is trained by default."""

    title: str
    """Its usual name."""
    source: str
    """A key of ``references.toml``."""
    architecture: Architecture
    sequence_length: int = 0
    """Tokens of a sample unless one is given; 0 for an image."""
    local_batch_size: int = 1
    """Samples per accelerator unless one is given."""
    variant: str = ""
    """Difference from networks of the same name; made from the architecture if empty."""
    dataset: str = ""
    dataset_samples: int | None = None
    without: str = ""
    """Parts of the published network that are left out, with their parameters."""
    padded: bool = False
    """Whether up to half of its training tokens may be padding."""


def preset(name: str) -> Preset:
    """Return the preset of a network in ``LANGUAGE`` or ``VISION``; reads only the file of its family.

    >>> known = preset("llama-3.1-405b")
    >>> known.title, known.architecture.parameters
    ('Llama 3.1 405B', 405853388800)
    """
    stem = next(stem for stem, names in {**LANGUAGE, **VISION}.items() if name in names)
    family = _family(stem)
    values = {**family["all"], **family["models"][name]}
    given = {key: values.pop(key) for key in list(values) if key not in Architecture._fields}
    given = {"title": _title(family["title"], stem, name), "source": family["source"], **given}
    return Preset(**given, architecture=_architecture(**values))


def title_of(name: str) -> str | None:
    """Return the usual name of a network in ``LANGUAGE`` or ``VISION``, which is not built; None of another.

    >>> title_of("llama-3-8b"), title_of("resnet50")
    ('Llama 3 8B', None)
    """
    stem = next((stem for stem, names in {**LANGUAGE, **VISION}.items() if name in names), None)
    if stem is None:
        return None
    family = _family(stem)
    given = {**family["all"], **family["models"][name]}
    return str(given.get("title") or _title(family["title"], stem, name))


@lru_cache(maxsize=8)
def _family(stem: str) -> dict[str, Any]:
    return tomllib.loads((_FOLDER / f"{stem}.toml").read_text(encoding="utf-8"))


def _architecture(hidden: int, heads: int, **others: Any) -> Architecture:
    """Return an architecture with defaults: as many key-value heads as heads, of hidden / heads features
    each, and a feed-forward width of 4 x hidden, or 0 in a mixture of experts."""
    width = 0 if "experts" in others else 4 * hidden
    if "scan" in others:
        others["scan"] = Scan(**others["scan"])
    usual = {"kv_heads": heads, "head_size": hidden // heads, "feed_forward": width}
    return Architecture(**{**usual, **others}, hidden=hidden, heads=heads)


def _title(family: str, stem: str, name: str) -> str:
    """Return the usual name of a network.

    >>> _title("Qwen3", "qwen3", "qwen3-30b-a3b"), _title("GPT-2", "gpt2", "gpt2")
    ('Qwen3 30B-A3B', 'GPT-2')
    """
    size = _SIZE.sub(lambda match: match[0].upper(), name.removeprefix(stem))
    return family + size.replace("-", " ", 1)
