"""Spec of an accelerator: its peaks, its memory and its links."""

from typing import Annotated, Literal

from perfmodel.core.errors import refusal
from perfmodel.core.records.record import Within, fresh
from perfmodel.hardware.provenance import Id, PositiveInt, Quantity, SourcedSpec, Text

Format = Literal[
    "fp64",
    "fp64-matrix",
    "fp32",
    "tf32",
    "fp16-vector",
    "fp16",
    "bf16",
    "fp8",
    "mxfp8",
    "fp4",
    "nvfp4",
    "mxfp4",
]
"""Number format of a peak; ``fp16`` is the matrix (tensor) path, ``fp16-vector`` the ordinary one."""

_PATHS: dict[str, tuple[str, ...]] = {
    "fp16": ("fp16", "fp16-vector", "fp32"),
    "amp": ("fp16", "fp16-vector", "fp32", "bf16"),
}
"""Training precision -> formats whose peaks serve it, the preferred first; others use their own name."""

_SIXTEEN: tuple[Format, ...] = ("bf16", "fp16")
INSTEAD = {
    "fp8": _SIXTEEN,
    "mxfp8": ("fp8", *_SIXTEEN),
    "nvfp4": ("mxfp4", "mxfp8", "fp8", *_SIXTEEN),
    "mxfp4": ("nvfp4", "mxfp8", "fp8", *_SIXTEEN),
}
"""Precision of less than 16 bits -> those that come nearest to it, the nearest first."""

COLLECTIVE_LIBRARIES = {"NVIDIA": "NCCL", "AMD": "RCCL"}
"""Vendor -> its library; RCCL is NCCL ported to AMD and chooses alike.  A TPU has its own collectives."""
USUAL_POWER = 250.0
"""Power of an accelerator without a published power limit (assumed) [W]."""
TPU_VENDOR = "Google"
"""All accelerators of this vendor are TPUs."""

NEEDED: dict[str, dict[str, str]] = {
    "NVIDIA": {
        "compute_capability": "CUDA's number of the instruction set, e.g. 9.0 of the H100",
        "tdp": "its power limit in W, a table with value, basis and source",
    },
    "AMD": {"tdp": "its power limit in W, a table with value, basis and source"},
    TPU_VENDOR: {
        "matrix_units": "the matrix-multiply units of a chip, e.g. 8 of the TPU v4",
        "peer_link": "the id of its torus links, e.g. tpu-v4-ici",
    },
}
"""Vendor -> field that every spec of it must have -> description of the field."""


