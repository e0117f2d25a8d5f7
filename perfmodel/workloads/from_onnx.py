"""Reads a network from an ONNX file: infers shapes and counts weights, without loading them.

Known operators become rows as in the built-in tables; any other becomes a row of kind ``other`` that reads
its inputs and writes its outputs, and a remark names it.  Operators on constants and shapes cost nothing.  An
open first dimension of an input is the batch, taken as one sample; any other open one is the sequence.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

from perfmodel.core.errors import needed, refusal
from perfmodel.core.files.reading import read_bytes
from perfmodel.workloads.builder import Network, Tensor
from perfmodel.workloads.custom import check_trains, custom_workload
from perfmodel.workloads.onnx_file import SMALL, model_of
from perfmodel.workloads.workload import Workload

LIMIT = 2**31
"""Largest file that is read, also the limit of the format [B]."""

_VIEWS = {"Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Cast", "Expand"}
_RELUS = {"Relu", "LeakyRelu", "Clip", "Sigmoid", "HardSigmoid", "Tanh", "Elu", "PRelu", "ThresholdedRelu"}
_SMOOTH = {
    "Gelu",
    "FastGelu",
    "QuickGelu",
    "HardSwish",
    "Mish",
    "Softplus",
    "Softsign",
    "Selu",
    "Celu",
    "Swish",
}
_SMOOTH |= {"Erf", "Exp", "Log", "Sqrt", "Reciprocal", "Sin", "Cos"}
_NORMS = {"LayerNormalization", "InstanceNormalization", "GroupNormalization", "RMSNormalization"}
_NORMS |= {"SimplifiedLayerNormalization"}
_POOLS = {"MaxPool", "AveragePool", "LpPool"}
_REDUCTIONS = {"GlobalAveragePool", "GlobalMaxPool", "ReduceMean", "ReduceSum", "ReduceMax", "ArgMax"}
_RESIZES = {"Resize", "Upsample", "Pad", "Tile"}
_PAIRS = {"Add", "Sub", "Sum", "Mul", "Div", "Pow", "Max", "Min"}
_PICKS = {"Gather", "Slice", "GatherElements", "GatherND"}
_PRODUCTS = {"LSTM", "GRU", "RNN", "Einsum", "Attention", "MultiHeadAttention", "GroupQueryAttention"}
_PRODUCTS |= {"ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul", "DeformConv", "FusedMatMul"}
_PRODUCTS |= {"If", "Loop", "Scan", "ConvTranspose"}
"""Operators with matrix products that cannot be counted; a network with one is refused."""
_COPIES = {"Transpose", "DepthToSpace", "SpaceToDepth", "Where", "Neg", "Abs"}


def workload_from_onnx(path: str | Path, sequence_length: int | None = None) -> Workload:
    """Return the workload of an ONNX file.

    Parameters
    ----------
    path : of the file; external weights may be absent
    sequence_length : size of open dimensions other than the first of an input [tokens]

    Raises
    ------
    InputError : the onnx package is not installed, the file is not ONNX, or a shape cannot be inferred
    """
    needed("onnx", "onnx", "reading ONNX")
    try:
        reader = _Reader(path, model_of(path, read_bytes(path, LIMIT)), sequence_length)
        layers = reader.read()
    except UnicodeDecodeError:
        raise refusal("network.onnx_name").under(path) from None
    check_trains(path, layers, "export it with its weights (torch.onnx.export: export_params=True)")
    variant = "read from ONNX"
    remarks: tuple[str, ...] = ()
    if reader.unknown:
        names = ", ".join(sorted(reader.unknown))
        remarks = (f"operators taken as elementwise, their FLOP unknown: {names}",)
        variant += f"; taken as elementwise: {names}"
    return custom_workload(
        path,
        layers,
        variant=variant,
        input_elements=float(reader.input_elements),
        sequence_length=sequence_length,
        remarks=remarks,
    )


class _Reader:
    """Reads one graph: appends the rows of its operators, in order, to a layer table."""

    def __init__(self, path: str | Path, model: Any, sequence_length: int | None) -> None:
        self.path = path
        self.graph = model.graph
        self.sequence_length = sequence_length
        self.net = Network()
        self.unknown: set[str] = set()
        self.sizes = self._weights()
        self.batch = self._close_inputs()
        self.shapes = self._infer_shapes(model)
        self.constant = {*self.sizes, ""}
        self.unclaimed = {name for name in self.sizes if name in self.trainable}
        self.origins: dict[str, tuple[str, ...]] = {}
        self.tensors: dict[str, Tensor] = {}
        self.input_elements = 0

    # shapes

    def _weights(self) -> dict[str, tuple[int, ...]]:
        """Return the dimensions of all initializers; record the trained ones: floating-point, not scalar."""
        floating = {1, 10, 11, 16}  # float, float16, double, bfloat16
        sizes: dict[str, tuple[int, ...]] = {}
        self.trainable: set[str] = set()
        for tensor in self.graph.initializer:
            sizes[tensor.name] = tuple(tensor.dims)
            if tensor.data_type in floating and tensor.dims:
                self.trainable.add(tensor.name)
        for sparse in self.graph.sparse_initializer:
            sizes[sparse.values.name] = tuple(sparse.dims)
            if sparse.values.data_type in floating:
                self.trainable.add(sparse.values.name)
        for node in self.graph.node:
            if node.op_type == "Constant" and node.attribute and node.attribute[0].HasField("t"):
                tensor = node.attribute[0].t
                if tensor.data_type in floating and prod(tensor.dims) > 1:
                    sizes[node.output[0]] = tuple(tensor.dims)
                    self.trainable.add(node.output[0])
        return sizes

    def _close_inputs(self) -> int:
        """Set the open dimensions of all inputs; return the samples in a batch."""
        batch = 0
        for value in self.graph.input:
            if value.name in self.sizes:
                continue
            for axis, dimension in enumerate(value.type.tensor_type.shape.dim):
                size = dimension.dim_value
                if size < 1 and axis == 0:
                    size = 1
                elif size < 1 and self.sequence_length:
                    size = self.sequence_length
                elif size < 1:
                    raise refusal(
                        "network.onnx_open",
                        value=value.name,
                        axis=axis,
                        dim_param=dimension.dim_param or "unnamed",
                    ).under(self.path)
                dimension.dim_value = size
                if axis == 0:
                    batch = batch or size
        return batch or 1

    def _infer_shapes(self, model: Any) -> dict[str, tuple[int, ...]]:
        import onnx

        # large weights would slow the inference down; their shapes are enough
        small = [t for t in self.graph.initializer if prod(t.dims) <= SMALL]
        large = [t for t in self.graph.initializer if prod(t.dims) > SMALL]
        del self.graph.initializer[:]
        self.graph.initializer.extend(small)
        named = {value.name for value in self.graph.input}
        for tensor in large:
            if tensor.name not in named:
                value = onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
                self.graph.input.append(value)
        # inner shapes that the file states may be of another batch: used only if none can be inferred,
        # as after an unknown operator
        stated = {value.name: self._closed(value) for value in (*self.graph.value_info, *self.graph.output)}
        del self.graph.value_info[:]
        for value in self.graph.output:
            value.type.tensor_type.ClearField("shape")
        try:
            inferred = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
        except Exception as error:
            first = str(error).strip().splitlines() or ["no reason given"]
            raise refusal("network.onnx_shapes", first=first[0]).under(self.path) from None
        shapes = {**{name: shape for name, shape in stated.items() if shape}, **self.sizes}
        for value in (*inferred.input, *inferred.value_info, *inferred.output):
            dims = value.type.tensor_type.shape.dim
            if value.type.tensor_type.HasField("shape") and all(d.dim_value > 0 for d in dims):
                shapes[value.name] = tuple(d.dim_value for d in dims)
        return shapes

    def _closed(self, value: Any) -> tuple[int, ...] | None:
        """Return the shape that the file states, with open dimensions set; None if it states none."""
        if not value.type.tensor_type.HasField("shape"):
            return None
        sizes = [dimension.dim_value for dimension in value.type.tensor_type.shape.dim]
        filled = [
            size or (self.sequence_length or 0 if axis else self.batch) for axis, size in enumerate(sizes)
        ]
        return tuple(filled) if all(filled) else None

    def _shape(self, name: str) -> tuple[int, ...]:
        if name not in self.shapes:
            raise refusal("network.onnx_unknown_shape", name=name).under(self.path)
        return self.shapes[name]

    def _elements(self, name: str) -> int:
        return max(1, prod(self._shape(name)) // self.batch)

    # views of one sample

    def _tensor(self, name: str) -> Tensor:
        if name not in self.tensors:
            # a constant read as data, such as a position table
            self.tensors[name] = Tensor(self._elements(name), needs_gradient=False)
        return self.tensors[name]

    def _map(self, name: str) -> Tensor:
        """Return a tensor as a map: channels, then positions."""
        shape = self._shape(name)
        if len(shape) < 3:
            return self._tensor(name).view(shape[-1])
        return self._tensor(name).view(shape[1], shape[2], prod(shape[3:]))

    def _rows(self, name: str) -> Tensor:
        """Return a tensor as rows of features, the last dimension."""
        features = self._shape(name)[-1]
        return self._tensor(name).view(features, max(1, self._elements(name) // features))

    def _claim(self, *names: str) -> tuple[int, ...]:
        """Return the sizes of trained tensors among ``names`` that no earlier operator claimed."""
        sources = [source for name in names for source in self.origins.get(name, (name,))]
        claimed = [name for name in dict.fromkeys(sources) if name in self.unclaimed]
        self.unclaimed.difference_update(claimed)
        return tuple(prod(self.sizes[name]) for name in claimed)

    def _own(self, tensors: tuple[int, ...]) -> None:
        self.net.layers[-1] = self.net.layers[-1]._replace(tensors=tensors)

    # the walk

    def read(self) -> list[Any]:
        for value in self.graph.input:
            if value.name not in self.sizes:
                elements = self._elements(value.name)
                self.input_elements += elements
                self.tensors[value.name] = Tensor(elements, needs_gradient=False)
        last = None
        for index, node in enumerate(self.graph.node):
            outputs = [name for name in node.output if name]
            if not outputs:
                continue
            if node.op_type in ("Constant", "Shape", "Size", "ConstantOfShape", "Range", "NonZero") or all(
                name in self.constant for name in node.input
            ):
                self.constant.update(outputs)
                sources = tuple(
                    s for x in node.input for s in self.origins.get(x, (x,)) if s in self.trainable
                )
                self.origins.update((name, sources) for name in outputs if sources)
                continue
            name = node.name or f"{node.op_type}_{index}"
            try:
                y = self._operator(node, name)
            except (IndexError, ZeroDivisionError):
                raise refusal("network.onnx_operator", name=name, op_type=node.op_type).under(
                    self.path
                ) from None
            for name in outputs:
                if name not in self.tensors:
                    self.tensors[name] = y if name == outputs[0] else Tensor(self._known(name))
            last = outputs[0]
        if last is not None:
            self.net.loss(self.tensors[last])
        return self.net.layers

    def _known(self, name: str) -> int:
        return self._elements(name) if name in self.shapes else 1

    def _operator(self, node: Any, name: str) -> Tensor:
        """Append the rows of one operator; return its first output."""
        kind = node.op_type
        if kind in _VIEWS:
            x = self._tensor(node.input[0])
            elements = self._elements(node.output[0])
            return (
                x.view(elements)
                if elements == x.elements
                else Tensor(elements, needs_gradient=x.needs_gradient)
            )
        handler = _HANDLERS.get(kind)
        y = handler(self, node, name) if handler else None
        if y is None:
            if kind in _PRODUCTS:
                raise refusal("network.onnx_products", name=name, kind=kind).under(self.path)
            self.unknown.add(kind)
            y = self._other(node, name)
        elements = self._elements(node.output[0])
        return y if y.elements == elements else Tensor(elements, needs_gradient=y.needs_gradient)

    def _activations(self, node: Any) -> list[str]:
        return [name for name in node.input if name not in self.constant]

    def _other(self, node: Any, name: str) -> Tensor:
        inputs = [self._tensor(x) for x in self._activations(node)]
        y = self.net.unknown(inputs, Tensor(self._elements(node.output[0])), name)
        self._own(self._claim(*node.input))
        return y

    def _conv(self, node: Any, name: str) -> Tensor:
        attributes = _attributes(node)
        filters = self._shape(node.input[1])
        bias = len(node.input) > 2 and bool(node.input[2])
        y = self.net.convolve(
            self._map(node.input[0]),
            Tensor(*_map_shape(self._shape(node.output[0]))),
            name,
            filters[2:],
            max(attributes.get("strides", [1])),
            attributes.get("group", 1),
            bias,
        )
        self._own(self._claim(*node.input[1:]))
        return y

    def _conv_transpose(self, node: Any, name: str) -> Tensor | None:
        if _attributes(node).get("group", 1) != 1:
            return None
        filters = self._shape(node.input[1])
        self.net.linear(self._map(node.input[0]), name, prod(filters[1:]), bias=False)
        self.net.layers[-1] = self.net.layers[-1]._replace(kind="conv")
        self._own(self._claim(*node.input[1:]))
        return Tensor(self._elements(node.output[0]))

    def _gemm(self, node: Any, name: str) -> Tensor:
        if node.input[1] not in self.constant or node.input[0] in self.constant:
            return self._product(node, name, self._elements(node.input[0]))
        features = self._shape(node.output[0])[-1]
        bias = len(node.input) > 2 and bool(node.input[2])
        y = self.net.linear(self._rows(node.input[0]), name, features, bias)
        self._own(self._claim(*node.input[1:]))
        return y

    def _matmul(self, node: Any, name: str) -> Tensor:
        left, right = node.input[0], node.input[1]
        if right in self.constant and left not in self.constant and len(self._shape(right)) == 2:
            y = self.net.linear(self._rows(left), name, self._shape(node.output[0])[-1], bias=False)
            self._own(self._claim(right))
            return y
        return self._product(node, name, self._shape(left)[-1])

    def _product(self, node: Any, name: str, depth: int) -> Tensor:
        """Append the product of two activations, or of an activation and a stack of weights."""
        left, right, y = node.input[0], node.input[1], node.output[0]
        columns = self._shape(y)[-1]
        rows = self._shape(left)[-2] if len(self._shape(left)) > 1 else 1
        if node.op_type == "Gemm":
            rows = max(1, self._elements(y) // columns)
            depth = max(1, depth // rows)
        count = max(1, self._elements(y) // (rows * columns))
        y = self.net.matmul(self._tensor(left), self._tensor(right), name, rows, columns, depth, count)
        self._own(self._claim(left, right))
        return y

    def _batch_norm(self, node: Any, name: str) -> Tensor:
        y = self.net.batch_norm(self._map(node.input[0]), name)
        self._own(self._claim(*node.input[1:3]))
        return y

    def _norm(self, node: Any, name: str) -> Tensor:
        y = self.net.layer_norm(self._rows(node.input[0]), name)
        self._own(self._claim(*node.input[1:]))
        return y

    def _local_norm(self, node: Any, name: str) -> Tensor:
        return self.net.local_response_norm(self._tensor(node.input[0]), name)

    def _relu(self, node: Any, name: str) -> Tensor:
        y = self.net.relu(self._tensor(node.input[0]), name)
        self._own(self._claim(*node.input[1:]))
        return y

    def _smooth(self, node: Any, name: str) -> Tensor:
        return self.net.smooth(self._tensor(node.input[0]), name)

    def _softmax(self, node: Any, name: str) -> Tensor:
        return self.net.softmax(self._tensor(node.input[0]), name)

    def _dropout(self, node: Any, name: str) -> Tensor:
        return self.net.dropout(self._tensor(node.input[0]), name)

    def _copy(self, node: Any, name: str) -> Tensor:
        return self.net.copy(self._tensor(self._activations(node)[0]), name)

    def _pool(self, node: Any, name: str) -> Tensor:
        attributes = _attributes(node)
        y = Tensor(*_map_shape(self._shape(node.output[0])))
        kernel, stride = max(attributes.get("kernel_shape", [1])), max(attributes.get("strides", [1]))
        return self.net.reduce(self._map(node.input[0]), y, name, kernel, stride, node.op_type == "MaxPool")

    def _reduction(self, node: Any, name: str) -> Tensor:
        x, y = self._map(node.input[0]), Tensor(self._elements(node.output[0]))
        kernel = x.height if node.op_type.startswith("Global") else 1
        return self.net.reduce(x, y, name, kernel, 1, keep=False)

    def _resize(self, node: Any, name: str) -> Tensor:
        y = Tensor(self._elements(node.output[0]))
        return self.net.reduce(self._tensor(node.input[0]), y, name, 1, 1, keep=False)

    def _pair(self, node: Any, name: str) -> Tensor:
        inputs = self._activations(node)
        x = self._tensor(max(inputs, key=self._elements))
        if len(inputs) == 1:
            y = self.net.scale(x, name)
            self._own(self._claim(*node.input))
            return y
        others = [self._tensor(n) for n in inputs if self._tensor(n) is not x] or [x]
        if node.op_type in ("Add", "Sub", "Sum"):
            y = self.net.add(x, others[0], name)
        else:
            y = self.net.multiply(x, others[0], name)
        for extra in others[1:]:
            y = self.net.add(y, extra, f"{name}.{extra.elements}")
        return y

    def _concat(self, node: Any, name: str) -> Tensor:
        inputs = [self._tensor(x).view(self._elements(x)) for x in self._activations(node)]
        return self.net.concat(inputs, name)

    def _split(self, node: Any, name: str) -> Tensor:
        parts = self.net.split(
            self._tensor(node.input[0]), name, tuple(self._elements(y) for y in node.output)
        )
        for output, part in zip(node.output, parts, strict=True):
            self.tensors[output] = part.view(self._elements(output))
        return self.tensors[node.output[0]]

    def _pick(self, node: Any, name: str) -> Tensor:
        table = node.input[0]
        if node.op_type == "Gather" and table in self.trainable:
            rows, features = self._shape(table)[0], prod(self._shape(table)[1:])
            y = self.net.embedding(name, self._elements(node.output[0]) // features, rows, features)
            self._own(self._claim(table))
            return y
        if table in self.constant:
            return self._other(node, name)
        x = self._tensor(table)
        return self.net.gather(x.view(1, x.elements), name, self._elements(node.output[0]))


def _map_shape(shape: tuple[int, ...]) -> tuple[int, int, int]:
    return (shape[1], shape[2], prod(shape[3:])) if len(shape) > 2 else (shape[-1], 1, 1)


def _attributes(node: Any) -> dict[str, Any]:
    """Return the integer attributes of an operator by name."""
    return {a.name: list(a.ints) if a.ints else a.i for a in node.attribute}


_HANDLERS: dict[str, Callable[[_Reader, Any, str], Tensor | None]] = {
    "Conv": _Reader._conv,
    "ConvTranspose": _Reader._conv_transpose,
    "Gemm": _Reader._gemm,
    "MatMul": _Reader._matmul,
    "BatchNormalization": _Reader._batch_norm,
    "LRN": _Reader._local_norm,
    "Softmax": _Reader._softmax,
    "LogSoftmax": _Reader._softmax,
    "Dropout": _Reader._dropout,
    "Concat": _Reader._concat,
    "Split": _Reader._split,
    **dict.fromkeys(_NORMS, _Reader._norm),
    **dict.fromkeys(_RELUS, _Reader._relu),
    **dict.fromkeys(_SMOOTH, _Reader._smooth),
    **dict.fromkeys(_POOLS, _Reader._pool),
    **dict.fromkeys(_REDUCTIONS, _Reader._reduction),
    **dict.fromkeys(_RESIZES, _Reader._resize),
    **dict.fromkeys(_PAIRS, _Reader._pair),
    **dict.fromkeys(_PICKS, _Reader._pick),
    **dict.fromkeys(_COPIES, _Reader._copy),
}
