"""Start of the service: sockets, processes, signals."""

from __future__ import annotations

import os
from collections.abc import Callable

from perfmodel.interfaces.service.application import application
from perfmodel.interfaces.service.logs import event, to_standard_error
from perfmodel.interfaces.service.pool import Pool
from perfmodel.interfaces.service.protect import Protected
from perfmodel.interfaces.service.server import allow_files, bound, run, run_workers
from perfmodel.interfaces.service.settings import Settings, of_environment
from perfmodel.interfaces.service.tags import package_digest
from perfmodel.interfaces.service.tokens import Tokens


def protected(settings: Settings) -> Protected:
    """Return the application with its layers and a pool."""
    package_digest()  # before code or data may change
    pool = Pool(settings)
    return Protected(application(settings, pool.run, pool.stream), settings, pool)


def of_environment_protected() -> Protected:
    """Return the application of one of several processes, with settings from the environment."""
    to_standard_error()
    return protected(of_environment(os.environ))


def serve(settings: Settings, listening: Callable[[str], None]) -> None:
    """Answer requests until SIGTERM or SIGINT; requests in flight then finish.

    Parameters
    ----------
    listening : called with the address when the service listens

    Raises
    ------
    InputError : an address that cannot be listened on; tokens that cannot be read
    """
    Tokens(settings.token_file)
    taken = bound(settings.host, settings.port)
    allow_files(settings.connections)
    to_standard_error()
    port = taken.getsockname()[1]
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    listening(f"http://{host}:{port}")
    event("listening", host=settings.host, port=port, workers=settings.workers, process=os.getpid())
    if settings.workers == 1:
        run(protected(settings), taken)
    else:
        run_workers(f"{__name__}:{of_environment_protected.__name__}", settings, taken)
    event("ended", process=os.getpid())
