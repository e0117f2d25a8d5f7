"""Shares of a large batch: which rows each process answers, and how the answers are joined."""

from __future__ import annotations

from typing import NamedTuple


class Share(NamedTuple):
    """Which rows of a batch are answered: the one after the other of so many equal shares."""

    number: int = 0
    of: int = 1

    def rows(self, count: int) -> range:
        """Return the numbers of its rows.

        >>> Share(0, 2).rows(5), Share(1, 2).rows(5)
        (range(0, 2), range(2, 5))
        """
        return range(self.number * count // self.of, (self.number + 1) * count // self.of)

    def joined(self, rows: list[bytes], count: int) -> bytes:
        """Return its part of the answer; all of them after each other are the answer.

        Parameters
        ----------
        rows : the JSON of each of its own
        count : rows of the whole batch

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
