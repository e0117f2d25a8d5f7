"""``perfmodel app`` in a terminal, on the first day of an account."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from app import tables
from tests.browser.server import LONGEST_START, app_words, free_port, stop, wait

MAIN = Path(__file__).parents[1] / "app" / "main.py"
LATE = 12
"""Modules that the first page may still import: those that only some pages need, and parts of charts."""

NOT_YET = (
    "pandas",
    "pyarrow",
    "pydantic",
    "sympy",
    "scipy",
    "perfmodel.evidence",
    "perfmodel.decide.comparison",
    "perfmodel.decide.diagnosis",
    "perfmodel.decide.planning",
    "perfmodel.decide.quote",
    "perfmodel.decide.sweeps",
)
"""Packages that neither Start nor Predict needs, a half of the server's memory with all pages."""

pytest.importorskip("streamlit")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_the_first_start_in_a_terminal_asks_nothing_and_opens_a_browser(tmp_path: Path) -> None:
    import pty

    home = tmp_path / "home"
    home.mkdir()
    shown = tmp_path / "shown"
    browser = tmp_path / "browser"
    browser.write_text(f"#!/bin/sh\necho $1 > {shown}\n")
    browser.chmod(0o700)
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
        env=clean | {"HOME": str(home), "PATH": str(home), "BROWSER": str(browser), "TERM": "dumb"},
        start_new_session=True,
    )
    os.close(theirs)
    reader = threading.Thread(target=_keep, args=(ours, log), daemon=True)
    reader.start()
    try:
        wait(port, process, log)
        end = time.monotonic() + LONGEST_START
        while not (shown.is_file() and shown.read_text()) and time.monotonic() < end:
            time.sleep(0.05)
        process.terminate()
        assert process.wait(LONGEST_START) == 0
    finally:
        stop(process)
        reader.join(10)
        os.close(ours)
    assert shown.read_text().strip() == f"http://127.0.0.1:{port}"
    said = log.read_text(errors="replace")
    assert "mail" not in said
    assert "Traceback" not in said


def _keep(terminal: int, log: Path) -> None:
    with log.open("ab", buffering=0) as out:
        try:
            while piece := os.read(terminal, 4096):
                out.write(piece)
        except OSError:  # Linux ends a terminal whose last user is gone with an error
            pass


def test_what_the_first_pages_need_and_no_more_is_imported_before_the_first_visitor_comes() -> None:
    code = """
import sys
from perfmodel.interfaces.cli.app import warm
warm()
before = set(sys.modules)
from streamlit.testing.v1 import AppTest
test = AppTest.from_file(sys.argv[1], default_timeout=120)
test.query_params["gpus"] = "32"  # an address of Predict, which asks for more than the first page
test.run()
assert test.metric and not test.exception
print(*sorted(name for name in set(sys.modules) - before if name.startswith(("app", "perfmodel", "plotly"))))
print(*sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(MAIN)], capture_output=True, text=True, timeout=180, check=True
    )
    late, loaded = (line.split() for line in done.stdout.splitlines())
    assert len(late) <= LATE, late
    assert [name for name in NOT_YET if name in loaded] == []


def test_what_tables_need_is_loaded_before_a_page_without_tables_unfolds_one() -> None:
    """Otherwise a chart of another session may meet pandas half imported."""
    app = MAIN.parent
    files = [*app.glob("*.py"), *(app / "views" / f"{name}.py" for name in tables.WITHOUT if name)]
    drawing = [
        (file.name, function.name, called.count("tables.ready()"))
        for file in files
        for function in ast.walk(ast.parse(file.read_text()))
        if isinstance(function, ast.FunctionDef) and "st.dataframe(" in (called := ast.unparse(function))
    ]
    assert drawing
    assert [name for name, _, times in drawing if not times] == []
