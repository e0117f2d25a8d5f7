"""The service as an ASGI application: a route for each command, and for the descriptions of all."""

from __future__ import annotations

import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from functools import partial

from fastapi import FastAPI
from starlette.concurrency import iterate_in_threadpool, run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

import perfmodel
from perfmodel.interfaces.service import problems
from perfmodel.interfaces.service.answers import encoded
from perfmodel.interfaces.service.bodies import Unfinished
from perfmodel.interfaces.service.commands import COMMANDS, Command, answer
from perfmodel.interfaces.service.list_routes import list_routes
from perfmodel.interfaces.service.logs import event
from perfmodel.interfaces.service.outcomes import Failed
from perfmodel.interfaces.service.pages import docs_page
from perfmodel.interfaces.service.problems import Refused, problem, problem_of
from perfmodel.interfaces.service.refusal import CLOSE, Refusal
from perfmodel.interfaces.service.schema import openapi
from perfmodel.interfaces.service.settings import Settings
from perfmodel.interfaces.service.streams import ARROW, NDJSON, error_line, stream_of
from perfmodel.interfaces.service.tags import entity_tag, names

Run = Callable[[str, bytes], Awaitable[bytes]]
"""Function that returns the JSON answer of a command, from its name and the body of the request."""
Stream = Callable[[str, bytes, str], Awaitable[AsyncIterator[bytes]]]
"""Function that returns an answer in parts, from name, body and form."""
JSON = "application/json"
"""Media type of JSON."""
UNFORESEEN = "the service failed to answer; the request may be fine"
"""Detail of an unexpected error."""
HELD = "the answer is the one whose ETag was sent as If-None-Match"
"""Detail of a request whose answer the client has already."""
FRESH = "private, max-age=3600"
"""Cache header: answers depend on code, data and request only; shared proxies keep none, as bodies are
private.
"""


