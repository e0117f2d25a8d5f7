"""An answer as a stream: rows are sent as they are calculated, and memory does not grow with their number."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from perfmodel.core.candidates import TooManyCandidates, at_most
from perfmodel.core.errors import InputError, needed
from perfmodel.core.files.attachments import only_attached
from perfmodel.decide.sweeps import Sweep
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.service.answers import encoded
from perfmodel.interfaces.service.commands import COMMANDS, Command, files_of, table_of
from perfmodel.interfaces.service.fewer import too_many
from perfmodel.interfaces.service.problems import Refused, problem_of, refused, too_slow
from perfmodel.interfaces.service.settings import Settings

NDJSON, ARROW = "application/x-ndjson", "application/vnd.apache.arrow.stream"
END, ERROR = "end", "error"
"""Key of the last line or batch of a complete sweep, and of one that was cut off."""
STREAMED = {
    NDJSON: 'A row on each line, as JSON. The last line is {"end": {"rows", "scenarios", "refused", '
    '"notes"}}: rows sent, scenarios crossed, how many were refused by what was said of them; or '
    '{"error": Problem} of a sweep that was cut off.',
    ARROW: "Record batches. The last has no row, and in its custom metadata the key end, whose JSON holds "
    "rows, scenarios, refused and notes; or the key error, a Problem, of a sweep that was cut off.",
}
"""Description of each form of a stream."""
Parts = Iterator[bytes]


def stream_of(
    name: str, kind: str, body: bytes, seconds: float, candidates: int = Settings.candidates
) -> Parts:
    """Return an answer in parts, with the first part calculated.

    The last part has the number of rows and of refused scenarios with reasons; or the error that cut the
    sweep off, which is raised too.

    Parameters
    ----------
    name : of a command whose answer is read in parts
    kind : ``NDJSON``, a row on each line; ``ARROW``, the stream format of Arrow
    body : of the request
    seconds : time limit of the whole stream
    candidates : largest number of scenarios

    Raises
    ------
    Refused : a body that is not valid for the command, or without a scenario that can be predicted
    """
    end = time.monotonic() + seconds
    command, table = COMMANDS[name], table_of(body)
    chunks = _chunks(command, table, candidates)
    try:
        sweep, chunk = next(chunks)
        form: _Lines | _Arrow = _FORMS[kind](sweep)
        return _parts(form, form.rows(chunk), command, table, chunks, end, seconds)
    except InputError as error:
        raise refused(error, table, command.request) from None
    except TooManyCandidates as error:
        raise too_many(error, name, table) from None


def _parts(
    form: _Lines | _Arrow,
    part: bytes,
    command: Command,
    table: dict[str, Any],
    chunks: Iterator[tuple[Sweep, Any]],
    end: float,
    seconds: float,
) -> Parts:
    """Yield the parts of a sweep, the last with a summary or an error."""
    yield part
    try:
        for _, chunk in chunks:
            if time.monotonic() > end:
                raise Refused(too_slow(seconds), status=504)
            yield form.rows(chunk)
    except InputError as error:
        refusal = refused(error, table, command.request)
        yield form.last(ERROR, problem_of(refusal))
        raise refusal from None
    yield form.last(END, {"rows": form.count, **form.sweep.summary()})


def _chunks(command: Command, table: dict[str, Any], candidates: int) -> Iterator[tuple[Sweep, Any]]:
    """Yield the answer and each part of its table; no files of the server are opened meanwhile."""
    files = files_of(table)
    with only_attached(files), at_most(candidates):
        request = command.request(**table)
        catalogue = Catalogue.with_tables(request.specs) if request.specs else Catalogue.built_in()
        assert command.parts is not None  # the caller's form of an answer is one that the command has
        sweep = command.parts(request, catalogue)
        chunks = sweep.chunks()
        chunk = next(chunks, None)
    while chunk is not None:
        yield sweep, chunk
        with only_attached(files):  # between two parts others may use this thread
            chunk = next(chunks, None)


def error_line(problem: Mapping[str, Any]) -> bytes:
    """Return the last line of a stream of lines that was cut off."""
    return encoded({ERROR: problem}) + b"\n"


class _Lines:
    """A sweep as lines of JSON."""

    def __init__(self, sweep: Sweep) -> None:
        self.sweep, self.count = sweep, 0

    def rows(self, chunk: Any) -> bytes:
        """Return a part of the table as lines."""
        columns = self.sweep.columns
        rows = list(zip(*(chunk[name].tolist() for name in columns), strict=True))
        self.count += len(rows)
        return b"".join(encoded(dict(zip(columns, row, strict=True))) + b"\n" for row in rows)

    def last(self, key: str, value: Mapping[str, Any]) -> bytes:
        """Return the last line."""
        return encoded({key: value}) + b"\n"


class _Sink:
    """A file object that keeps written bytes until they are taken."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, part: Any) -> int:
        """Keep a part."""
        self._parts.append(bytes(part))
        return len(part)

    def flush(self) -> None:
        """Do nothing, as nothing is buffered."""

    def close(self) -> None:
        """Do nothing, as there is no file."""

    def taken(self) -> bytes:
        """Return the bytes written since the last call."""
        parts, self._parts = self._parts, []
        return b"".join(parts)


class _Arrow:
    """A sweep as Arrow record batches; the last is empty, with custom metadata."""

    def __init__(self, sweep: Sweep) -> None:
        needed("pyarrow", "parquet", "an Arrow stream")
        self.sweep, self.count = sweep, 0
        self._sink = _Sink()
        self._writer: Any = None

    def rows(self, chunk: Any) -> bytes:
        """Return a part of the table as record batches."""
        import pyarrow

        table = self.sweep.as_arrow(chunk)
        if self._writer is None:
            self._writer = pyarrow.ipc.new_stream(pyarrow.PythonFile(self._sink, "w"), table.schema)
        self.count += len(table)
        self._writer.write_table(table)
        self._schema = table.schema
        return self._sink.taken()

    def last(self, key: str, value: Mapping[str, Any]) -> bytes:
        """Return the last batch, and the end of the stream."""
        import pyarrow

        none = pyarrow.RecordBatch.from_pylist([], self._schema)
        self._writer.write_batch(none, custom_metadata={key: encoded(value)})
        self._writer.close()
        return self._sink.taken()


_FORMS: dict[str, type[_Lines] | type[_Arrow]] = {NDJSON: _Lines, ARROW: _Arrow}
