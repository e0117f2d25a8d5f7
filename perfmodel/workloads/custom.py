"""Makes a workload of layers that were read from a file."""

from __future__ import annotations

from pathlib import Path

from perfmodel.core.errors import refusal
from perfmodel.core.files.attachments import is_request
from perfmodel.workloads.architecture import Architecture
from perfmodel.workloads.workload import MATMUL, Layer, Workload


def identifier(path: str | Path) -> str:
    """Return the network's id: the file's name without ending, or the folder's name for a config.json."""
    path = Path(path)
    if path.name == "config.json" and not is_request():  # a service must not reveal its folder
        return path.resolve().parent.name
    return path.stem


def family(layers: list[Layer]) -> str:
    """Return ``transformer`` for products of activations, ``cnn`` for convolutions, else ``custom``."""
    if any(layer.operation.product == MATMUL for layer in layers):
        return "transformer"
    return "cnn" if any(layer.operation.convolves for layer in layers) else "custom"


def check_trains(path: str | Path, layers: list[Layer], expected: str) -> None:
    """Check that layers have arithmetic and parameters, without which no time or traffic can be predicted.

    Parameters
    ----------
    path, layers : of the file
    expected : advice on how to get parameters into the file

    Raises
    ------
    InputError : no layer has a FLOP, or none has a parameter
    """
    if not any(layer.forward_flops for layer in layers):
        raise refusal("network.no_product").under(path)
    if not any(layer.parameters for layer in layers):
        raise refusal("network.no_parameter", expected=expected).under(path)


def custom_workload(
    path: str | Path,
    layers: list[Layer],
    *,
    variant: str,
    input_elements: float,
    sequence_length: int | None = None,
    local_batch_size: int = 32,
    optimizer: str = "sgd",
    architecture: Architecture | None = None,
    without: str = "",
    remarks: tuple[str, ...] = (),
    image_tokens: int | None = None,
) -> Workload:
    """Return the workload of layers from a file, with an unknown data set; keywords are its fields."""
    return Workload(
        id=identifier(path),
        name=identifier(path),
        family=family(layers),
        layers=tuple(layers),
        variant=variant,
        source=str(path),
        sample="image" if sequence_length is None else "sequence",
        sequence_length=sequence_length,
        input_elements=input_elements,
        default_local_batch_size=local_batch_size,
        default_optimizer=optimizer,
        architecture=architecture,
        without=without,
        remarks=remarks,
        image_tokens=image_tokens,
    )
