"""Builds a layer table from a network's operations in order.

A network is a function that passes a :class:`Tensor` through the methods of a :class:`Network`; every method
appends the rows of the operation and returns its output.

What is counted
---------------
FLOPs are those of matrix products and convolutions, two per multiply-add, which is what papers and
libraries print; elementwise work is counted by the elements it moves, as memory bounds its speed.  The
backward pass of a product costs its forward pass twice (input and weight gradient), and once if the input
needs no gradient, as in the first layer.  Layers are not fused: each reads its input and writes its output.
A tensor that several layers read receives as many gradients, and each after the first costs a kernel that
adds it (three elements moved per element); residual sums pass their gradient on without cost.  A tensor kept
for the backward pass is counted once, by the first layer that keeps it.
"""

from __future__ import annotations

from math import ceil, prod

from perfmodel.workloads.workload import Layer

MASK_ELEMENT = 0.5
"""Size of a byte of a dropout mask, in 16-bit elements, as Korthikanti et al. count it."""


class _Storage:
    """Storage that views of one tensor share: whether it is kept, and how many layers read it."""

    __slots__ = ("kept", "uses")

    def __init__(self) -> None:
        self.kept = False
        self.uses = 0


class Tensor:
    """One sample's activation: ``channels`` features at each of ``height`` x ``width`` positions.

    A sequence is ``channels`` features at ``height`` tokens, ``width`` 1.
    """

    __slots__ = ("channels", "height", "needs_gradient", "storage", "width")

    def __init__(self, channels: int, height: int = 1, width: int = 1, needs_gradient: bool = True) -> None:
        self.channels = channels
        self.height = height
        self.width = width
        self.needs_gradient = needs_gradient
        self.storage = _Storage()

    @property
    def positions(self) -> int:
        """Number of pixels or tokens."""
        return self.height * self.width

    @property
    def elements(self) -> int:
        """Number of features at all positions."""
        return self.channels * self.height * self.width

    def view(self, channels: int, height: int = 1, width: int = 1) -> Tensor:
        """Return a view of the tensor in another shape, without moving data."""
        other = Tensor(channels, height, width, self.needs_gradient)
        other.storage = self.storage
        return other

    def flat(self) -> Tensor:
        """Return a view with all elements as features of one position."""
        return self.view(self.elements)


def image(height: int = 224, width: int | None = None, channels: int = 3) -> Tensor:
    """Return an input image, which needs no gradient; the width is the height by default."""
    return Tensor(channels, height, height if width is None else width, needs_gradient=False)


def output_size(
    size: int, kernel: int, stride: int, padding: int, dilation: int = 1, ceil_mode: bool = False
) -> int:
    """Return the output size of a convolution or pooling along one axis.

    A 7 wide filter, stride 2, padding 3, over 224: (224 + 6 - 7) // 2 + 1.

    >>> output_size(224, 7, 2, 3)
    112
    """
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return span // stride + 1
    outputs = ceil(span / stride) + 1
    # the last window must start inside the input or its left padding
    return outputs - 1 if (outputs - 1) * stride >= size + padding else outputs


