"""Reads a transformer from a Hugging Face config.json, without downloads."""

from __future__ import annotations

from pathlib import Path

from perfmodel.core.errors import refusal
from perfmodel.core.files.reading import read_json
from perfmodel.workloads.architecture import Architecture
from perfmodel.workloads.custom import custom_workload
from perfmodel.workloads.huggingface.config import Config, shown
from perfmodel.workloads.huggingface.families import FAMILIES
from perfmodel.workloads.huggingface.left_out import left_out
from perfmodel.workloads.huggingface.towers import tower_of
from perfmodel.workloads.huggingface.unread import check_read
from perfmodel.workloads.huggingface.widths import LONGEST_DEFAULT
from perfmodel.workloads.images import remarks, with_images
from perfmodel.workloads.networks.transformer import check_positions, input_elements, layers_of
from perfmodel.workloads.networks.transformer_stacks import bert_layers
from perfmodel.workloads.workload import Workload

LIMIT = 1_000_000
"""Largest file that is read [B]."""


def workload_from_huggingface(
    path: str | Path, sequence_length: int | None = None, image_tokens: int | None = None
) -> Workload:
    """Return the workload of a config.json.

    Of a multimodal model only the text part is read, and a note names the rest, unless ``image_tokens``
    includes its vision tower.  Heads of encoders are those
    of the first of ``architectures``: BertForPreTraining, BertForMaskedLM or the bare encoder; causal models
    predict every next token, T5 the masked spans, ViT classifies.  Dropout is that of the papers.

    Parameters
    ----------
    path : of the file
    sequence_length : tokens of one sample; by default the longest that the model allows, at most 4096
    image_tokens : tokens of one sample that are of images; 0 or None leaves out the vision tower

    Raises
    ------
    InputError : not JSON, an unknown ``model_type``, a missing or wrong number, or a sequence too long
    """
    path = Path(path)
    values = read_json(path, LIMIT, "a Hugging Face config.json")
    if not isinstance(values, dict) or not isinstance(values.get("model_type"), str):
        raise refusal("network.no_model_type").under(path)
    whole, text = (
        Config(path, values),
        values.get("text_config") or values.get("llm_config"),
    )  # as InternVL calls it
    if (
        values["model_type"] not in FAMILIES
        and isinstance(text, dict)
        and str(text.get("model_type")) in FAMILIES
    ):
        values = text
    kind = values["model_type"]
    if kind not in FAMILIES:
        raise refusal("network.model_type", kind=shown(kind), known=tuple(FAMILIES)).under(path)
    config = Config(path, values)
    architecture = FAMILIES[kind](config)
    without = left_out(whole, config, architecture, with_images=bool(image_tokens))
    if image_tokens is not None and not whole.values.get("vision_config"):
        raise refusal("workload.no_images", "image_tokens", name=str(path))
    check_read(config, architecture)
    if architecture.patch_elements:
        return _images(config, architecture, sequence_length)
    length = _length(config, architecture, sequence_length)
    if image_tokens:
        tower = with_images(tower_of(whole, architecture.hidden), str(path), image_tokens, length)
        architecture = architecture._replace(tower=tower)
    if architecture.bidirectional:
        return _encoder(config, kind, architecture, length)
    guesses = "guesses what was cut out" if architecture.encoder_layers else "guesses every next token"
    return custom_workload(
        path,
        layers_of(architecture, length),
        variant=f"{kind}, {guesses}",
        input_elements=float(input_elements(architecture, length)),
        sequence_length=length,
        local_batch_size=1,
        optimizer="adam",
        architecture=architecture,
        without=without,
        remarks=remarks(architecture.tower),
        image_tokens=image_tokens,
    )


def _encoder(config: Config, kind: str, architecture: Architecture, length: int) -> Workload:
    name = config.class_name()
    words = name.endswith(("ForPreTraining", "ForMaskedLM"))
    layers = bert_layers(
        architecture,
        length,
        pooler=kind == "bert" and not name.endswith("ForMaskedLM"),
        words=words,
        sentences=name.endswith("ForPreTraining"),
    )
    return custom_workload(
        config.path,
        layers,
        variant=f"{kind}, {name if words else 'encoder without a head'}",
        input_elements=float(input_elements(architecture, length)) if words else 3.0 * length,
        sequence_length=length,
        optimizer="adam",
        architecture=architecture,
    )


def _images(config: Config, architecture: Architecture, sequence_length: int | None) -> Workload:
    from perfmodel.workloads.networks.vision_transformer import vit_layers

    if sequence_length is not None:
        raise refusal("network.images", "sequence_length").under(config.path)
    pixels = (architecture.positions - 1) * architecture.patch_elements
    return custom_workload(
        config.path,
        vit_layers(architecture),
        variant="vit, classifies images",
        input_elements=float(pixels),
        optimizer="adam",
        architecture=architecture,
    )


def _length(config: Config, architecture: Architecture, sequence_length: int | None) -> int:
    """Return the tokens of a sample, checked against the network's longest sequence."""
    a = architecture
    length = sequence_length or min(a.positions, LONGEST_DEFAULT)
    check_positions(str(config.path), a, length)
    if a.rotary and length > a.positions:
        raise refusal("network.positions", "sequence_length", length=length, positions=a.positions).under(
            config.path
        )
    return length
