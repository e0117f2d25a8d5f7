"""``perfmodel app``: open the app in a browser."""

from __future__ import annotations

import click

from perfmodel.core.errors import InputError, refusal

SERVER = "PERFMODEL_SERVER"
"""Environment variable with the address of the service that the pages query."""
TOKEN = "PERFMODEL_TOKEN"
"""Environment variable with the token for that service."""
LARGEST_UPLOAD = 200
"""Largest upload [MB]; uploads stay on this machine."""
OPENING_TRIES = 100
"""Attempts to reach the app, a tenth of a second apart, before a browser is opened."""
OPENED_FIRST = ("start", "predict")
"""Pages that find their modules imported; every other page imports its own with its first visitor."""
MISSING = "the app needs streamlit and plotly: pip install 'perfmodel[app]'"


@click.command("app")
@click.option(
    "--port", type=click.IntRange(1, 65535), default=8501, show_default=True, help="Port to listen on."
)
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on; 0.0.0.0 for every network."
)
@click.option("--open/--no-open", "browse", default=True, help="Whether to open a browser.  [default: open]")
@click.option(
    "--server", metavar="URL", help="Get predictions from a running service, e.g. http://host:8080."
)
@click.option("--check", is_flag=True, help="Only check whether the app can start.")
@click.option("--json", "as_json", is_flag=True, help="Print the result of --check as JSON.")
def command(port: int, host: str, browse: bool, server: str | None, check: bool, as_json: bool) -> None:
    """Open the app in a browser: predict, scale, compare, plan and more; served on this machine alone.

    Nothing leaves the machine: no telemetry, and no connection except the one it listens on; with --server,
    requests go to that service.

    \b
    Example:
      perfmodel app --check
    """
    ready = _installed()
    if as_json and not check:
        raise refusal("options.json_check")
    if not ready:
        raise InputError(MISSING)
    if server is not None:
        import os

        from perfmodel.interfaces.client import Client

        Client(server)  # raises for an invalid address
        os.environ[SERVER] = server
    words = streamlit_words(host, port)
    url = f"http://{host}:{port}"
    taken = _taken(host, port)
    if not check:
        if taken:
            raise InputError(taken)
        _serve(words, url if browse else None)
        return
    if as_json:
        import json

        click.echo(json.dumps({"ready": taken is None, "reason": taken, "url": url, "command": words}))
    else:
        click.echo(taken or f"ready: would listen on {url}")
    if taken:
        raise SystemExit(1)


def _serve(words: list[str], opened: str | None) -> None:
    """Run Streamlit in this process after warming up, and open a browser."""
    import signal
    import sys
    import threading

    from streamlit.web.cli import main as streamlit

    warm()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    if opened:
        threading.Thread(target=_open_when_it_answers, args=(opened,), daemon=True).start()
    sys.argv = words
    streamlit()


def _end(number: int, frame: object) -> None:
    """Exit normally on a signal, so that running work is stopped once the server is down."""
    raise SystemExit(0)


def _open_when_it_answers(url: str) -> None:
    """Open a browser when the app answers; Streamlit does so only for scripts."""
    import time
    import webbrowser
    from urllib.request import urlopen

    for _ in range(OPENING_TRIES):
        try:
            with urlopen(f"{url}/_stcore/health", timeout=1):
                webbrowser.open(url)
                return
        except OSError:
            time.sleep(0.1)


def warm() -> None:
    """Import the modules of ``OPENED_FIRST``, read what all pages share, and predict and draw once."""
    import ast
    import sys
    from contextlib import suppress
    from importlib import import_module

    from perfmodel.core.files.resources import folder
    from perfmodel.hardware.catalogue.store import Catalogue
    from perfmodel.model.options.scenario import Scenario
    from perfmodel.model.prediction import predict

    pages = folder("app")
    if str(pages.parent) not in sys.path:  # as the pages themselves do
        sys.path.insert(0, str(pages.parent))
    with suppress(ImportError):
        import_module("streamlit.emojis")
    for name in OPENED_FIRST:
        for line in ast.parse((pages / "views" / f"{name}.py").read_text(encoding="utf-8")).body:
            if isinstance(line, ast.ImportFrom):
                package = import_module(str(line.module))
                for each in line.names:
                    if not hasattr(package, each.name):
                        import_module(f"{line.module}.{each.name}")
    parts = {name: import_module(f"app.{name}") for name in ("charts", "looks", "names", "options")}
    parts["looks"].labelled("--gpus")  # reads the options of every page, and the catalogue for their choices
    for option in parts["options"].options().values():  # names in lists to choose from
        for id in option.choices if option.offers else ():
            parts["names"].shown(id, Catalogue.built_in())
    parts["charts"].waterfall(predict(Scenario(world_size=32))).plotly().to_json()


def _taken(host: str, port: int) -> str | None:
    """Return why the address cannot be listened on; None if it can."""
    import socket

    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(place)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        return f"cannot listen on {host}, port {port}: {reason}; try another --port"
    return None


def _installed() -> bool:
    """Return whether the packages of the app are installed."""
    from importlib.util import find_spec

    return all(find_spec(name) is not None for name in ("streamlit", "plotly"))


def streamlit_words(host: str, port: int) -> list[str]:
    """Return the command line of Streamlit for an address, without usage statistics."""
    from perfmodel.core.files.resources import folder

    settings = {
        "server.address": host,
        "server.port": port,
        "server.headless": "true",  # it opens a browser for scripts alone
        "server.maxUploadSize": LARGEST_UPLOAD,
        "server.fileWatcherType": "none",
        "server.runOnSave": "false",
        "server.showEmailPrompt": "false",  # the first start of a new account would wait for an address
        "browser.gatherUsageStats": "false",
        "browser.serverAddress": host,
        "client.toolbarMode": "minimal",
        "client.showErrorDetails": "none",
        "global.developmentMode": "false",
        "runner.magicEnabled": "false",
        "theme.light.primaryColor": "#0072B2",
        "theme.dark.primaryColor": "#56B4E9",
    }
    flags = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
    return ["streamlit", "run", str(folder("app") / "server.py"), *flags]
