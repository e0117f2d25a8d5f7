"""The record of the answer card."""

from perfmodel.core.records.record import Record


class Card(Record):
    """The answer in short, each field as text; every interface shows the same."""

    advice: str
    """What to plan with or to do."""
    machines: str
    """Accelerators, and how they are joined."""
    time: str
    """Time of an iteration with its 80 % interval."""
    memory: str
    """Whether the job fits, with its probability."""
    limit: str
    """What takes most of the time."""
    rests_on: str
    """What the interval was learned from, and what widens it most."""
    cost: str = ""
    """Cost of the run, or of an hour; empty if nobody asked."""

    @property
    def rows(self) -> list[tuple[str, str]]:
        """The fields below the advice, with labels."""
        names = {
            "machines": "machines",
            "time": "iteration",
            "memory": "memory",
            "cost": "cost",
            "limit": "limit",
            "rests_on": "rests on",
        }
        return [(label, getattr(self, name)) for name, label in names.items() if getattr(self, name)]
