"""Every name that production code defines is used by it: what only tests use, or nobody, goes."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from blueprints.project import project_root

DEFINING = ("blueprints", "components", "stacks", "playbooks")
USING = (*DEFINING, "tools", "bench")
KINDS = (".py", ".yaml", ".yml", ".j2", "")
CALLED_BY_OTHERS = {
    "blueprints/language/schema.py": {"dict_schema", "field_title_should_be_set"},  # pydantic's JSON schema generator
    "components/provider/servicer.py": {"CheckConfig", "Diff", "DiffConfig", "GetPluginInfo", "GetSchema", "Handshake", "Update"},  # the engine, over gRPC
    "components/elastic/model.py": {"WRONG_RESULTS", "CHIP_ERROR"},  # people, on a command line, by their values
}
"""Names that others use: a framework calls methods by its own names. What is decorated is registered where it is defined."""


def defined(tree: ast.Module) -> Iterator[str]:
    """Name the functions, classes, methods, constants and fields of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.decorator_list:
            yield node.name
        if isinstance(node, ast.Module | ast.ClassDef):
            yield from _assigned(node.body)


def _assigned(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        yield from (one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))


def unused(sources: Mapping[str, str], others: Mapping[str, str]) -> dict[str, set[str]]:
    """Give the names that occur nowhere but where they are defined: module → names."""
    words = Counter(word for text in (*sources.values(), *others.values()) for word in re.findall(r"\w+", text))
    found = {path: {name for name in defined(ast.parse(text)) if words[name] == 1 and not name.startswith("__")} for path, text in sources.items()}
    return {path: names for path, names in found.items() if names}


def texts(*folders: str) -> dict[str, str]:
    root = project_root()
    files = (path for folder in folders for path in (root / folder).rglob("*") if path.suffix in KINDS and path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(root)): text for path in files if (text := _text(path)) is not None}


def _text(path: Path) -> str | None:
    try:
        return path.read_text()
    except UnicodeDecodeError:  # a program
        return None


def test_every_name_is_used_by_production_code() -> None:
    used = texts(*USING)
    sources = {path: text for path, text in used.items() if path.endswith(".py") and path.startswith(DEFINING)}
    assert unused(sources, {path: text for path, text in used.items() if path not in sources}) == CALLED_BY_OTHERS


def test_a_name_that_nobody_uses_is_found() -> None:
    one = "LIMIT, LEFT = 1, 2\nclass Row:\n    size: int\n    spare: int = 0\n    def double(self): return self.size * LIMIT\n"
    assert unused({"one.py": one, "two.py": "from one import Row"}, {"three.yaml": "double"}) == {"one.py": {"LEFT", "spare"}}
