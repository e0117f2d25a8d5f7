"""What the body of a request over HTTP may hold: the fields of a command, and what travels along."""

from __future__ import annotations

from perfmodel.core.records.options import Described, declared
from perfmodel.interfaces.service.requests import Files, Request, Specs


def body_of(request: type[Described], *, hardware: bool = True) -> type[Described]:
    """Return the class of a request's body: its fields, files by their names, and hardware of one's own.

    Parameters
    ----------
    request : the class of a command's request
    hardware : whether the command takes hardware of one's own
    """
    types = {"specs": Specs | None, "files": Files | None} if hardware else {"files": Files | None}
    words = {name: declared(Request)[name].words for name in types}
    lines = "\n".join(f"{name} : {text}" for name, text in words.items())
    space = {
        "__module__": request.__module__,
        "__doc__": f"{(request.__doc__ or '').partition(chr(10))[0]}\n\nParameters\n----------\n{lines}",
        "__annotations__": types,
        **dict.fromkeys(types),
    }
    return type(request.__name__, (request,), space)
