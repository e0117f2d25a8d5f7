"""Plain facts of the software that trains: what each framework does to a layer's arithmetic and traffic."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from perfmodel.errors import InputError, unknown_name
from perfmodel.specs.names import Named, meaning
from perfmodel.specs.scenario import ServerShards

EARLIEST_YEAR, LATEST_YEAR = 2017, 2023
"""Years of software that measured runs know; a year outside is taken as the nearest."""
USUAL_AGE = 2
"""Years an accelerator has been out when it is trained on: the median over the pairs of accelerator and
source in ``validation/measured/training_runs.csv``, 2.25, as software goes by whole years; half of them
lie between 1 and 3."""


class Framework(NamedTuple):
    """How a framework executes a network."""

    name: str
    """As people type it, with whoever built it: ``pytorch-ngc``."""
    fused: bool = False
    """A compiler or hand-written kernels join elementwise operations with their neighbours."""
    unfused_transformer: bool = False
    """A static graph that runs every small operation of a transformer as a kernel of its own."""
    channels_first: bool = False
    """Images lie as NCHW, which matrix units read only after a transpose."""
    python_replicas: bool = False
    """One process that drives several accelerators copies the network's modules out to each, in Python."""
    pipelined_servers: bool = False
    """Parameter servers send each block of a gradient back as soon as every worker's has come."""
    server_shards: ServerShards = "even"
    """How gradients are dealt out to parameter servers where nobody says."""
    tuned_recipe: bool = False
    """Comes with MLPerf's training settings, not with those its manual begins with."""
    native_decoding: bool = False
    """Samples are decoded by compiled code made for it, or on the accelerator, not by Python workers."""
    adds_gradients: bool = False
    """Clears the buffer of each gradient and adds into it, where others write it once."""
    winograd: Literal["none", "forward", "full"] = "full"
    """Passes of a 3x3 convolution with stride 1 that the library computes by Winograd's algorithm."""


FRAMEWORKS: dict[str, Framework] = {
    each.name: each
    for each in (
        Framework(
            "pytorch",
            pipelined_servers=True,
            channels_first=True,
            python_replicas=True,
            adds_gradients=True,
        ),
        Framework("pytorch-channels-last", pipelined_servers=True, python_replicas=True, adds_gradients=True),
        Framework(
            "pytorch-apex",
            pipelined_servers=True,
            channels_first=True,
            python_replicas=True,
            native_decoding=True,
            adds_gradients=True,
        ),
        Framework("pytorch-ngc", tuned_recipe=True, python_replicas=True, native_decoding=True),
        Framework("tensorflow", unfused_transformer=True, native_decoding=True, server_shards="round-robin"),
        Framework("tensorflow-xla", fused=True, native_decoding=True, server_shards="round-robin"),
        Framework("mxnet", channels_first=True, server_shards="large-split"),
        Framework(
            "mxnet-ngc", tuned_recipe=True, fused=True, native_decoding=True, server_shards="large-split"
        ),
        Framework("paddle", unfused_transformer=True, channels_first=True),
        Framework("paddle-ngc", tuned_recipe=True, fused=True, native_decoding=True),
        Framework("oneflow", fused=True, native_decoding=True),
        Framework("mindspore", unfused_transformer=True, native_decoding=True),
        Framework("mindspore-fused", fused=True, native_decoding=True),
        Framework("torch7", adds_gradients=True),
        Framework("torch7-cudnn-5.0", winograd="forward", adds_gradients=True),
        Framework("torch7-cudnn-4", winograd="none", adds_gradients=True),
    )
}
"""By name.  ``-ngc`` is NVIDIA's container, with layouts and fused kernels chosen for matrix units; cuDNN
computes 3x3 convolutions by Winograd's algorithm forward since 5.0, and backward since 5.1.  The parameter
servers of PyTorch are BytePS's, which work in blocks of 4 MB.

TensorFlow deals whole variables to its servers in turn (``tf.train.replica_device_setter``, documentation of
r1.15, read 2026-11-21); MXNet splits an array of more than a million elements over all of them
(``MXNET_KVSTORE_BIGARRAY_BOUND`` in src/kvstore/kvstore_dist.h, read 2026-11-21); BytePS and Paddle split
everything into small blocks.  Nothing is known of the servers of the others: even shards are assumed.

PyTorch's ``zero_grad`` clears gradients before 2.0, which drops them (pytorch/pytorch pull request 92731,
read 2026-11-26); that NVIDIA's examples drop them themselves is assumed.  Torch's backward pass
accumulates gradients, which ``zeroGradParameters`` clears (its manual of modules, read 2026-11-26).  The
others are assumed to write gradients once."""

DROPS_GRADIENTS_FROM = dict.fromkeys(("pytorch", "pytorch-channels-last", "pytorch-apex"), 2023)
"""Year of the release that no longer adds gradients to cleared buffers: PyTorch 2.0."""

