"""The field for a measured time or rate."""

from __future__ import annotations

from typing import Any

import click

from app.options import Option, options
from perfmodel.core.errors import InputError, brief


class _Speed(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Type of a measured time or rate: a name of a file would be one of the server."""

    name = "speed"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """Return the text; refuse what is no time or rate."""
        from perfmodel.decide.diagnosis.measured import parse_speed

        try:
            if parse_speed(str(value)) is None:
                self.fail("expected a time or a rate, e.g. 400ms or 3000tok/s/gpu; a file is uploaded below")
        except InputError as error:
            self.fail(brief(str(error)))
        return str(value)


def speed_field(session: str, label: str) -> Option:
    """Return the option of a typed time or rate, which replaces a file of what was measured.

    Parameters
    ----------
    session : its key in the session
    label : of the field
    """
    option = options("diagnose")["measured"]
    return option._replace(
        parameter=click.Option(["--measured"], type=_Speed(), help=option.help),
        label=label,
        usual="e.g. 400ms, 3000tok/s/gpu or 19000images/s",
        session=session,
        replaces="measured",
    )
