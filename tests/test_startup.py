"""Nothing heavy is imported on the way to a prediction."""

from __future__ import annotations

import subprocess
import sys

HEAVY = {"sympy", "scipy", "pandas", "streamlit", "plotly", "matplotlib", "onnx", "importlib.metadata"}
PRINT_MODULES = "import sys; print(' '.join(sys.modules), file=sys.stderr)"


def modules_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{PRINT_MODULES}"], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


def predicting(*words: str) -> str:
    return f"from perfmodel.cli import main\nmain({list(words)!r}, standalone_mode=False)"


def test_json_imports_nothing_heavy():
    loaded = modules_after(predicting("predict", "--gpus", "32", "--json"))
    assert not loaded & (HEAVY | {"rich"})
    assert "perfmodel.equations.nccl" not in loaded  # only what the scenario needs


def test_text_adds_rich_alone():
    assert not modules_after(predicting("predict", "--gpus", "32")) & HEAVY


def test_equations_import_neither_numpy_nor_sympy():
    code = "import perfmodel.equations.collectives, perfmodel.equations.compute, perfmodel.equations.overlap"
    assert not modules_after(code) & {"numpy", "sympy", "scipy"}


def test_the_package_itself_imports_nothing():
    assert not modules_after("import perfmodel") & {"numpy", "pydantic", "click"}
