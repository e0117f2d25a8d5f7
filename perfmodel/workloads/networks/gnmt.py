"""GNMT, a recurrent translation model (Wu et al. 2016), as MLPerf and NVIDIA's DeepLearningExamples train it.

A step of an LSTM is a product with one row per sample, so that its products are as many as its steps.
"""

from __future__ import annotations

from perfmodel.workloads.builder import Network, Tensor
from perfmodel.workloads.workload import Workload

NAMES = ("gnmt",)

HIDDEN, LAYERS, VOCABULARY = 1024, 4, 31_800
"""Features; layers of the encoder and of the decoder; joint word pieces, padded."""


def build(name: str, sequence_length: int | None = None) -> Workload:
    """Return the workload of one of ``NAMES``; a sample is a pair of sentences, 50 tokens each by default."""
    length = sequence_length or 50
    net = Network()
    memory = _encoder(net, net.embedding("embeddings.token", length, VOCABULARY, HIDDEN))
    x = _decoder(net, net.shared_embedding("embeddings.target", length, HIDDEN), memory)
    net.loss(net.linear(x, "classifier", VOCABULARY))
    return Workload(
        id=name,
        name="GNMT",
        family="custom",
        layers=tuple(net.layers),
        variant=f"{LAYERS} layers of {HIDDEN} each way; source and target of the same length",
        source="wu2016",
        sample="sequence",
        sequence_length=length,
        input_elements=3.0 * length,
        stored_bytes=12.0 * length,
        dataset="WMT 2016 English-German",
        dataset_samples=4_000_000,
        default_local_batch_size=128,
        default_optimizer="adam",
        padded=True,
    )


def _lstm(net: Network, x: Tensor, name: str) -> Tensor:
    """Append one direction of an LSTM: the input products of all steps at once, then step by step."""
    steps, gates = x.height, 4 * HIDDEN
    net.linear(x, f"{name}.input", gates)
    state = Tensor(HIDDEN, steps)
    y = net.linear(state, f"{name}.state", gates)
    product = net.layers[-1]
    net.layers[-1] = product._replace(
        gemm_rows=1.0,
        gemm_count=float(steps),
        forward_kernels=float(steps),
        backward_kernels=float(steps) + product.backward_kernels - 1,  # the weights' gradient is one product
    )
    net.smooth(y, f"{name}.gates")
    net.layers[-1] = net.layers[-1]._replace(forward_kernels=float(steps), backward_kernels=float(steps))
    return Tensor(HIDDEN, steps)


def _layer(net: Network, x: Tensor, name: str) -> Tensor:
    return _lstm(net, net.dropout(x, f"{name}.dropout"), name)


def _encoder(net: Network, x: Tensor) -> Tensor:
    """Append the encoder: a bidirectional first layer, and residual connections from the third on."""
    x = net.dropout(x, "encoder.0.dropout")
    both = [_lstm(net, x, f"encoder.0.{way}") for way in ("forward", "backward")]
    x = net.concat(both, "encoder.0.join")
    for index in range(1, LAYERS):
        y = _layer(net, x, f"encoder.{index}")
        x = net.add(y, x, f"encoder.{index}.add") if index > 1 else y
    return x


def _decoder(net: Network, x: Tensor, memory: Tensor) -> Tensor:
    """Append the decoder: attention after the first layer, whose output is an input of all others."""
    x = _layer(net, x, "decoder.0")
    context = _attention(net, x, memory)
    for index in range(1, LAYERS):
        joined = net.concat([x, context], f"decoder.{index}.join")
        y = _layer(net, joined, f"decoder.{index}")
        x = net.add(y, x, f"decoder.{index}.add") if index > 1 else y
    return x


def _attention(net: Network, x: Tensor, memory: Tensor) -> Tensor:
    """Append Bahdanau's attention: the score of each pair is a sum over the tanh of query plus key."""
    q = net.linear(x, "attention.query", HIDDEN, bias=False)
    k = net.linear(memory, "attention.key", HIDDEN, bias=False)
    # bias, direction and length of what is summed; every pair of positions has as many features as a token
    net.parameter("attention.bias", HIDDEN, 0)
    net.parameter("attention.direction", HIDDEN, 0)
    net.parameter("attention.length", 1, 0)
    pairs = net.unknown([q, k], Tensor(HIDDEN, q.height, k.height), "attention.sum")
    pairs = net.relu(pairs, "attention.tanh")
    scores = net.unknown([pairs], Tensor(k.height, q.height), "attention.scores")
    scores = net.softmax(scores, "attention.softmax")
    return net.matmul(scores, memory, "attention.context", q.height, HIDDEN, k.height, 1)
