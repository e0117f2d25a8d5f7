"""Shares of a large batch: the rows that each process answers, and how the answers are joined."""

from __future__ import annotations

from typing import NamedTuple


class Share(NamedTuple):
    """One of several equal shares of the rows of a batch."""

    number: int = 0
    of: int = 1

    def rows(self, count: int) -> range:
        """Return the indices of its rows in a batch of ``count``.

        >>> Share(0, 2).rows(5), Share(1, 2).rows(5)
        (range(0, 2), range(2, 5))
        """
        return range(self.number * count // self.of, (self.number + 1) * count // self.of)

    def joined(self, rows: list[bytes], count: int) -> bytes:
        """Return its part of the answer; the concatenation of all parts is the answer.

        Parameters
        ----------
        rows : JSON of each of its rows
        count : number of rows of the whole batch

        >>> Share(0, 2).joined([b"1"], 3) + Share(1, 2).joined([b"2", b"3"], 3)
        b'{"results":[1,2,3]}'
        """
        text = b",".join(rows)
        if rows and self.rows(count).start > 0:
            text = b"," + text
        if self.number == 0:
            text = b'{"results":[' + text
        return text + b"]}" if self.number == self.of - 1 else text


WHOLE = Share()
