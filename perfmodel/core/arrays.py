"""Type aliases of numpy arrays, for annotations."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]
Names: TypeAlias = NDArray[np.str_]
Places: TypeAlias = NDArray[np.intp]
Integers: TypeAlias = NDArray[np.int64]
