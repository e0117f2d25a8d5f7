"""Reads a Hugging Face config.json of the BERT, GPT-2 and Llama families; nothing is fetched."""

from __future__ import annotations

from math import ceil
from pathlib import Path
from typing import Any

from perfmodel.errors import InputError
from perfmodel.reading import read_json
from perfmodel.specs.workload import Workload
from perfmodel.workloads.custom import custom_workload
from perfmodel.workloads.transformer import (
    MASKED_FRACTION,
    Design,
    bert_layers,
    check_positions,
    decoder_layers,
)

LIMIT = 1_000_000
"""Bytes of the largest file that is read."""

LONGEST_DEFAULT = 4096
"""Tokens of a sequence by default, where the network allows it."""

MOST_LAYERS = 10_000
"""Ten times the deepest that anybody trained (DeepNet's 1,000)."""

_LLAMA = ("llama", "mistral", "qwen2")
MODEL_TYPES = ("bert", "gpt2", *_LLAMA)
"""Values of ``model_type`` that are understood."""


class _Config:
    """What the file says, checked as it is asked for."""

    def __init__(self, path: Path, values: dict[str, Any]) -> None:
        self.path = path
        self.values = values

    def whole(self, key: str, default: int | None = None, largest: int = 10**9) -> int:
        value = self.values.get(key)
        if value is None and default is not None:
            return default
        if value is None:
            raise InputError(f"{self.path}: {key} is missing; expected a whole number above 0")
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= largest:
            raise InputError(
                f"{self.path}: {key} is {_shown(value)}; expected a whole number above 0, at most {largest:,}"
            )
        return value

    def flag(self, key: str, default: bool) -> bool:
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            raise InputError(f"{self.path}: {key} is {_shown(value)}; expected true or false")
        return value

    def architecture(self) -> str:
        names = self.values.get("architectures") or [""]
        if not isinstance(names, list) or not isinstance(names[0], str):
            raise InputError(f"{self.path}: architectures is {_shown(names)}; expected a list of class names")
        return names[0]


def _shown(value: object) -> str:
    """Return a value as Python writes it, cut short."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def workload_from_huggingface(path: str | Path, sequence_length: int | None = None) -> Workload:
    """Return the workload of a config.json.

    The heads are those of the first of ``architectures``: BertForPreTraining, BertForMaskedLM or the bare
    encoder; causal models guess every next token.  Dropout is what the papers trained with: in BERT and GPT-2
    after each part, in the Llama family nowhere.

    Parameters
    ----------
    path : the file
    sequence_length : tokens of one sample; what the model allows, at most 4096, if None

    Raises
    ------
    InputError : not JSON, no known ``model_type``, a number missing or wrong, a sequence too long
    """
    path = Path(path)
    values = read_json(path, LIMIT, "a Hugging Face config.json")
    if not isinstance(values, dict) or not isinstance(values.get("model_type"), str):
        raise InputError(f"{path}: no model_type; expected a Hugging Face config.json")
    kind = values["model_type"]
    config = _Config(path, values)
    if kind == "bert":
        return _bert(config, sequence_length)
    if kind == "gpt2":
        return _gpt2(config, sequence_length)
    if kind in _LLAMA:
        return _llama(config, kind, sequence_length)
    raise InputError(f"{path}: model_type {_shown(kind)} is not known; known: {', '.join(MODEL_TYPES)}")


def _bert(config: _Config, sequence_length: int | None) -> Workload:
    design = Design(
        hidden=config.whole("hidden_size"),
        layers=config.whole("num_hidden_layers", largest=MOST_LAYERS),
        heads=config.whole("num_attention_heads"),
        feed_forward=config.whole("intermediate_size"),
        vocabulary=config.whole("vocab_size"),
        positions=config.whole("max_position_embeddings"),
        types=config.whole("type_vocab_size", 2),
        tied=config.flag("tie_word_embeddings", True),
    )
    length = _length(config, design, design.positions, sequence_length)
    architecture = config.architecture()
    words = architecture in ("BertForPreTraining", "BertForMaskedLM")
    layers = bert_layers(
        design,
        length,
        pooler=architecture != "BertForMaskedLM",
        words=words,
        sentences=architecture == "BertForPreTraining",
    )
    elements = 3.0 * length + words * ceil(MASKED_FRACTION * length)
    heads = architecture if words else "encoder without a head"
    return custom_workload(
        config.path,
        layers,
        variant=f"bert, {heads}",
        input_elements=elements,
        sequence_length=length,
        optimizer="adam",
    )


def _gpt2(config: _Config, sequence_length: int | None) -> Workload:
    hidden = config.whole("n_embd")
    design = Design(
        hidden=hidden,
        layers=config.whole("n_layer", largest=MOST_LAYERS),
        heads=config.whole("n_head"),
        feed_forward=config.whole("n_inner", 4 * hidden),
        vocabulary=config.whole("vocab_size"),
        positions=config.whole("n_positions"),
        tied=config.flag("tie_word_embeddings", True),
    )
    return _causal(config, "gpt2", design, design.positions, sequence_length)


def _llama(config: _Config, kind: str, sequence_length: int | None) -> Workload:
    heads = config.whole("num_attention_heads")
    attention_bias = config.flag("attention_bias", False)
    design = Design(
        hidden=config.whole("hidden_size"),
        layers=config.whole("num_hidden_layers", largest=MOST_LAYERS),
        heads=heads,
        feed_forward=config.whole("intermediate_size"),
        vocabulary=config.whole("vocab_size"),
        kv_heads=config.whole("num_key_value_heads", heads),
        head_size=config.whole("head_dim", 0) if config.values.get("head_dim") is not None else 0,
        gated=True,
        norm_bias=False,
        query_bias=attention_bias or kind == "qwen2",
        output_bias=attention_bias,
        bias=config.flag("mlp_bias", False),
        tied=config.flag("tie_word_embeddings", False),
        dropout=False,
    )
    if heads % design.kv_heads:
        raise InputError(
            f"{config.path}: num_key_value_heads is {design.kv_heads}; expected a divisor of {heads}"
        )
    return _causal(
        config, kind, design, config.whole("max_position_embeddings", LONGEST_DEFAULT), sequence_length
    )


def _causal(
    config: _Config, kind: str, design: Design, longest: int, sequence_length: int | None
) -> Workload:
    length = _length(config, design, longest, sequence_length)
    return custom_workload(
        config.path,
        decoder_layers(design, length),
        variant=f"{kind}, guesses every next token",
        input_elements=2.0 * length,
        sequence_length=length,
        local_batch_size=1,
        optimizer="adam",
    )


def _length(config: _Config, design: Design, longest: int, sequence_length: int | None) -> int:
    if not design.head_size and design.hidden % design.heads:
        raise InputError(
            f"{config.path}: hidden size {design.hidden}; expected a multiple of {design.heads}, its heads"
        )
    length = sequence_length or min(longest, LONGEST_DEFAULT)
    check_positions(str(config.path), design, length)
    if length > longest:
        raise InputError(
            f"{config.path}: sequence length {length} is beyond max_position_embeddings, {longest}"
        )
    return length
