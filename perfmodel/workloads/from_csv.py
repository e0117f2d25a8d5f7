"""Reads a table of layers from CSV: one line per layer, in forward order.

Columns, in any order, named in the first line; ``name`` and ``kind`` are required:

    name               any text
    kind               one of :data:`perfmodel.workloads.workload.KINDS`
    tensors            elements of each parameter tensor, weights and bias, separated by spaces: ``9408 64``;
                       empty: none of its own; without the column: the weights of its product
    forward_flops      FLOP per sample, two per multiply-add; of products left out or empty: those of their
                       shape
    backward_flops     left out or empty: twice forward_flops
    forward_elements   activation elements read and written per sample, parameters not counted; of products
                       left out or empty: those of the shape
    backward_elements  left out or empty: twice forward_elements
    saved_elements     elements per sample kept for the backward pass; left out or empty: what is read, half
                       of forward_elements where there is no product
    gemm_rows, gemm_columns, gemm_depth, gemm_count
                       the matrix product per sample, of a kind that has one: output
                       positions, output features, length of a dot product, independent products; what is
                       left out follows from tensors and forward_flops, or the line is refused
    kernel_size        ``3`` or ``3x3``
    stride
    forward_kernels, backward_kernels

Everything else left out or empty takes the default of :class:`perfmodel.workloads.workload.Layer`.  Lines
that begin with ``#`` and empty lines are passed over.
"""

from __future__ import annotations

import csv
import difflib
import math
from pathlib import Path

from perfmodel.core.errors import refusal
from perfmodel.core.files.reading import read_text
from perfmodel.workloads.custom import check_trains, custom_workload
from perfmodel.workloads.layer_shapes import completed
from perfmodel.workloads.workload import KINDS, Layer, Workload

LIMIT = 10_000_000
"""Largest file that is read [B]."""

MOST_NAMED = 3
"""Most layers that a remark names."""
_REQUIRED = ("name", "kind")
_COUNTS = {"stride"}


def workload_from_csv(path: str | Path) -> Workload:
    """Return the workload of a table of layers.

    Raises
    ------
    InputError : the table is not valid; names file, line, column, value and what is expected
    """
    written = enumerate(read_text(path, LIMIT).splitlines(), 1)
    lines = [(number, line) for number, line in written if _counts(line)]
    if not lines:
        raise refusal("network.empty_table").under(path)
    columns = [column.strip() for column in _split(path, *lines[0])]
    _check_columns(path, lines[0][0], columns)
    read = [_layer(path, number, columns, _split(path, number, line)) for number, line in lines[1:]]
    if not read:
        raise refusal("network.no_layer").under(path)
    layers = [layer for layer, _ in read]
    check_trains(path, layers, "expected the column tensors, elements of weights and bias")
    assumed = [(layer.name, words) for layer, words in read if words]
    remarks = (
        [f"{_listed([name for name, _ in assumed])}: {assumed[0][1]}, as no column says"] if assumed else []
    )
    bare = [layer.name for layer in layers if layer.operation.is_weighted and not layer.tensors]
    if bare:
        remarks.append(f"{_listed(bare)}: no tensors, so weights are taken as shared with another layer")
    return custom_workload(
        path, layers, variant="table of layers", input_elements=0.0, remarks=tuple(remarks)
    )


def _listed(names: list[str]) -> str:
    """Return the first names as text, and the number of others."""
    return ", ".join(names[:MOST_NAMED]) + (
        f" and {len(names) - MOST_NAMED} more" * (len(names) > MOST_NAMED)
    )


def _counts(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _split(path: str | Path, number: int, line: str) -> list[str]:
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error as error:
        raise refusal("network.not_csv", (str(path),), path=path, number=number, error=str(error)) from None


def _check_columns(path: str | Path, number: int, columns: list[str]) -> None:
    for column in columns:
        if column not in Layer._fields:
            near = difflib.get_close_matches(column, Layer._fields, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(Layer._fields)}"
            raise refusal(
                "network.unknown_column", (str(path),), path=path, number=number, column=column, hint=hint
            )
        if columns.count(column) > 1:
            raise refusal("network.column_twice", (str(path),), path=path, number=number, column=column)
    for column in _REQUIRED:
        if column not in columns:
            raise refusal("network.no_column", (str(path),), path=path, number=number, column=column)


def _layer(path: str | Path, number: int, columns: list[str], cells: list[str]) -> tuple[Layer, str]:
    if len(cells) != len(columns):
        raise refusal(
            "network.fields", (str(path),), path=path, number=number, count=len(cells), columns=len(columns)
        )
    given = {column: cell.strip() for column, cell in zip(columns, cells, strict=True) if cell.strip()}
    values: dict[str, object] = {}
    for column, cell in given.items():
        try:
            values[column] = _value(column, cell)
        except ValueError as error:
            raise refusal(
                "network.cell",
                (str(path),),
                path=path,
                number=number,
                column=column,
                cell=cell,
                error=str(error),
            ) from None
    for column in _REQUIRED:
        if column not in values:
            raise refusal("network.empty_cell", (str(path),), path=path, number=number, column=column)
    try:
        return completed(Layer(**values), values.keys() | {"tensors"} & set(columns))  # type: ignore[arg-type]
    except ValueError as error:
        raise refusal(
            "network.layer", (str(path),), path=path, number=number, name=values["name"], error=str(error)
        ) from None


def _value(column: str, cell: str) -> object:
    """Return the value of one cell; ValueError says what is expected."""
    if column == "name":
        return cell
    if column == "kind":
        if cell not in KINDS:
            near = difflib.get_close_matches(cell, KINDS, n=1)
            raise ValueError(f"{near[0]}?" if near else f"one of {', '.join(KINDS)}")
        return cell
    if column == "tensors":
        return tuple(_whole(part, "whole numbers above 0, separated by spaces") for part in cell.split())
    if column == "kernel_size":
        parts = cell.lower().split("x")
        if len(parts) > 2:
            raise ValueError("a filter size, such as 3 or 3x3")
        sizes = [_whole(part, "a filter size, such as 3 or 3x3") for part in parts]
        return (sizes[0], sizes[-1])
    if column in _COUNTS:
        return _whole(cell, "a whole number above 0")
    return _number(cell)


def _whole(cell: str, expected: str) -> int:
    if not cell.isascii() or not cell.isdigit() or int(cell) < 1:
        raise ValueError(expected)
    return int(cell)


def _number(cell: str) -> float:
    expected = "a number not below 0, without unit or separators"
    try:
        number = float(cell)
    except ValueError:
        raise ValueError(expected) from None
    if not math.isfinite(number) or number < 0 or "_" in cell:
        raise ValueError(expected)
    return number
