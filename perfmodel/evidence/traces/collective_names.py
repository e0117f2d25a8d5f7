"""Read collective, algorithm and protocol from the name of a communication kernel; sizes of element types."""

from __future__ import annotations

import re

KINDS = {
    "allreduce": "all-reduce",
    "allgather": "all-gather",
    "reducescatter": "reduce-scatter",
    "alltoall": "all-to-all",
    "broadcast": "broadcast",
    "sendrecv": "send-receive",
    "reduce": "reduce",
}
"""Library's word, in lower case without separators -> our name; the first word in a kernel's name counts."""
ELEMENT_BYTES = {
    "float": 4, "double": 8, "half": 2, "bfloat16": 2, "bfloat": 2, "char": 1, "byte": 1, "int8": 1,
    "uint8": 1, "int": 4, "long": 8, "int32": 4, "int64": 8, "bool": 1,
}  # fmt: skip
"""Bytes of an element, by the profiler's name of its type in lower case."""
_ALGORITHM = re.compile(r"_(RING|TREE|NVLS|NVLS_TREE|COLLNET\w*|PAT)(?:_|$|\()")
_PROTOCOL = re.compile(r"_(LL128|LL|SIMPLE)(?:_|$|\()")


def is_collective(name: str) -> bool:
    """Whether a kernel belongs to NCCL or RCCL, by its name.

    >>> is_collective("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)"), is_collective("sgemm")
    (True, False)
    """
    lower = name.lower()
    return "nccl" in lower or "rccl" in lower


def kind_of(name: str) -> str:
    """Return the collective that a kernel or an annotation names; an unknown one in the library's words.

    >>> kind_of("ncclKernel_ReduceScatter_RING_LL"), kind_of("ncclDevKernel_SendRecv(x)")
    ('reduce-scatter', 'send-receive')
    """
    plain = re.sub(r"[^a-z]", "", name.lower())
    return next((ours for theirs, ours in KINDS.items() if theirs in plain), name.split("(")[0])


def algorithm_of(name: str) -> str | None:
    """Return the algorithm in a kernel's name, None if it has none.

    >>> algorithm_of("ncclKernel_AllReduce_TREE_LL128_Sum_float(x)"), algorithm_of("ncclDevKernel_Generic(x)")
    ('tree', None)
    """
    match = _ALGORITHM.search(name)
    return match[1].lower() if match else None


def protocol_of(name: str) -> str | None:
    """Return the protocol in a kernel's name, None if it has none.

    >>> protocol_of("ncclKernel_AllReduce_RING_SIMPLE_Sum_float(x)")
    'simple'
    """
    match = _PROTOCOL.search(name)
    return match[1].lower() if match else None
