"""What the body of a request over HTTP may hold: the fields of a command, and what travels along."""

from __future__ import annotations

from perfmodel.core.records.options import Described, declared
from perfmodel.interfaces.service.requests import Files, Request, Specs


def body_of(request: type[Described]) -> type[Described]:
    """Return the class of a request's body: its fields, hardware of one's own, and files by their names."""
    words = {name: declared(Request)[name].words for name in Request.model_fields}
    lines = "\n".join(f"{name} : {text}" for name, text in words.items())
    space = {
        "__module__": request.__module__,
        "__doc__": f"{(request.__doc__ or '').partition(chr(10))[0]}\n\nParameters\n----------\n{lines}",
        "__annotations__": {"specs": Specs | None, "files": Files | None},
        "specs": None,
        "files": None,
    }
    return type(request.__name__, (request,), space)
