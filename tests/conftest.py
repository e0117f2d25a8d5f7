"""What every test shares: how hypothesis runs, the command line in process, where measured data lies."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import cache, lru_cache, wraps
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, settings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
"""Workers of pytest share the cores out already: numpy's threads beside them would only wait in busy loops,
for more than half of the processor time of a fit."""

FLOORS = "PERFMODEL_FLOORS" in os.environ
"""Whether the suite runs with the lowest versions: once more, without what those cannot change."""

settings.register_profile(
    "default", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
EXAMPLES = 10
"""Examples of a property, and cases of a test, that are tried with the lowest versions."""
settings.register_profile("floors", settings.get_profile("default"), max_examples=EXAMPLES)
WHOLE = "\npytestmark = pytest.mark.any_version\n"
"""In a file all of whose tests are so marked; its tools are not there with the lowest versions."""
BROWSER = Path(__file__).with_name("browser")
settings.load_profile("floors" if FLOORS else "default")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out with the lowest versions whole files of ``any_version``, and the tools that they import."""
    if not FLOORS or collection_path == BROWSER:
        return FLOORS or None
    return (collection_path.suffix == ".py" and WHOLE in collection_path.read_text("utf-8")) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with ``refits``; with the lowest versions leave out ``any_version`` and most of many cases."""
    items.sort(key=lambda item: item.get_closest_marker("refits") is None)
    if FLOORS:
        by_test: dict[str, list[pytest.Item]] = {}
        for item in items:
            if not item.get_closest_marker("any_version"):
                by_test.setdefault(item.nodeid.partition("[")[0], []).append(item)
        tried = {item for cases in by_test.values() for item in cases[:: -(-len(cases) // EXAMPLES)]}
        config.hook.pytest_deselected(items=[item for item in items if item not in tried])
        items[:] = [item for item in items if item in tried]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from looking again and again through the tests and all that they import."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 50, 100)
        gc.enable()


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a case by its argument where the value is bytes: they may hold a time, or half a kilobyte."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(autouse=True, scope="session")
def networks_built_once(pytestconfig: pytest.Config) -> Iterator[None]:
    """Build each network once for all tests, which go through every one of them; a process else keeps 64.

    Benchmarks time what is shipped.
    """
    from perfmodel.workloads import catalogue

    with pytest.MonkeyPatch.context() as patch:
        if not pytestconfig.getoption("benchmark_enable"):
            kept = lru_cache(maxsize=1024)(catalogue._built_in.__wrapped__)
            patch.setattr(catalogue, "_built_in", kept)
        yield


SHARED = Path(__file__).parents[2] / "shared"


@pytest.fixture
def invoke() -> Callable[..., Result]:
    """Run ``perfmodel`` in this process: ``invoke("predict", "--gpus", "32").stdout``."""
    from perfmodel.interfaces.cli import main

    return lambda *words: CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture
def shared() -> Path:
    """The folder of measured data beside the checkout; a test that needs it is skipped without."""
    if not SHARED.is_dir():
        pytest.skip("no ../shared beside this checkout")
    return SHARED


@cache
def _served_once() -> tuple[object, object]:
    """What Streamlit looks for and compiles at each start: the packages' components, and the pages."""
    from streamlit.components.v2 import manifest_scanner
    from streamlit.testing.v1 import app_test

    return manifest_scanner.scan_component_manifests(), app_test.ScriptCache()


def _until_it_ends(runner: Any, timeout: float) -> None:
    """Wait for the end of a page's run, and do not look a thousand times a second whether it has come."""
    runner._script_thread.join(timeout)
    if runner._script_thread.is_alive():
        runner.request_stop()
        runner.join()
        raise RuntimeError(f"a page took more than {timeout} s")


class StateOfKeys(Mapping[str, Any]):
    """What a session keeps by its keys, each looked up when it is asked for.

    Streamlit gathers the whole anew for each widget that asks for its own key: a third of a page's run.
    """

    def __init__(self, state: Any, whole: Callable[[Any], dict[str, Any]]) -> None:
        self._state = state
        self._whole = whole

    def __getitem__(self, key: str) -> Any:
        return self._state[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole(self._state))

    def __len__(self) -> int:
        return len(self._whole(self._state))


@pytest.fixture(autouse=True, scope="module")
def as_it_is_served(request: pytest.FixtureRequest) -> Iterator[None]:
    """For modules that open pages the settings of ``perfmodel app``, and components and pages read once.

    Work of a page that has a process of its own is done in this one, but in modules that look at processes.
    """
    if not hasattr(request.module, "opened"):
        yield
        return
    from streamlit import config
    from streamlit.components.v2 import manifest_scanner
    from streamlit.runtime.state.session_state import SessionState
    from streamlit.testing.v1 import app_test, local_script_runner

    from app import bounded

    components, compiled = _served_once()
    names = ("browser.gatherUsageStats", "runner.magicEnabled")
    before = {name: config.get_option(name) for name in names}
    for name in names:
        config.set_option(name, False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", lambda: components)
        patch.setattr(app_test, "ScriptCache", lambda: compiled)
        patch.setattr(local_script_runner, "require_widgets_deltas", _until_it_ends)
        whole = SessionState.filtered_state.fget
        patch.setattr(SessionState, "filtered_state", property(lambda state: StateOfKeys(state, whole)))
        if not hasattr(request.module, "noted"):
            here = wraps(bounded.by_a_process)(lambda work, say: (work.call(*work.arguments), 0))
            patch.setattr(bounded, "by_a_process", here)
        yield
    for name, value in before.items():
        config.set_option(name, value)
