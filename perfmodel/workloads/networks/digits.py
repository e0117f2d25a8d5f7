"""Networks for images of digits: LeNet-5 (LeCun et al. 1998), LeNet as Caffe has it, and a perceptron.

The perceptron is that of Keras' example mnist_mlp.py.  Their steps are so short that the host sets the pace.
"""

from __future__ import annotations

from perfmodel.workloads.builder import Network, Tensor, image
from perfmodel.workloads.workload import Workload

NAMES = ("lenet", "lenet-caffe", "mlp-mnist")
SAMPLES = 60_000
"""Images of MNIST's training set, of 28 x 28 pixels in grey."""
PIXELS = 28 * 28


def build(name: str) -> Workload:
    """Return the workload of one of ``NAMES``."""
    net = Network()
    variant, source, size, batch = _BUILDERS[name](net)
    return Workload(
        id=name,
        name="MLP" if name == "mlp-mnist" else "LeNet",
        family="cnn",
        layers=tuple(net.layers),
        variant=variant,
        source=source,
        input_elements=float(size),
        stored_bytes=float(PIXELS),
        dataset="MNIST",
        dataset_samples=SAMPLES,
        default_local_batch_size=batch,
    )


def _lenet(net: Network) -> tuple[str, str, int, int]:
    x = net.relu(net.conv(image(32, channels=1), "c1", 6, 5, padding=0, bias=True), "c1.tanh")
    x = net.relu(net.conv(net.average_pool(x, "s2", 2, 2), "c3", 16, 5, padding=0, bias=True), "c3.tanh")
    x = net.relu(net.conv(net.average_pool(x, "s4", 2, 2), "c5", 120, 5, padding=0, bias=True), "c5.tanh")
    x = net.relu(net.linear(x.flat(), "f6", 84), "f6.tanh")
    net.loss(net.linear(x, "output", 10))
    return "LeNet-5, every map of c3 connected to all", "lecun1998", 32 * 32, 64


def _caffe(net: Network) -> tuple[str, str, int, int]:
    x = net.conv(image(28, channels=1), "conv1", 20, 5, padding=0, bias=True)
    x = net.conv(net.max_pool(x, "pool1", 2, stride=2), "conv2", 50, 5, padding=0, bias=True)
    x = net.max_pool(x, "pool2", 2, stride=2).flat()
    x = net.relu(net.linear(x, "ip1", 500), "relu1")
    net.loss(net.linear(x, "ip2", 10))
    return "lenet_train_test.prototxt", "lecun1998", PIXELS, 64


def _perceptron(net: Network) -> tuple[str, str, int, int]:
    x = Tensor(PIXELS, needs_gradient=False)
    for layer in ("dense1", "dense2"):
        x = net.relu(net.linear(x, layer, 512), f"{layer}.relu")
        x = net.dropout(x, f"{layer}.dropout")
    net.loss(net.linear(x, "dense3", 10))
    return "784-512-512-10", "keras-mnist-mlp", PIXELS, 128


_BUILDERS = dict(zip(NAMES, (_lenet, _caffe, _perceptron), strict=True))