FACTS: dict[str, tuple[str, str]] = {
    "fused": ("elementwise operations fused", "a kernel for each elementwise operation"),
    "unfused_transformer": (
        "a transformer's small operations in kernels of their own",
        "in the usual kernels",
    ),
    "channels_first": ("images channels first", "images channels last"),
    "python_replicas": ("replicas copied out in Python", "replicas copied out natively"),
    "pipelined_servers": ("servers answer block by block", "servers answer whole tensors"),
    "adds_gradients": ("gradients added to cleared buffers", "gradients written once"),
    "native_decoding": ("decoding by compiled code", "decoding by Python workers"),
    "winograd": ("Winograd's algorithm: {}", ""),
    "server_shards": ("gradients dealt out to servers: {}", ""),
}
"""What a fact means for the time of a step, where it holds and where it does not; ``{}`` is its value."""

DEFAULT_FRAMEWORK = "pytorch"

CALLED: dict[str, tuple[str, ...]] = {
    "pytorch": ("torch", "horovod"),
    "pytorch-channels-last": ("pytorch-nhwc",),
    "pytorch-apex": ("apex",),
    "tensorflow": ("tf", "tf1", "tf2", "tensorflow1", "tensorflow2", "horovod"),
    "pytorch-ngc": ("nvidia-pytorch",),
    "tensorflow-xla": ("tensorflow+xla", "tf-xla", "tf+xla", "xla"),
    "mxnet": ("apache-mxnet", "horovod"),
    "mxnet-ngc": ("nvidia-mxnet",),
    "paddle": ("paddlepaddle",),
    "paddle-ngc": ("nvidia-paddle",),
    "torch7": ("lua-torch",),
}
"""What else people call a framework; Horovod is a library of several."""


def facts_apart(frameworks: Sequence[Framework], fields: Iterable[str]) -> list[list[str]]:
    """Return what each of several frameworks states that not all of them do, in words.

    Parameters
    ----------
    frameworks : to be told apart
    fields : keys of ``FACTS``: what matters

    >>> facts_apart([FRAMEWORKS["tensorflow"], FRAMEWORKS["oneflow"]], ["fused", "winograd"])
    [['a kernel for each elementwise operation'], ['elementwise operations fused']]
    """
    stated: list[list[str]] = [[] for _ in frameworks]
    for field in fields:
        values = [getattr(each, field) for each in frameworks]
        if len(set(values)) > 1:
            for words, value in zip(stated, values, strict=True):
                words.append(FACTS[field][value is False].format(value))
    return stated


def with_usual_year(text: str, accelerator_year: int) -> str:
    """Return ``NAME@YEAR``, the year being that of the software an accelerator is usually trained with.

    Parameters
    ----------
    text : ``NAME`` or ``NAME@YEAR``, which stays as it is
    accelerator_year : in which the accelerator came out

    Examples
    --------
    A V100 came out in 2017, a K80 in 2014, before any software that was measured:

    >>> with_usual_year("pytorch", 2017), with_usual_year("tensorflow", 2014)
    ('pytorch@2019', 'tensorflow@2017')
    """
    if "@" in text:
        return text
    return f"{text}@{min(max(accelerator_year + USUAL_AGE, EARLIEST_YEAR), LATEST_YEAR)}"


def framework_id(text: str) -> str:
    """Return ``NAME`` or ``NAME@YEAR`` with the id of the framework, or of the stack, that the name means.

    Raises
    ------
    InputError : an unknown name, or one that fits several frameworks

    >>> framework_id("PyTorch"), framework_id("TF@2020")
    ('pytorch', 'tensorflow@2020')
    """
    name, at, year = text.partition("@")
    if name in FRAMEWORKS:
        return text
    from perfmodel.specs import stack

    if name in stack.STACKS:
        return text
    called = CALLED | stack.CALLED
    meant = meaning("framework", name, (Named(id, called.get(id, ())) for id in (*FRAMEWORKS, *stack.STACKS)))
    if meant is None:
        raise unknown_name("framework", name, (*FRAMEWORKS, *stack.STACKS))
    return f"{meant.id}{at}{year}"


@lru_cache(maxsize=256)
def parse_framework(text: str) -> tuple[Framework, int]:
    """Return the framework of ``NAME`` or ``NAME@YEAR``, and the year of the software; of a stack its name.

    Raises
    ------
    InputError : as ``framework_id``, or a year that is not one

    Examples
    --------
    >>> framework, year = parse_framework("tensorflow-xla@2020")
    >>> framework.fused, year
    (True, 2020)
    """
    name, at, year = framework_id(text).partition("@")
    framework = FRAMEWORKS.get(name) or Framework(name)
    if not at:
        year = str(LATEST_YEAR)
    if not (year.isdecimal() and len(year) == 4):
        raise InputError(f"--framework {text}: expected a year after @, e.g. {name}@2020")
    known = min(max(int(year), EARLIEST_YEAR), LATEST_YEAR)
    adds = framework.adds_gradients and known < DROPS_GRADIENTS_FROM.get(name, math.inf)
    return framework._replace(adds_gradients=adds), known
