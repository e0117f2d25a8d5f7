"""Recurrent parts of a layer: state-space scans and linear attention, by their widths."""

from __future__ import annotations

from typing import NamedTuple

MAMBA, MAMBA_2 = "mamba", "mamba-2"
LIGHTNING, GATED_DELTA, KIMI_DELTA = "lightning", "gated-delta", "kimi-delta"
DELTA = (GATED_DELTA, KIMI_DELTA)
"""Scans that correct what the state returns for a key (the delta rule)."""
TYPES = (MAMBA, MAMBA_2, LIGHTNING, GATED_DELTA, KIMI_DELTA)


class Scan(NamedTuple):
    """Widths [elements] of a part that passes a state from token to token in place of attention.

    Every head keeps a matrix of ``head_size`` values for each of ``state`` keys.  Keys and queries, B and C
    of a state-space scan, are shared by the heads of a group.
    """

    type: str
    """One of ``TYPES``."""
    heads: int
    """Heads of values; channels of Mamba-1, whose heads have one value."""
    head_size: int
    """Features of one value."""
    state: int
    """Features of one key: the states of a channel."""
    groups: int
    """Heads of keys and queries."""
    convolution: int = 0
    """Tokens that the convolution before the scan reaches; 0 without one."""
    rank: int = 0
    """Width from which step sizes (Mamba-1) or decays and gates (Kimi) are expanded; 0: from the token."""
    chunk: int = 0
    """Tokens that are worked on as matrices; 0 where every token is a step."""

    @property
    def inner(self) -> int:
        """Features of all values."""
        return self.heads * self.head_size

    @property
    def keys(self) -> int:
        """Features of all keys, and of all queries."""
        return self.groups * self.state

    @property
    def convolved(self) -> int:
        """Features that pass the convolution; of Mamba-1 those of values alone."""
        return self.inner + (0 if self.type == MAMBA else 2 * self.keys)

    @property
    def projected(self) -> int:
        """Features that products make of a token's hidden features.

        >>> Scan(MAMBA_2, heads=128, head_size=64, state=128, groups=8).projected
        18560
        """
        if self.type == MAMBA:
            return 2 * self.inner
        of_heads = {MAMBA_2: self.heads, GATED_DELTA: 2 * self.heads, KIMI_DELTA: self.heads}
        gate = 2 * self.rank if self.type == KIMI_DELTA else self.inner
        return self.inner + 2 * self.keys + gate + of_heads.get(self.type, 0)

    @property
    def inner_weights(self) -> int:
        """Weights of products between the first and the last: steps of Mamba-1, decays and gates of Kimi."""
        if self.type == MAMBA:
            return self.inner * (2 * self.rank + 2 * self.state)
        return 2 * self.rank * self.inner if self.type == KIMI_DELTA else 0

    @property
    def scalars(self) -> int:
        """Parameters without a product: the convolution, decays, biases and norms."""
        n, d = self.heads, self.inner
        taps = self.convolved * self.convolution
        others = {
            MAMBA: d + d * self.state + d + d + self.rank + 2 * self.state,
            MAMBA_2: self.convolved + 3 * n + d,
            LIGHTNING: d,
            GATED_DELTA: 2 * n + self.head_size,
            KIMI_DELTA: n + d + self.head_size,
        }
        return taps + others[self.type]

    def weights(self, hidden: int) -> int:
        """Return the weights of the products of a layer of ``hidden`` features."""
        return hidden * (self.projected + self.inner) + self.inner_weights

    def parameters(self, hidden: int) -> int:
        """Return all parameters of a layer of ``hidden`` features, its norm left out."""
        return self.weights(hidden) + self.scalars
