"""Inception v3 (Szegedy et al. 2016) and v4 (Szegedy et al. 2017), batch-normalised throughout."""

from __future__ import annotations

from perfmodel.workloads.builder import Network, Tensor, image
from perfmodel.workloads.networks import imagenet
from perfmodel.workloads.workload import Workload

NAMES = ("inception-v3", "inception-v3-aux", "inception-v4")

_Filter = int | tuple[int, int]
_Step = tuple[int, _Filter] | tuple[int, _Filter, int]
"""Channels and filter; a third entry, 2, means stride 2 with no padding, 1 stride 1 with no padding."""

_ROW, _COLUMN = (1, 7), (7, 1)


def build(name: str) -> Workload:
    """Return the workload of one of ``NAMES``."""
    net = Network()
    x = image(299)
    if name == "inception-v4":
        x = _version_4(net, x)
        title, variant, source = "Inception v4", "no residual connections", "szegedy2017"
    else:
        auxiliary = name.endswith("-aux")
        x = _version_3(net, x, auxiliary)
        title, source = "Inception v3", "szegedy2016"
        variant = "with the auxiliary head" if auxiliary else "without the auxiliary head"
    x = net.dropout(net.global_pool(x, "avgpool"), "dropout")
    net.loss(net.linear(x, "fc", 1000))
    return imagenet.workload(name, title, net.layers, variant=variant, source=source, size=299)


