"""Nothing heavy is imported on the way to a prediction."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import perfmodel.equations

HEAVY = {"sympy", "scipy", "pandas", "streamlit", "plotly", "matplotlib", "onnx", "jinja2"}
HEAVY |= {"importlib.metadata", "pydantic"}
PRINT_MODULES = "import sys; print(' '.join(sys.modules), file=sys.stderr)"


def modules_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{PRINT_MODULES}"], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


def predicting(*words: str) -> str:
    return f"from perfmodel.interfaces.cli import main\nmain({list(words)!r}, standalone_mode=False)"


def test_json_imports_nothing_heavy():
    loaded = modules_after(predicting("predict", "--gpus", "32", "--json"))
    assert not loaded & (HEAVY | {"rich"})
    assert "perfmodel.equations.slowest_worker" in loaded  # only what the scenario needs
    assert not {f"perfmodel.equations.{name}" for name in ("nccl", "nccl_graph", "input_pipeline")} & loaded


def test_what_a_layout_adds_is_not_heavy():
    words = ["predict", "--workload", "llama-3-8b", "--gpus", "64", "--tensor-parallel", "4", "--json"]
    assert not modules_after(predicting(*words)) & (HEAVY | {"rich"})


def test_text_adds_rich_alone():
    loaded = modules_after(predicting("predict", "--gpus", "32"))
    assert not loaded & HEAVY
    assert "rich" in loaded  # the names looked for are those of modules


def test_only_the_network_asked_for_is_built():
    loaded = modules_after(predicting("predict", "--workload", "vgg16", "--gpus", "8", "--json"))
    assert "perfmodel.workloads.networks.vgg" in loaded
    others = {
        f"perfmodel.workloads.{name}" for name in ("networks.resnet", "networks.transformer", "from_onnx")
    }
    assert not others & loaded


def test_equations_import_neither_numpy_nor_sympy():
    names = sorted(path.stem for path in Path(perfmodel.equations.__path__[0]).glob("[a-z]*.py"))
    assert len(names) > 30
    loaded = modules_after("\n".join(f"import perfmodel.equations.{name}" for name in names))
    assert {f"perfmodel.equations.{name}" for name in names} <= loaded
    assert not loaded & {"numpy", "sympy", "scipy"}


def test_the_package_itself_imports_nothing():
    assert not modules_after("import perfmodel") & {"numpy", "pydantic", "click"}


def test_every_public_name_may_be_the_first_that_is_imported():
    """No import runs in a circle that only another module's import before it would break."""
    homes = {*perfmodel._HOMES.values(), "perfmodel.model.step.evaluate", "perfmodel.model.step.terms"}
    code = f"""
import importlib, sys
for home in {sorted(homes)}:
    for name in [name for name in sys.modules if name.split(".")[0] == "perfmodel"]:
        del sys.modules[name]
    importlib.import_module(home)
"""
    assert "perfmodel.workloads" in modules_after(code)


def test_the_end_looks_through_no_modules():
    """The interpreter's last collection is not to be turned off; it skips what is frozen."""
    last = "import atexit, gc, sys\natexit.register(lambda: print(gc.get_freeze_count(), file=sys.stderr))"
    command = [sys.executable, "-c", f"{last}\n{predicting('predict', '--gpus', '32', '--json')}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stderr) > 10_000


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no list of threads")
def test_a_prediction_runs_on_one_thread():
    """OpenBLAS would start one for each core, which wait in busy loops."""
    count = "\nimport os\nprint(len(os.listdir('/proc/self/task')), file=sys.stderr)"
    code = f"import sys\n{predicting('predict', '--gpus', '32', '--json')}{count}"
    environment = {key: value for key, value in os.environ.items() if key != "OPENBLAS_NUM_THREADS"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stderr.strip() == "1"
