"""Where exceptions are: what one folder of components raises and another catches is on one page, or beside the protocol or the file format that it belongs to."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping

from blueprints.project import project_root

ROOT = project_root()
PAGE = "components/errors.py"
BESIDE = {
    "components/adoption.py": "what targets answer about unrecorded resources",
    "components/bmc/model.py": "what BMCs answer; an answer is a value or this",
    "components/bmc/recorded.py": "a file format",
    "components/kubernetes/api.py": "what the API server answers",
    "components/kubernetes/jobs.py": "a file format",
    "components/kubernetes/kubeconfig.py": "a file format",
    "components/provider/kind.py": "what kinds of resources tell the engine",
}
SHIPPED = ("components/elastic", "components/metal/guest", "components/inspection/program")
"""Programs that run on hosts without the rest of components."""


def modules() -> dict[str, ast.Module]:
    paths = (path for package in ("components", "stacks") for path in sorted((ROOT / package).rglob("*.py")))
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text()) for path in paths}


def defined(parsed: Mapping[str, ast.Module]) -> dict[str, list[str]]:
    """Give the exceptions of components by name, with their modules."""
    bases = {
        (path, one.name): {ast.unparse(base).rpartition(".")[2] for base in one.bases}
        for path, module in parsed.items()
        for one in module.body
        if isinstance(one, ast.ClassDef) and path.startswith("components/") and not path.startswith(SHIPPED)
    }
    names = {"Exception", "ValueError", "RuntimeError", "OSError"}
    while more := {name for (_, name), of in bases.items() if of & names} - names:
        names |= more
    found: dict[str, list[str]] = {}
    for path, name in bases:
        if name in names:
            found.setdefault(name, []).append(path)
    return found


def caught(module: ast.Module) -> Iterator[str]:
    """Name the exceptions that a module catches or ignores."""
    for node in ast.walk(module):
        if isinstance(node, ast.ExceptHandler) and node.type is not None:
            yield from _names(node.type)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "contextlib.suppress":
            yield from (name for argument in node.args for name in _names(argument))


def _names(of: ast.expr) -> Iterator[str]:
    for one in of.elts if isinstance(of, ast.Tuple) else [of]:
        yield ast.unparse(one).rpartition(".")[2]


def elsewhere(parsed: Mapping[str, ast.Module]) -> set[str]:
    """Name the modules whose exceptions another folder catches."""
    homes = defined(parsed)
    return {
        home
        for path, module in parsed.items()
        for name in caught(module)
        for home in homes.get(name, ())
        if len(homes[name]) == 1 and not path.startswith(SHIPPED) and _folder(home) != _folder(path)
    }


def _folder(path: str) -> str:
    return "/".join(path.split("/")[:2]) if path.count("/") > 1 else path


def test_exceptions_that_others_catch_are_on_the_page_or_beside_what_they_belong_to() -> None:
    assert elsewhere(modules()) == {PAGE, *BESIDE}


def test_a_name_tells_which_exception_it_is() -> None:
    homes = defined(modules())
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_an_exception_that_another_folder_catches_is_found() -> None:
    one = ast.parse("class Lost(Exception): ...\nclass Gone(Lost): ...")
    two = ast.parse("try:\n    pass\nexcept (OSError, one.Gone):\n    pass")
    assert elsewhere({"components/one.py": one, "components/two/here.py": two}) == {"components/one.py"}
    assert Counter(caught(two)) == Counter({"OSError": 1, "Gone": 1})
