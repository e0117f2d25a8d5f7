"""Recognition and translation of speech by an encoder and a decoder: Whisper (Radford et al. 2023)."""

from __future__ import annotations

from typing import NamedTuple

from perfmodel.core.errors import refusal
from perfmodel.workloads.builder import Network, Tensor
from perfmodel.workloads.networks.fused_attention import self_attention
from perfmodel.workloads.networks.transformer_parts import feed_forward
from perfmodel.workloads.workload import Workload


class Speech(NamedTuple):
    """Widths and counts; heads have 64 features."""

    title: str
    width: int
    layers: int
    """Of the encoder."""
    text_layers: int
    bands: int = 80
    """Of the mel spectrogram."""
    vocabulary: int = 51_865


_LARGE_3 = {"bands": 128, "vocabulary": 51_866}
_MODELS = {
    "whisper-tiny": Speech("Whisper tiny", 384, 4, 4),
    "whisper-base": Speech("Whisper base", 512, 6, 6),
    "whisper-small": Speech("Whisper small", 768, 12, 12),
    "whisper-medium": Speech("Whisper medium", 1024, 24, 24),
    "whisper-large-v2": Speech("Whisper large-v2", 1280, 32, 32),
    "whisper-large-v3": Speech("Whisper large-v3", 1280, 32, 32, **_LARGE_3),
    "whisper-large-v3-turbo": Speech("Whisper large-v3-turbo", 1280, 32, 4, **_LARGE_3),
}

NAMES = tuple(_MODELS)

HEAD_SIZE, FRAMES, MOST_WORDS = 64, 3000, 448
"""Frames of 10 ms in 30 s; tokens of the longest text."""
HOURS = 680_000
"""Of speech that the first models were trained on."""
SAMPLE_RATE, SAMPLE_BYTES, SECONDS = 16_000, 2, 30
"""Of stored sound: samples in a second, bytes of one, seconds of a piece."""


def build(name: str, sequence_length: int | None = None) -> Workload:
    """Return the workload of one of ``NAMES``; a sample is 30 s of sound and ``sequence_length`` tokens.

    Raises
    ------
    InputError : more tokens than the decoder has positions
    """
    m, length = _MODELS[name], sequence_length or MOST_WORDS
    if length > MOST_WORDS:
        raise refusal(
            "workload.too_long", "sequence_length", name=name, sequence_length=length, limit=MOST_WORDS
        )
    net = Network()
    sound = Tensor(m.bands, FRAMES, needs_gradient=False)
    memory = _encoded(net, sound, m)
    x = net.embedding("words", length, m.vocabulary, m.width)
    net.parameter("positions", MOST_WORDS * m.width, x.elements)
    x = net.scale(x, "add_position")
    for index in range(m.text_layers):
        name_ = f"decoder.{index}"
        x = _attended(net, x, f"{name_}.attention")
        x = _fed(net, _attended(net, x, f"{name_}.cross_attention", memory), name_)
    x = net.layer_norm(x, "norm")
    net.loss(net.linear(x, "head", m.vocabulary, bias=False, weight=False))
    return Workload(
        id=name,
        name=m.title,
        family="transformer",
        layers=tuple(net.layers),
        variant=f"{SECONDS} s of sound in {m.bands} bands",
        source="radford2023",
        sample="clip",
        sequence_length=length,
        input_elements=float(sound.elements + 2 * length),
        stored_bytes=float(SAMPLE_RATE * SAMPLE_BYTES * SECONDS),
        dataset="680,000 hours of speech from the web",
        dataset_samples=HOURS * 3600 // SECONDS,
        default_local_batch_size=16,
        default_optimizer="adam",
        padded=True,
    )


def _encoded(net: Network, x: Tensor, m: Speech) -> Tensor:
    x = net.conv(x, "encoder.conv1", m.width, (3, 1), padding=(1, 0), bias=True)
    x = net.smooth(x, "encoder.activation1")
    y = Tensor(m.width, FRAMES // 2)
    x = net.smooth(net.convolve(x, y, "encoder.conv2", (3, 1), 2, bias=True), "encoder.activation2")
    x = net.scale(net.copy(x, "encoder.tokens"), "encoder.add_position")
    for index in range(m.layers):
        name = f"encoder.{index}"
        x = _fed(net, _attended(net, x, f"{name}.attention"), name)
    return net.layer_norm(x, "encoder.norm")


def _attended(net: Network, x: Tensor, name: str, memory: Tensor | None = None) -> Tensor:
    y = net.layer_norm(x, f"{name}.norm")
    y = self_attention(net, y, name, x.channels // HEAD_SIZE, key_bias=False, memory=memory)
    return net.add(y, x, f"{name}.add")


def _fed(net: Network, x: Tensor, name: str) -> Tensor:
    y = feed_forward(net, net.layer_norm(x, f"{name}.mlp.norm"), f"{name}.mlp", 4 * x.channels)
    return net.add(y, x, f"{name}.mlp.add")