class Network:
    """A layer table in forward order; its operations append rows and return the output of one sample."""

    def __init__(self) -> None:
        self.layers: list[Layer] = []

    def _keep(self, *tensors: Tensor) -> int:
        """Mark tensors as kept for the backward pass; return the elements not kept before."""
        kept = 0
        for tensor in tensors:
            if not tensor.storage.kept:
                tensor.storage.kept = True
                kept += tensor.elements
        return kept

    def _read(self, *tensors: Tensor) -> tuple[int, int]:
        """Count a read of tensors; return elements moved and kernels launched to add up their gradients."""
        moved = kernels = 0
        for tensor in tensors:
            if tensor.storage.uses and tensor.needs_gradient:
                moved += 3 * tensor.elements
                kernels += 1
            tensor.storage.uses += 1
        return moved, kernels

    # products with weights

    def conv(
        self,
        x: Tensor,
        name: str,
        channels: int,
        kernel: int | tuple[int, int] = 1,
        stride: int = 1,
        padding: int | tuple[int, int] | None = None,
        groups: int = 1,
        dilation: int = 1,
        bias: bool = False,
    ) -> Tensor:
        """Append a convolution to ``channels`` features; the default padding is half the filter.

        A bias takes a kernel of its own in both passes.
        """
        rows, columns = (kernel, kernel) if isinstance(kernel, int) else kernel
        if padding is None:
            pad_rows, pad_columns = dilation * (rows // 2), dilation * (columns // 2)
        else:
            pad_rows, pad_columns = (padding, padding) if isinstance(padding, int) else padding
        y = Tensor(
            channels,
            output_size(x.height, rows, stride, pad_rows, dilation),
            output_size(x.width, columns, stride, pad_columns, dilation),
        )
        return self.convolve(x, y, name, (rows, columns), stride, groups, bias)

    def convolve(
        self,
        x: Tensor,
        y: Tensor,
        name: str,
        kernel: tuple[int, ...],
        stride: int = 1,
        groups: int = 1,
        bias: bool = False,
    ) -> Tensor:
        """Append a convolution from ``x`` to ``y``, whose shape is known."""
        depth = x.channels // groups * prod(kernel)
        flops = 2 * y.elements * depth
        gradients = 2 if x.needs_gradient else 1
        moved = x.elements + y.elements
        sums, sum_kernels = self._read(x)
        self.layers.append(
            Layer(
                name,
                "depthwise-conv" if 1 < groups == x.channels else "conv",
                (y.channels * depth, y.channels) if bias else (y.channels * depth,),
                flops,
                gradients * flops,
                moved + 2 * bias * y.elements,
                gradients * moved + bias * y.elements + sums,
                self._keep(x),
                y.positions,
                y.channels // groups,
                depth,
                groups,
                (kernel[0], prod(kernel[1:])),
                stride,
                1 + bias,
                gradients + bias + sum_kernels,
            )
        )
        return y

    def deconv(self, x: Tensor, name: str, channels: int, factor: int) -> Tensor:
        """Append a transposed convolution that enlarges by ``factor``, with windows that do not overlap."""
        y = self.linear(x, name, channels * factor * factor, bias=False)
        self.layers[-1] = self.layers[-1]._replace(kind="conv", kernel_size=(factor, factor))
        return y.view(channels, x.height * factor, x.width * factor)

    def linear(self, x: Tensor, name: str, features: int, bias: bool = True, weight: bool = True) -> Tensor:
        """Append a linear layer on the features of every position; the bias's gradient takes a kernel.

        Without ``weight`` the weights belong to another layer (tied embeddings).
        """
        y = Tensor(features, x.height, x.width)
        flops = 2 * x.elements * features
        gradients = 2 if x.needs_gradient else 1
        moved = x.elements + y.elements
        sums, sum_kernels = self._read(x)
        weights = (features * x.channels,) if weight else ()
        self.layers.append(
            Layer(
                name,
                "linear",
                (*weights, features) if bias else weights,
                flops,
                gradients * flops,
                moved,
                gradients * moved + bias * y.elements + sums,
                self._keep(x),
                x.positions,
                features,
                x.channels,
                backward_kernels=gradients + bias + sum_kernels,
            )
        )
        return y

    def embedding(self, name: str, tokens: int, vocabulary: int, features: int) -> Tensor:
        """Append a look-up of one row of a ``vocabulary`` x ``features`` table for every token."""
        y = Tensor(features, tokens)
        moved = 2 * y.elements
        # backward: the dense gradient is cleared, then scattered into
        self.layers.append(
            Layer(name, "embedding", (vocabulary * features,), 0, 0, moved, moved, backward_kernels=2)
        )
        return y

    def conv_norm(
        self,
        x: Tensor,
        name: str,
        channels: int,
        kernel: int | tuple[int, int] = 1,
        stride: int = 1,
        padding: int | tuple[int, int] | None = None,
        groups: int = 1,
        activation: str = "relu",
    ) -> Tensor:
        """Append convolution, batch norm and an activation: ``relu``, ``smooth``, or "" for none."""
        x = self.conv(x, f"{name}.conv", channels, kernel, stride, padding, groups)
        x = self.batch_norm(x, f"{name}.bn")
        return self.activation(x, f"{name}.{activation}", activation) if activation else x

    def shared_embedding(self, name: str, tokens: int, features: int) -> Tensor:
        """Append a look-up in a table that belongs to another layer."""
        y = self.embedding(name, tokens, 0, features)
        self.layers[-1] = self.layers[-1]._replace(tensors=())
        return y

    # products of two activations

    def matmul(
        self, x: Tensor, y: Tensor, name: str, rows: int, columns: int, depth: int, count: int
    ) -> Tensor:
        """Append ``count`` products of two activations, rows x depth times depth x columns."""
        z = Tensor(count * columns, rows)
        flops = 2 * rows * columns * depth * count
        moved = x.elements + y.elements + z.elements
        sums, sum_kernels = self._read(x, y)
        self.layers.append(
            Layer(
                name,
                "matmul",
                (),
                flops,
                2 * flops,
                moved,
                2 * moved + sums,
                self._keep(x, y),
                rows,
                columns,
                depth,
                count,
                backward_kernels=2 + sum_kernels,
            )
        )
        return z

    # elementwise

    def _elementwise(
        self,
        x: Tensor,
        name: str,
        kind: str,
        forward: float,
        backward: float,
        keep_input: bool = False,
        keep_output: bool = False,
        tensors: tuple[int, ...] = (),
        mask: float = 0.0,
        backward_kernels: int = 1,
    ) -> Tensor:
        """Append an elementwise layer, given the elements moved per element by each pass."""
        y = Tensor(x.channels, x.height, x.width, x.needs_gradient)
        elements = x.elements
        sums, sum_kernels = self._read(x)
        saved: float = mask * elements
        if keep_input:
            saved += self._keep(x)
        if keep_output:
            saved += self._keep(y)
        self.layers.append(
            Layer(
                name,
                kind,
                tensors,
                0,
                0,
                forward * elements,
                backward * elements + sums,
                saved,
                backward_kernels=backward_kernels + sum_kernels,
            )
        )
        return y

    def batch_norm(self, x: Tensor, name: str) -> Tensor:
        """Append a batch norm: it reads twice, writes once; backward reads x and dy twice, writes dx."""
        return self._elementwise(x, name, "norm", 3, 5, keep_input=True, tensors=(x.channels, x.channels))

    def layer_norm(self, x: Tensor, name: str, bias: bool = True) -> Tensor:
        """Append a layer norm over the features, in one pass; without ``bias`` it is RMSNorm.

        Backward: one kernel for the input's gradient, one for those of the parameters.
        """
        tensors = (x.channels, x.channels) if bias else (x.channels,)
        return self._elementwise(x, name, "norm", 2, 5, keep_input=True, tensors=tensors, backward_kernels=2)

    def relu(self, x: Tensor, name: str) -> Tensor:
        """Append a ReLU or similar; it keeps its output, which the next layer keeps anyway."""
        return self._elementwise(x, name, "activation", 2, 3, keep_output=True)

    def smooth(self, x: Tensor, name: str) -> Tensor:
        """Append a smooth activation (GELU, SiLU, h-swish), which keeps its input."""
        return self._elementwise(x, name, "activation", 2, 3, keep_input=True)

    def activation(self, x: Tensor, name: str, which: str) -> Tensor:
        """Append the activation ``which``: ``relu`` or ``smooth``."""
        return self.relu(x, name) if which == "relu" else self.smooth(x, name)

    def local_response_norm(self, x: Tensor, name: str) -> Tensor:
        """Append a norm over neighbouring channels (AlexNet, GoogLeNet); it keeps the input and a scale."""
        return self._elementwise(x, name, "norm", 3, 5, keep_input=True, mask=1.0)

    def dropout(self, x: Tensor, name: str) -> Tensor:
        """Append a dropout, which keeps a mask of a byte per element."""
        forward = 2 + MASK_ELEMENT
        return self._elementwise(x, name, "dropout", forward, forward, mask=MASK_ELEMENT)

    def softmax(self, x: Tensor, name: str) -> Tensor:
        """Append a softmax, which keeps its output."""
        return self._elementwise(x, name, "softmax", 2, 3, keep_output=True)

    def scale(self, x: Tensor, name: str, kernels: int = 1) -> Tensor:
        """Append ``kernels`` multiplications by a constant or additions of a mask; nothing is kept."""
        y = self._elementwise(x, name, "other", 2 * kernels, 2, keep_input=False)
        self.layers[-1] = self.layers[-1]._replace(forward_kernels=kernels)
        return y

    def channel_scale(self, x: Tensor, name: str, parameters: int = 0) -> Tensor:
        """Append a product of each channel and a factor, computed (a gate) or learned (``parameters``)."""
        return self._elementwise(
            x,
            name,
            "other",
            2,
            4,
            keep_input=True,
            tensors=(parameters,) if parameters else (),
            backward_kernels=2,
        )

    def squeeze_excite(self, x: Tensor, name: str, squeezed: int, activation: str = "relu") -> Tensor:
        """Append a squeeze-and-excitation block: each channel's gate from all means (Hu et al. 2018)."""
        gate = self.global_pool(x, f"{name}.pool")
        gate = self.linear(gate, f"{name}.squeeze", squeezed)
        gate = self.activation(gate, f"{name}.{activation}", activation)
        gate = self.linear(gate, f"{name}.expand", x.channels)
        self.relu(gate, f"{name}.sigmoid")
        return self.channel_scale(x, f"{name}.scale")

    def unknown(self, inputs: list[Tensor], y: Tensor, name: str) -> Tensor:
        """Append an unknown operation: one kernel in each pass that reads ``inputs`` and writes ``y``."""
        sums, sum_kernels = self._read(*inputs)
        moved = sum(x.elements for x in inputs) + y.elements
        self.layers.append(
            Layer(
                name,
                "other",
                (),
                0,
                0,
                moved,
                moved + sums,
                self._keep(*inputs),
                backward_kernels=1 + sum_kernels,
            )
        )
        return y

    def multiply(self, x: Tensor, y: Tensor, name: str) -> Tensor:
        """Append an elementwise product of two tensors, which keeps both."""
        return self._combine((x, y), name, "other", 3, 6, 2, keep=True)

    def add(self, x: Tensor, y: Tensor, name: str) -> Tensor:
        """Append a sum of two branches."""
        return self._combine((x, y), name, "add", 3, 0, 0, keep=False)

    def _combine(
        self,
        inputs: tuple[Tensor, Tensor],
        name: str,
        kind: str,
        forward: int,
        backward: int,
        backward_kernels: int,
        keep: bool,
    ) -> Tensor:
        first = inputs[0]
        z = Tensor(first.channels, first.height, first.width)
        sums, sum_kernels = self._read(*inputs)
        self.layers.append(
            Layer(
                name,
                kind,
                (),
                0,
                0,
                forward * z.elements,
                backward * z.elements + sums,
                self._keep(*inputs) if keep else 0,
                backward_kernels=backward_kernels + sum_kernels,
            )
        )
        return z

    def copy(self, x: Tensor, name: str) -> Tensor:
        """Append a copy in another memory order (split heads, shift windows, permute)."""
        return self._elementwise(x, name, "other", 2, 2)

    def gather(self, x: Tensor, name: str, positions: int) -> Tensor:
        """Append a selection of some positions; backward clears the whole gradient and scatters into it."""
        y = Tensor(x.channels, positions)
        sums, sum_kernels = self._read(x)
        moved = 2 * y.elements
        self.layers.append(
            Layer(
                name,
                "other",
                (),
                0,
                0,
                moved,
                moved + x.elements + sums,
                backward_kernels=2 + sum_kernels,
            )
        )
        return y

    def concat(self, inputs: list[Tensor], name: str) -> Tensor:
        """Append a concatenation of features; backward copies the parts that no other layer has read."""
        first = inputs[0]
        y = Tensor(sum(x.channels for x in inputs), first.height, first.width)
        copied = [x for x in inputs if not x.storage.uses]
        sums, sum_kernels = self._read(*inputs)
        self.layers.append(
            Layer(
                name,
                "concat",
                (),
                0,
                0,
                2 * y.elements,
                2 * sum(x.elements for x in copied) + sums,
                backward_kernels=len(copied) + sum_kernels,
            )
        )
        return y

    def split(self, x: Tensor, name: str, parts: tuple[int, ...]) -> list[Tensor]:
        """Append a split of the features: views in the forward pass, one concatenation backward."""
        sums, sum_kernels = self._read(x)
        self.layers.append(
            Layer(
                name,
                "concat",
                backward_elements=2 * x.elements + sums,
                forward_kernels=0,
                backward_kernels=1 + sum_kernels,
            )
        )
        return [Tensor(part, x.height, x.width) for part in parts]

    # reductions

    def max_pool(
        self,
        x: Tensor,
        name: str,
        kernel: int,
        stride: int | None = None,
        padding: int = 0,
        ceil_mode: bool = False,
    ) -> Tensor:
        """Append a max pooling, which keeps its input and the positions of the maxima."""
        return self._pool(x, name, kernel, stride, padding, ceil_mode, keep=True)

    def average_pool(
        self,
        x: Tensor,
        name: str,
        kernel: int,
        stride: int | None = None,
        padding: int = 0,
    ) -> Tensor:
        """Append an average pooling, which keeps nothing."""
        return self._pool(x, name, kernel, stride, padding, False, keep=False)

    def _pool(
        self,
        x: Tensor,
        name: str,
        kernel: int,
        stride: int | None,
        padding: int,
        ceil_mode: bool,
        keep: bool,
    ) -> Tensor:
        step = kernel if stride is None else stride
        height, width = (
            output_size(size, kernel, step, padding, ceil_mode=ceil_mode) for size in (x.height, x.width)
        )
        return self.reduce(x, Tensor(x.channels, height, width), name, kernel, step, keep)

    def global_pool(self, x: Tensor, name: str) -> Tensor:
        """Append an average over all positions."""
        return self.reduce(x, Tensor(x.channels, 1, 1), name, x.height, 1, keep=False)

    def reduce(self, x: Tensor, y: Tensor, name: str, kernel: int, stride: int, keep: bool) -> Tensor:
        """Append a reduction of windows of ``x`` to ``y``; with ``keep`` input and positions are kept."""
        sums, sum_kernels = self._read(x)
        moved = x.elements + y.elements
        index = y.elements if keep else 0
        self.layers.append(
            Layer(
                name,
                "pool",
                (),
                0,
                0,
                moved + index,
                moved + index + sums,
                index + (self._keep(x) if keep else 0),
                kernel_size=(kernel, kernel),
                stride=stride,
                backward_kernels=1 + sum_kernels,
            )
        )
        return y

    def resize(self, x: Tensor, name: str, factor: float) -> Tensor:
        """Append an enlargement by ``factor`` with interpolation."""
        y = Tensor(x.channels, round(x.height * factor), round(x.width * factor))
        return self.reduce(x, y, name, 1, 1, keep=False)

    def align(self, maps: list[Tensor], name: str, regions: int, features: int) -> Tensor:
        """Append a crop of ``regions`` of ``features`` elements from maps; backward scatters into all."""
        y = Tensor(features, regions)
        # four neighbours are read for each element written
        moved = 5 * y.elements
        cleared = sum(x.elements for x in maps)
        sums, sum_kernels = self._read(*maps)
        self.layers.append(
            Layer(
                name,
                "pool",
                (),
                0,
                0,
                moved,
                moved + cleared + sums,
                forward_kernels=len(maps),
                backward_kernels=2 * len(maps) + sum_kernels,
            )
        )
        return y

    def loss(self, x: Tensor, name: str = "loss") -> None:
        """Append a cross-entropy loss: a log-softmax and a selection of the target classes."""
        sums, sum_kernels = self._read(x)
        elements = x.elements
        self.layers.append(
            Layer(
                name,
                "loss",
                (),
                0,
                0,
                2 * elements,
                3 * elements + sums,
                elements,
                forward_kernels=2,
                backward_kernels=2 + sum_kernels,
            )
        )

    def parameter(self, name: str, elements: int, summed: int) -> None:
        """Append a parameter that is added to activations (position embeddings, class token).

        Its gradient is a sum over ``summed`` elements of every sample.
        """
        self.layers.append(Layer(name, "other", (elements,), 0, 0, 0, summed, forward_kernels=0))
