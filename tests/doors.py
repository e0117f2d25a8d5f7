"""Which formulas a user can reach: named by a module of the product, or by what such a module names.

``python -m tests.doors`` lists the others.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import perfmodel.equations
from perfmodel.core.formula import FORMULAS

ROOT = Path(__file__).parents[1]
PACKAGE = "perfmodel.equations"
EQUATIONS = ROOT.joinpath(*PACKAGE.split("."))
Name = tuple[str, str]
"""Module of ``equations``, and what it defines."""
TABLE: Name = ("algorithms", "ALGORITHMS")
"""Through which every formula is reached that registers a way of doing a collective."""
REGISTERING = ("algorithm", "algorithm_over_nodes")
"""The decorators that do."""


def formulas() -> set[Name]:
    """Return every registered formula; one that an example of the documents registers is none of ours."""
    modules = {module.name for module in walk_packages(perfmodel.equations.__path__, f"{PACKAGE}.")}
    for name in modules:
        import_module(name)
    each = (name.rpartition(".") for name in FORMULAS)
    return {(module, function) for module, _, function in each if f"{PACKAGE}.{module}" in modules}


def without_door() -> set[str]:
    """Return the formulas that nothing of the product reaches."""
    return {".".join(name) for name in formulas() - set(reached())}


def reached() -> dict[Name, list[Path]]:
    """Return what the product reaches of ``equations``, with the files that name it or what needs it."""
    inside = {path.stem: _Module(path) for path in EQUATIONS.glob("*.py")}
    ways = [(module.own, name) for module in inside.values() for name in module.registered()]
    result: dict[Name, list[Path]] = {}
    for path in _product():
        waiting, seen = _Module(path).everything(), set()
        while waiting:
            name = waiting.pop()
            if name not in seen and name[0] in inside:
                seen.add(name)
                result.setdefault(name, []).append(path)
                waiting += inside[name[0]].needed_by(name[1])
                waiting += ways if name == TABLE else []
    return result


def _product() -> Iterator[Path]:
    for folder in (ROOT / "perfmodel", ROOT / "app"):
        yield from (path for path in folder.rglob("*.py") if EQUATIONS not in path.parents)


class _Module:
    """What one file imports of ``equations``, and what it defines by which names."""

    def __init__(self, path: Path) -> None:
        self.own = path.stem
        self.tree = ast.parse(path.read_text("utf-8"))
        self.names: dict[str, Name] = {}
        self.modules: dict[str, str] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(f"{PACKAGE}."):
                module = str(node.module).removeprefix(PACKAGE).removeprefix(".")
                for alias in node.names:
                    if module:
                        self.names[alias.asname or alias.name] = (module, alias.name)
                    else:
                        self.modules[alias.asname or alias.name] = alias.name
        self.defined: dict[str, list[ast.stmt]] = {}
        for node in self.tree.body:
            for name in _defines(node):
                self.defined.setdefault(name, []).append(node)

    def registered(self) -> list[str]:
        """Return the formulas that are a way of doing a collective."""
        functions = [node for node in self.tree.body if isinstance(node, ast.FunctionDef)]
        return [
            each.name
            for each in functions
            for by in each.decorator_list
            if isinstance(by, ast.Call) and isinstance(by.func, ast.Name) and by.func.id in REGISTERING
        ]

    def everything(self) -> list[Name]:
        """Return all that it names of ``equations``."""
        return [*self.names.values(), *self._attributes(self.tree)]

    def needed_by(self, name: str) -> list[Name]:
        """Return what one of its names is made of."""
        if name in self.names:
            return [self.names[name]]
        result: list[Name] = []
        for node in self.defined.get(name, ()):
            used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
            result += [self.names.get(each, (self.own, each)) for each in used]
            result += self._attributes(node)
        return result

    def _attributes(self, tree: ast.AST) -> list[Name]:
        return [
            (self.modules[node.value.id], node.attr)
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in self.modules
        ]


def _defines(node: ast.stmt) -> set[str]:
    """Names that a statement gives a meaning; of one that fills tables, all that it mentions."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    parts: list[ast.AST] = [node]
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        parts = list(node.targets) if isinstance(node, ast.Assign) else [node.target]
    return {name.id for part in parts for name in ast.walk(part) if isinstance(name, ast.Name)}


if __name__ == "__main__":
    print("\n".join(sorted(without_door())))
