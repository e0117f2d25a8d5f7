"""``perfmodel app`` in a terminal, on the first day of an account."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.browser.server import app_words, free_port, stop, wait

pytest.importorskip("streamlit")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_the_first_start_in_a_terminal_asks_nothing(tmp_path: Path) -> None:
    import pty

    home = tmp_path / "home"
    home.mkdir()
    ours, theirs = pty.openpty()
    log = tmp_path / "log"
    log.touch()
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("STREAMLIT", "XDG"))}
    port = free_port()
    process = subprocess.Popen(
        app_words(port),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=home,
        env=clean | {"HOME": str(home), "PATH": str(home), "BROWSER": "true", "TERM": "dumb"},
        start_new_session=True,
    )
    os.close(theirs)
    reader = threading.Thread(target=_keep, args=(ours, log), daemon=True)
    reader.start()
    try:
        wait(port, process, log)
    finally:
        stop(process)
        reader.join(10)
        os.close(ours)
    assert "mail" not in log.read_text(errors="replace")


def _keep(terminal: int, log: Path) -> None:
    with log.open("ab", buffering=0) as out:
        try:
            while piece := os.read(terminal, 4096):
                out.write(piece)
        except OSError:  # Linux ends a terminal whose last user is gone with an error
            pass