def _chain(net: Network, x: Tensor, name: str, *steps: _Step) -> Tensor:
    """Append a chain of convolutions; return its output."""
    for index, step in enumerate(steps):
        channels, kernel = step[0], step[1]
        if len(step) == 3:
            x = net.conv_norm(x, f"{name}_{index + 1}", channels, kernel, step[2], padding=0)
        else:
            rows, columns = (kernel, kernel) if isinstance(kernel, int) else kernel
            x = net.conv_norm(x, f"{name}_{index + 1}", channels, kernel, padding=(rows // 2, columns // 2))
    return x


def _pooled(net: Network, x: Tensor, name: str, channels: int) -> Tensor:
    return _chain(net, net.average_pool(x, f"{name}.pool", 3, 1, 1), f"{name}.branch_pool", (channels, 1))


def _shrink(net: Network, x: Tensor, name: str, *branches: tuple[_Step, ...]) -> Tensor:
    """Append a reduction block: branches that end with stride 2, and a pooling, concatenated."""
    maps = [_chain(net, x, f"{name}.branch{index}", *steps) for index, steps in enumerate(branches)]
    return net.concat([*maps, net.max_pool(x, f"{name}.pool", 3, 2)], f"{name}.cat")


def _fork(net: Network, x: Tensor, name: str, channels: int) -> Tensor:
    """Append a row filter and a column filter on the same input; return both outputs concatenated."""
    row = _chain(net, x, f"{name}a", (channels, (1, 3)))
    column = _chain(net, x, f"{name}b", (channels, (3, 1)))
    return net.concat([row, column], f"{name}.cat")


def _version_3(net: Network, x: Tensor, auxiliary: bool) -> Tensor:
    x = _chain(net, x, "stem", (32, 3, 2), (32, 3, 1), (64, 3))
    x = net.max_pool(x, "pool1", 3, 2)
    x = _chain(net, x, "stem_b", (80, 1), (192, 3, 1))
    x = net.max_pool(x, "pool2", 3, 2)
    for name, pooled in (("Mixed_5b", 32), ("Mixed_5c", 64), ("Mixed_5d", 64)):
        branches = [
            _chain(net, x, f"{name}.branch1x1", (64, 1)),
            _chain(net, x, f"{name}.branch5x5", (48, 1), (64, 5)),
            _chain(net, x, f"{name}.branch3x3dbl", (64, 1), (96, 3), (96, 3)),
            _pooled(net, x, name, pooled),
        ]
        x = net.concat(branches, f"{name}.cat")
    x = _shrink(net, x, "Mixed_6a", ((384, 3, 2),), ((64, 1), (96, 3), (96, 3, 2)))
    for name, c in (("Mixed_6b", 128), ("Mixed_6c", 160), ("Mixed_6d", 160), ("Mixed_6e", 192)):
        double = ((c, 1), (c, _COLUMN), (c, _ROW), (c, _COLUMN), (192, _ROW))
        branches = [
            _chain(net, x, f"{name}.branch1x1", (192, 1)),
            _chain(net, x, f"{name}.branch7x7", (c, 1), (c, _ROW), (192, _COLUMN)),
            _chain(net, x, f"{name}.branch7x7dbl", *double),
            _pooled(net, x, name, 192),
        ]
        x = net.concat(branches, f"{name}.cat")
    if auxiliary:
        y = net.average_pool(x, "AuxLogits.pool", 5, 3)
        y = _chain(net, y, "AuxLogits", (128, 1), (768, 5, 1))
        net.loss(net.linear(net.global_pool(y, "AuxLogits.avgpool"), "AuxLogits.fc", 1000), "AuxLogits.loss")
    seven = ((192, 1), (192, _ROW), (192, _COLUMN), (192, 3, 2))
    x = _shrink(net, x, "Mixed_7a", ((192, 1), (320, 3, 2)), seven)
    for name in ("Mixed_7b", "Mixed_7c"):
        branches = [
            _chain(net, x, f"{name}.branch1x1", (320, 1)),
            _fork(net, _chain(net, x, f"{name}.branch3x3", (384, 1)), f"{name}.branch3x3_2", 384),
            _fork(
                net,
                _chain(net, x, f"{name}.branch3x3dbl", (448, 1), (384, 3)),
                f"{name}.branch3x3dbl_3",
                384,
            ),
            _pooled(net, x, name, 192),
        ]
        x = net.concat(branches, f"{name}.cat")
    return x


def _version_4(net: Network, x: Tensor) -> Tensor:
    x = _chain(net, x, "stem", (32, 3, 2), (32, 3, 1), (64, 3))
    x = _shrink(net, x, "mixed_3a", ((96, 3, 2),))
    left = _chain(net, x, "mixed_4a.branch0", (64, 1), (96, 3, 1))
    right = _chain(net, x, "mixed_4a.branch1", (64, 1), (64, _ROW), (64, _COLUMN), (96, 3, 1))
    x = net.concat([left, right], "mixed_4a.cat")
    x = _shrink(net, x, "mixed_5a", ((192, 3, 2),))
    for block in range(4):
        name = f"inception_a.{block}"
        branches = [
            _chain(net, x, f"{name}.branch0", (96, 1)),
            _chain(net, x, f"{name}.branch1", (64, 1), (96, 3)),
            _chain(net, x, f"{name}.branch2", (64, 1), (96, 3), (96, 3)),
            _pooled(net, x, name, 96),
        ]
        x = net.concat(branches, f"{name}.cat")
    x = _shrink(net, x, "reduction_a", ((384, 3, 2),), ((192, 1), (224, 3), (256, 3, 2)))
    for block in range(7):
        name = f"inception_b.{block}"
        double = ((192, 1), (192, _COLUMN), (224, _ROW), (224, _COLUMN), (256, _ROW))
        branches = [
            _chain(net, x, f"{name}.branch0", (384, 1)),
            _chain(net, x, f"{name}.branch1", (192, 1), (224, _ROW), (256, _COLUMN)),
            _chain(net, x, f"{name}.branch2", *double),
            _pooled(net, x, name, 128),
        ]
        x = net.concat(branches, f"{name}.cat")
    seven = ((256, 1), (256, _ROW), (320, _COLUMN), (320, 3, 2))
    x = _shrink(net, x, "reduction_b", ((192, 1), (192, 3, 2)), seven)
    for block in range(3):
        name = f"inception_c.{block}"
        long = _chain(net, x, f"{name}.branch2", (384, 1), (448, (3, 1)), (512, (1, 3)))
        branches = [
            _chain(net, x, f"{name}.branch0", (256, 1)),
            _fork(net, _chain(net, x, f"{name}.branch1", (384, 1)), f"{name}.branch1_1", 256),
            _fork(net, long, f"{name}.branch2_3", 256),
            _pooled(net, x, name, 256),
        ]
        x = net.concat(branches, f"{name}.cat")
    return x