def application(
    settings: Settings | None = None, run: Run | None = None, stream: Stream | None = None
) -> FastAPI:
    """Return the service without the layers that enforce its limits.

    Parameters
    ----------
    settings : limits that commands enforce themselves
    run : function that answers commands; by default in a thread of this process
    stream : function that answers in parts; by default in a thread of this process
    """
    settings = Settings() if settings is None else settings
    app = FastAPI(
        title="perfmodel",
        version=perfmodel.__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    calculate, stream = run or partial(_in_thread, settings), stream or partial(_stream_in_thread, settings)
    for command in COMMANDS.values():
        app.router.routes.append(
            Route(
                f"/v1/{command.name}",
                _endpoint(command, calculate, stream),
                methods=["POST"],
                name=command.name,
            )
        )
    app.router.routes.extend(list_routes())
    for path, (content, kind) in DESCRIPTIONS.items():
        app.router.routes.append(Route(path, _described(content, kind), methods=["GET"]))
    app.add_exception_handler(HTTPException, _http_problem)
    app.add_exception_handler(Exception, _bug)
    return app


DESCRIPTIONS: dict[str, tuple[Callable[[], bytes], str]] = {
    "/openapi.json": (lambda: encoded(openapi()), JSON),
    "/docs": (docs_page, "text/html"),
}
"""Descriptions of the service by path: functions that return them on first request, and media types."""


def _described(make: Callable[[], bytes], kind: str) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of a description, with an entity tag."""

    async def endpoint(request: Request) -> Response:
        content = await run_in_threadpool(make)
        tag = entity_tag(request.url.path, content)
        headers = {"etag": tag, "cache-control": FRESH}
        if names(request.headers.get("if-none-match", ""), tag, any_tag=True):
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=kind)

    return endpoint


def _endpoint(command: Command, calculate: Run, stream: Stream) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of a command."""

    async def endpoint(request: Request) -> Response:
        kind = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
        if kind != JSON:
            return problem_response(problem(415, f"content-type {kind!r:.99}: expected {JSON}"))
        body = await request.body()
        form = _form(command, request.headers.get("accept", ""))
        try:
            if form != JSON:  # without a tag: it may yet be cut off
                parts = await stream(command.name, body, form)
                return StreamingResponse(
                    _whole(parts, command.name, form), headers={"cache-control": FRESH}, media_type=form
                )
            tag = entity_tag(command.name, body)
            if names(request.headers.get("if-none-match", ""), tag):
                return problem_response(problem(412, HELD), {"etag": tag})
            content = await calculate(command.name, body)
        except Refused as error:
            return problem_response(problem_of(error))
        except HTTPException:
            raise
        except (
            Exception
        ) as error:  # not raised further: the connection would be closed, the error logged twice
            _log(command.name, error)
            return problem_response(problem(500, UNFORESEEN))
        return Response(content, media_type=JSON, headers={"etag": tag, "cache-control": FRESH})

    return endpoint


async def _in_thread(settings: Settings, name: str, body: bytes) -> bytes:
    """Return the answer of a command, computed in a thread."""
    return await run_in_threadpool(answer, name, body, settings.candidates)


async def _stream_in_thread(settings: Settings, name: str, body: bytes, form: str) -> AsyncIterator[bytes]:
    """Return the parts of an answer, computed in a thread."""
    limits = (settings.seconds, settings.candidates)
    return iterate_in_threadpool(await run_in_threadpool(stream_of, name, form, body, *limits))


def _log(command: str, error: Exception) -> None:
    """Log an unexpected error, unless the process in which it occurred has done so."""
    if not isinstance(error, Failed):
        words = "".join(traceback.format_exception(error))
        event("calculation failed", "error", command=command, traceback=words)


async def _whole(parts: AsyncIterator[bytes], command: str, form: str) -> AsyncIterator[bytes]:
    """Yield the parts of a stream; one that is cut off ends with an error line, or closes the connection."""
    try:
        async with aclosing(parts):  # type: ignore[type-var]  # a generator, by whoever made it
            async for part in parts:
                yield part
    except Refused as error:  # which the last part reports
        event("stream cut off", "warning", status=error.status, detail=error.message)
    except Refusal as error:
        event("stream cut off", "warning", status=error.status_code, detail=error.detail)
        if form != NDJSON:
            raise Unfinished from None
        yield error_line(problem(error.status_code, error.detail))
    except Exception as error:
        _log(command, error)
        if form != NDJSON:
            raise Unfinished from None
        yield error_line(problem(500, UNFORESEEN))


def _form(command: Command, accepted: str) -> str:
    """Return the media type of an answer: JSON, or a requested stream where the command has one."""
    if command.parts is not None:
        for part in accepted.split(","):
            if (kind := part.partition(";")[0].strip().lower()) in (NDJSON, ARROW):
                return kind
    return JSON


def problem_response(table: dict[str, object], headers: dict[str, str] | None = None) -> Response:
    """Return a problem document as a response."""
    status = int(str(table["status"]))
    return Response(problems.body_of(table), status, headers, problems.MEDIA_TYPE)


async def _http_problem(request: Request, error: Exception) -> Response:
    """Return the response to a request without a route: 404 with the commands, or 405 with the method."""
    status = getattr(error, "status_code", 500)
    detail = str(getattr(error, "detail", ""))
    if status == 404:
        detail = (
            f"nothing at {request.url.path[:99]}; commands are at /v1/NAME, NAME one of {', '.join(COMMANDS)}"
        )
    headers = dict(getattr(error, "headers", None) or {})
    if status == 405:
        detail = f"{request.method[:20]} is not answered here; {headers.get('Allow', 'POST')} is"
    return problem_response(problem(status, detail), headers)


async def _bug(request: Request, error: Exception) -> Response:
    """Return the response to an unexpected error, without internals."""
    return problem_response(problem(500, UNFORESEEN), {**CLOSE})  # by the server, to which it is raised
