"""Requests to a service: one connection per thread, and retries while the service is full."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.problem import UNSORTED, Problem, path_of

ATTEMPTS = 4
"""Attempts for a request that a full service refuses."""
LONGEST_WAIT = 10.0
"""Longest wait between two attempts [s]."""


class ServiceError(Exception):
    """The service did not answer, or not to this request; ``status`` is the HTTP status or None."""

    def __init__(self, message: str, status: int | None = None) -> None:
        """Take the message, and the status of the answer."""
        super().__init__(message)
        self.status = status


class Connection:
    """Connections to a service, one per thread.

    Parameters
    ----------
    url : its address
    token : bearer token, or None
    timeout : seconds to wait for an answer

    Raises
    ------
    InputError : an invalid address, a token with characters other than ASCII, a timeout that is not positive
    """

    def __init__(self, url: str, token: str | None, timeout: float) -> None:
        """Check and keep the address; sends nothing."""
        if token is not None and not (token.isascii() and token.isprintable()):
            raise refusal("client.token", "token")
        if not timeout > 0:
            raise refusal("client.timeout", "timeout", timeout=timeout)
        try:
            parts = urlsplit(url)
            self._place = (parts.hostname or "", parts.port)
        except ValueError:
            raise refusal("client.url", "url", url=url) from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise refusal("client.url", "url", url=url)
        self.url, self._secure, self._path = url, parts.scheme == "https", parts.path.rstrip("/")
        self._token, self._timeout = token, timeout
        self._own = threading.local()

    def post(self, command: str, content: bytes) -> bytes:
        """Send a JSON body to a command and return the answer.

        Raises
        ------
        InputError : invalid input, in the words of the service
        ServiceError : no answer, or one that refuses the request for another reason
        """
        for attempt in range(ATTEMPTS):
            status, headers, answer = self._sent(f"{self._path}/v1/{command}", content)
            if status not in (429, 503) or attempt == ATTEMPTS - 1:
                break
            time.sleep(min(_seconds(headers.get("retry-after")) * 2**attempt, LONGEST_WAIT))
        if status == 200:
            return answer
        table = _table(answer)
        if status in (400, 422) and "detail" in table:
            raise refusal_of(table)
        raise ServiceError(str(table.get("detail") or f"{self.url} answered {status}"), status)

    def _sent(self, path: str, content: bytes) -> tuple[int, dict[str, str], bytes]:
        """Send a body on this thread's connection, or on a new one if the service has closed it."""
        headers = {"content-type": "application/json", "accept": "application/json"}
        if self._token is not None:
            headers["authorization"] = f"Bearer {self._token}"
        for last in (False, True):
            connection = self._connection(new=last)
            try:
                connection.request("POST", path, content, headers)
                response = connection.getresponse()
                body = response.read()
                return response.status, {name.lower(): value for name, value in response.getheaders()}, body
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                if last or isinstance(error, TimeoutError):
                    raise ServiceError(f"{self.url}: no answer: {error or type(error).__name__}") from None
        raise AssertionError

    def _connection(self, new: bool) -> http.client.HTTPConnection:
        """Return this thread's connection, or a new one."""
        known: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if known is None or new:
            kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            known = self._own.connection = kind(*self._place, timeout=self._timeout)
        return known


def refusal_of(table: Mapping[str, Any]) -> InputError:
    """Return the error that a service's problem document describes."""
    first: Mapping[str, Any] = next(iter(table.get("errors", ())), {})
    fields = tuple(map(path_of, first.get("fields", ())))
    values = first.get("values", {})
    return InputError(Problem(first.get("code", UNSORTED), fields, values, said=str(table["detail"])))


def _table(answer: bytes) -> dict[str, Any]:
    """Return a JSON object, empty for anything else."""
    try:
        table = json.loads(answer)
    except ValueError:
        table = None
    return table if isinstance(table, dict) else {}


def _seconds(text: str | None) -> float:
    """Return the seconds of a ``Retry-After`` header, at least 0.1."""
    try:
        return max(0.1, float(text or 1))
    except ValueError:
        return 1.0