class Accelerator(SourcedSpec):
    """One device as a framework counts them: half a K80 board, one chip of a TPU."""

    vendor: Text
    """Manufacturer."""
    architecture: Text
    """The manufacturer's name of the design, in one word: Volta, CDNA3, TPU."""
    chip: Text | None = None
    """Name of the chip, such as GV100."""
    learned_as: Text | None = None
    """Name under which fits pool its measured runs, where that is not its architecture."""
    structured_sparsity: bool = False
    """Whether its data sheet also states peaks for matrices half of whose entries are zero."""
    peak_clock: Literal["base", "boost"] = "boost"
    """Clock at which its data sheet states the peaks."""
    unit: str = "card"
    """What one device is, e.g. ``one of two dies of the board``."""
    board_devices: PositiveInt = 1
    """Devices on one board or package: 2 for K80, M60 and MI250X."""
    year: Annotated[int, Within(ge=2006, le=2100)]
    """Year of its release."""
    compute_capability: Annotated[float, Within(gt=0)] | None = None
    """CUDA's number of the instruction set, 7.0 for Volta, as NVIDIA lists it; None off NVIDIA."""
    compute_units: PositiveInt
    """Streaming multiprocessors, compute units or cores."""
    matrix_units: PositiveInt | None = None
    """Units that each compute a tile of a matrix product; None: ``compute_units``."""
    fp32_lanes: PositiveInt | None = None
    """Multiply-adds in fp32 that one compute unit starts in a cycle."""
    base_clock: Quantity | None = None
    """[Hz]"""
    boost_clock: Quantity | None = None
    """[Hz]"""
    peak_flops: Annotated[dict[Format, Quantity], Within(min_length=1)]
    """Number format -> dense peak [FLOP/s], accumulated in fp32 where there is a choice."""
    achieved_flops: dict[Format, Quantity] = fresh(dict)
    """Number format -> rate of the best measured matrix product [FLOP/s]."""
    achieved_tdp: Quantity | None = None
    """Power limit of the module measured for ``achieved_flops``, where it is not ``tdp`` [W]."""
    memory_bytes: Quantity
    usable_memory_bytes: Quantity | None = None
    """Memory that the driver leaves to programs [B]."""
    memory_bandwidth: Quantity
    """[B/s]"""
    achieved_memory_bandwidth: Quantity | None = None
    """Measured bandwidth of a copy inside the device, reads and writes both counted [B/s]."""
    l2_cache_bytes: Quantity | None = None
    """Size of the last cache on the chip [B]."""
    peer_link: Id | None = None
    """Id of its own link to peers, such as NVLink; None: peers communicate over the host link."""
    bridge_link: Id | None = None
    """An optional bridge to one other card; a ring of more than two still passes the host link."""
    peer_access: bool = True
    """Whether it reads a peer's memory over PCIe; consumer cards since Turing go through host memory."""
    host_link: Id
    """Id of the link to its host."""
    usual_node: Id | None = None
    """Id of its usual machine, the default of scenarios that name none."""
    tdp: Quantity | None = None
    """Power limit [W]."""

    @property
    def pool(self) -> str:
        """Name under which fits pool its measured runs."""
        return self.learned_as or self.architecture

    @property
    def is_tpu(self) -> bool:
        """Whether it is a TPU of any generation, which XLA compiles for."""
        return self.vendor == TPU_VENDOR

    @property
    def collective_library(self) -> str | None:
        """Library that sums gradients and chooses the algorithm: NCCL, RCCL or None."""
        return COLLECTIVE_LIBRARIES.get(self.vendor)

    def check_together(self) -> None:
        """Raise ValueError for a missing key that predictions read, or a number without peak or source."""
        super().check_together()
        written = {vendor.casefold(): vendor for vendor in NEEDED}.get(self.vendor.casefold(), self.vendor)
        if written != self.vendor:
            raise ValueError(f"vendor = {self.vendor!r}: expected {written!r}")
        for name, expected in NEEDED.get(self.vendor, {}).items():
            if getattr(self, name) is None:
                raise ValueError(f"{name}: the key is missing; {self.vendor} needs {expected}")
        if self.peak_clock == "base" and None in (self.base_clock, self.boost_clock):
            raise ValueError("base_clock, boost_clock: peak_clock = 'base' needs both")
        missing = [name for name in self.achieved_flops if name not in self.peak_flops]
        if missing:
            raise ValueError(f"achieved_flops: {missing[0]} is measured but has no entry in peak_flops")

    def training_peak(self, precision: str) -> tuple[float, str]:
        """Return the peak [FLOP/s] that serves a training precision, and the number format it belongs to.

        A card whose fp16 arithmetic is missing, or slower than its fp32 (1/64 on consumer Pascal), uses its
        fp32 peak, as frameworks then convert to fp32.

        Parameters
        ----------
        precision : ``fp32``, ``tf32``, ``fp16``, ``amp``, ``bf16``, or any key of ``peak_flops``

        Raises
        ------
        InputError : the accelerator has no peak for the precision
        """
        peaks = self.peak_flops
        usable = [name for name in _PATHS.get(precision, (precision,)) if name in peaks]
        if not usable:
            said = {"id": self.id, "precision": precision, "known": tuple(peaks)}
            nearest = next((name for name in INSTEAD.get(precision, ()) if name in peaks), None)
            if nearest is None:
                raise refusal("accelerator.no_peak", "precision", **said)
            raise refusal("accelerator.no_low_precision", "precision", **said, nearest=nearest)
        chosen = usable[0]
        if chosen == "fp16-vector" and "fp32" in usable and peaks["fp32"].value > peaks[chosen].value:
            chosen = "fp32"
        return peaks[chosen].value, chosen

    @property
    def usual_peak(self) -> float:
        """Dense peak of 16 bits, in which networks usually train, else of fp32, else the highest [FLOP/s]."""
        peaks = self.peak_flops
        known = next((peaks[name].value for name in (*_SIXTEEN, "fp32") if name in peaks), None)
        return max(each.value for each in peaks.values()) if known is None else known

    @property
    def memory_capacity(self) -> float:
        """Memory that a program can use [B]; the whole memory where the usable part is not known."""
        return (self.usable_memory_bytes or self.memory_bytes).value
