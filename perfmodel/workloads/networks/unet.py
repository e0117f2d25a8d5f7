"""3D U-Net for volumes (Isensee et al. 2019), as MLPerf trains it from v1.0 on: kidneys and their tumours."""

from __future__ import annotations

from perfmodel.workloads.builder import Network, Tensor
from perfmodel.workloads.workload import Workload

NAMES = ("unet3d",)

WIDTHS = (32, 64, 128, 256, 320, 320)
"""Features at each size, each half as wide as the one before."""
SIDE, CLASSES = 128, 3
"""Voxels of a cube; kidney, tumour and neither."""
CASES = 168
"""Of KiTS19 to train with; a cube is cut out of each in every epoch."""


def build(name: str) -> Workload:
    """Return the workload of one of ``NAMES``."""
    net = Network()
    x = _filters(net, Tensor(1, SIDE, SIDE * SIDE, needs_gradient=False), "input", WIDTHS[0], 1)
    skipped = []
    for index, width in enumerate(WIDTHS[1:]):
        skipped.append(x)
        x = _filters(net, x, f"down{index}", width, 2)
    for index, skip in enumerate(reversed(skipped)):
        x = _enlarged(net, x, f"up{index}.enlarge", skip.channels)
        x = _filters(net, net.concat([x, skip], f"up{index}.join"), f"up{index}", skip.channels, 1)
    net.loss(net.conv(x, "output", CLASSES, 1, bias=True))
    voxels = float(SIDE**3)
    return Workload(
        id=name,
        name="3D U-Net",
        family="cnn",
        layers=tuple(net.layers),
        variant=f"cubes of {SIDE} voxels, {CLASSES} classes",
        source="isensee2019",
        sample="volume",
        input_elements=voxels,
        stored_bytes=5 * voxels,  # a number of 4 bytes and a class of 1 for each
        dataset="KiTS19",
        dataset_samples=CASES,
        default_local_batch_size=2,
        default_optimizer="sgd",
    )


def _filters(net: Network, x: Tensor, name: str, channels: int, stride: int) -> Tensor:
    """Append two filters of 3 x 3 x 3, each with norm and activation; the first has the stride."""
    for index in range(2):
        step = stride if index == 0 else 1
        y = Tensor(channels, x.height // step, x.width // step**2)
        x = net.convolve(x, y, f"{name}.conv{index}", (3, 3, 3), step)
        x = net.relu(net.batch_norm(x, f"{name}.norm{index}"), f"{name}.relu{index}")
    return x


def _enlarged(net: Network, x: Tensor, name: str, channels: int) -> Tensor:
    """Append a transposed convolution that doubles every side."""
    y = net.linear(x, name, 8 * channels)
    weights, _ = net.layers[-1].tensors
    net.layers[-1] = net.layers[-1]._replace(kind="conv", kernel_size=(2, 4), tensors=(weights, channels))
    return y.view(channels, 2 * x.height, 4 * x.width)
