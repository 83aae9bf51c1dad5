"""Read from playbooks, task files, templates and modules what they name, and compare it with what they declare to read."""

import ast
import functools
import pathlib
from collections.abc import Iterator
from typing import Any

import jinja2
import yaml
from jinja2 import meta, nodes

from components.finish import content

Read = tuple[str, str]
"""A kind as in playbooks/meta/reads.yml, and a name."""

PROJECT = "blueprints"
"""The package of the project that filters import."""
COMPUTED = "computed"
"""Kind of a name that only a run computes: then a whole folder has to be declared."""
LOOKUPS_OF_FILES = {"file": "files", "template": "templates"}
OTHER_LOOKUPS = ("env",)
COPIES = ("copy", "template", "script", "unarchive", "assemble", "include_vars")
"""Modules that read a file of the role by a parameter; the files module takes texts, and lookups name the files."""
OF_ROLE = ("files", "templates")

_jinja = jinja2.Environment(autoescape=False)

# Of a folder in which one file was changed, only that file is parsed again.
_python_tree = functools.cache(ast.parse)
_jinja_tree = functools.cache(_jinja.parse)


@functools.cache
def _yaml_values(text: str) -> Any:
    return yaml.load(text, Loader=content.LOADER)


def problems(playbooks: pathlib.Path) -> list[str]:
    """Give a line for each file that is read and not declared, or declared and not read."""
    _filters.cache_clear()  # the same folder may have changed
    shared = _yaml(playbooks / content.DECLARATION)
    found: list[str] = []
    for name, declared in shared["playbooks"].items():
        found += _differences(name, set(_of_yaml(playbooks / name, playbooks)), declared, playbooks)
    for name, declared in shared["tasks"].items():
        found += _differences(f"tasks/{name}.yml", set(_of_yaml(playbooks / "tasks" / f"{name}.yml", playbooks)), declared, playbooks)
    for kind, folder in (("modules", "library"), ("module_utils", "module_utils"), ("filter_plugins", "filter_plugins")):
        for name, declared in shared[kind].items():
            found += _differences(f"{folder}/{name}.py", set(_of_python(playbooks / folder / f"{name}.py", playbooks)), declared, playbooks)
        found += _undeclared(folder, {path.stem for path in (playbooks / folder).glob("*.py")}, shared[kind])
    found += _undeclared("tasks", {path.stem for path in (playbooks / "tasks").glob("*.yml")}, shared["tasks"])
    found += _undeclared("playbooks", {path.name for path in playbooks.glob("*.yml")}, shared["playbooks"])
    for role in sorted((playbooks / "roles").iterdir()):
        found += _of_role(role, playbooks)
    return found


def _of_role(role: pathlib.Path, playbooks: pathlib.Path) -> list[str]:
    declared = _yaml(role / content.DECLARATION)
    every = set[Read]()
    for folder in ("defaults", "vars", "handlers", "meta"):
        for file in (role / folder).glob("*.yml"):
            every |= set(_of_yaml(file, playbooks, role)) if not file.match(content.DECLARATION) else set()
    for file in (*(role / "library").glob("*.py"), *(role / "filter_plugins").glob("*.py")):
        every |= set(_of_python(file, playbooks))
    found = _undeclared(role.name, {path.stem for path in (role / "tasks").glob("*.yml")}, declared)
    for name, reads in declared.items():
        found += _differences(f"{role.name}/{name}", every | set(_of_yaml(role / "tasks" / f"{name}.yml", playbooks, role)), reads, role)
    for folder in OF_ROLE:
        known = [role / folder / name for reads in declared.values() for name in reads.get(folder, ())]
        for file in (role / folder).rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts and not any(each == file or each in file.parents for each in known):
                found.append(f"{role.name}: nothing reads {file.relative_to(role)}")
    return found


def _undeclared(where: str, there: set[str], declared: dict[str, Any]) -> list[str]:
    return [f"{where}: {name} is in one of the folder and {content.DECLARATION} only" for name in sorted(there ^ set(declared))]


def _differences(where: str, named: set[Read], declared: dict[str, list[str]], base: pathlib.Path) -> list[str]:
    said = {(kind, name.removesuffix("/main") if kind == "roles" else name) for kind, names in declared.items() for name in names}
    folders = {(kind, name) for kind, name in said - named if kind == "project" or (kind in OF_ROLE and (base / kind / name).is_dir())}
    computed = {read for read in named if read[0] == COMPUTED}
    found = [f"{where} reads {kind} {name}, which it does not declare" for kind, name in sorted(named - computed - said)]
    found += [f"{where} declares {kind} {name}, which it does not name" for kind, name in sorted(said - named - folders)]
    if computed and not folders:
        found.append(f"{where} names a file in a way that only a run computes, and declares no folder")
    if folders and not computed:
        found.append(f"{where} declares a folder and names no file that only a run computes")
    return found


def _of_yaml(file: pathlib.Path, playbooks: pathlib.Path, role: pathlib.Path | None = None) -> Iterator[Read]:
    modules = {path.stem for path in (playbooks / "library").glob("*.py")}
    for key, value in _entries(_yaml(file)):
        short = key.rpartition(".")[2]
        if short == "import_playbook":
            yield "playbooks", str(value)
        elif short in ("import_tasks", "include_tasks"):
            name = pathlib.Path(value["file"] if isinstance(value, dict) else value).stem
            yield ("roles", f"{role.name}/{name}") if role else ("tasks", name)
        elif short in ("import_role", "include_role"):
            yield "roles", f"{value['name']}/{value.get('tasks_from', 'main')}".removesuffix("/main")
        elif key in ("roles", "dependencies"):
            yield from (("roles", each if isinstance(each, str) else str(each.get("role") or each.get("name"))) for each in value)
        elif key == "vars_files":
            yield from (("vars", pathlib.Path(each).stem) for each in value)
        elif short in modules and isinstance(value, dict):
            yield "modules", short
        elif (short in COPIES and not _is_no_file_of_ours(value, file)) or short.startswith("with_"):
            yield COMPUTED, f"by {short}"
    for text in _texts(_yaml(file)):
        yield from _of_expression(text, playbooks, role)


def _is_no_file_of_ours(value: Any, file: pathlib.Path) -> bool:
    """Say whether what is copied is on the host already, is a text, or was made by the run itself."""
    if not isinstance(value, dict):
        return False
    made = [task["register"] for task in _tasks(_yaml(file)) if "register" in task and any(key.rpartition(".")[2] == "tempfile" for key in task)]
    return value.get("remote_src") is True or "content" in value or str(value.get("src", "")).startswith(tuple(f"{{{{ {name}.path }}}}/" for name in made))


def _tasks(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, list):
        for item in node:
            yield from _tasks(item)
    elif isinstance(node, dict):
        yield node
        for key in ("block", "rescue", "always"):
            yield from _tasks(node.get(key))


def _of_expression(text: str, playbooks: pathlib.Path, role: pathlib.Path | None) -> Iterator[Read]:
    is_template = "{{" in text or "{%" in text
    if not is_template and not any(f"{name}(" in text for name in ("lookup", "query", "q")):
        return
    tree = _jinja_tree(text if is_template else "{{ " + text + " }}")
    for template in meta.find_referenced_templates(tree):
        yield from _template(str(template), playbooks, role)
    filters = _filters(playbooks)
    yield from (("filter_plugins", filters[one.name]) for one in tree.find_all(nodes.Filter) if one.name in filters)
    for call in tree.find_all(nodes.Call):
        if isinstance(call.node, nodes.Name) and call.node.name in ("lookup", "query", "q"):
            plugin = call.args[0].as_const().rpartition(".")[2]
            if plugin in OTHER_LOOKUPS:
                continue
            if plugin not in LOOKUPS_OF_FILES or call.dyn_args is not None:
                yield COMPUTED, f"by lookup {plugin}"
            for name in call.args[1:]:
                yield from _of_name(name, LOOKUPS_OF_FILES.get(plugin, plugin), playbooks, role)


def _of_name(node: nodes.Expr, kind: str, playbooks: pathlib.Path, role: pathlib.Path | None) -> Iterator[Read]:
    if isinstance(node, nodes.CondExpr) and node.expr2 is not None:
        yield from _of_name(node.expr1, kind, playbooks, role)
        yield from _of_name(node.expr2, kind, playbooks, role)
    elif isinstance(node, nodes.Const):
        if kind == "templates":
            yield from _template(str(node.value).removeprefix("templates/"), playbooks, role)
        elif role is not None:
            yield kind, str(node.value)
        # Beside the playbooks only a role's own variables are read; every use of the role reads them.
    elif isinstance(node, nodes.Concat) and isinstance(node.nodes[0], nodes.Name) and node.nodes[0].name == "playbook_dir":
        folder, _, name = str(node.nodes[1].as_const()).strip("/").partition("/")
        yield ("project", name) if folder == ".." else (folder, pathlib.Path(name).stem)
    else:
        yield COMPUTED, "by an expression"


def _template(name: str, playbooks: pathlib.Path, role: pathlib.Path | None) -> Iterator[Read]:
    yield "templates", name
    file = (role or playbooks) / "templates" / name
    if file.exists():
        yield from _of_expression(file.read_text(), playbooks, role)


def _of_python(file: pathlib.Path, playbooks: pathlib.Path) -> Iterator[Read]:
    own = {path.stem for path in (playbooks / "module_utils").glob("*.py")}
    for node in ast.walk(_python_tree(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ansible.module_utils"):
            names = {*(node.module or "").split("."), *(alias.name for alias in node.names)}
            yield from (("module_utils", name) for name in names & own)
        elif isinstance(node, ast.ImportFrom) and node.module == PROJECT:
            yield from (("project", f"{PROJECT}/{alias.name}.py") for alias in node.names)


@functools.cache
def _filters(playbooks: pathlib.Path) -> dict[str, str]:
    """Filters of the playbooks' own → the plugin that has them; a role's own are read with every use of the role."""
    found: dict[str, str] = {}
    for file in (playbooks / "filter_plugins").glob("*.py"):
        for node in ast.walk(_python_tree(file.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name == "filters":
                found |= {str(key.value): file.stem for one in ast.walk(node) if isinstance(one, ast.Dict) for key in one.keys if isinstance(key, ast.Constant)}
    return found


def _entries(node: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(node, list):
        for item in node:
            yield from _entries(item)
    elif isinstance(node, dict):
        for key, value in node.items():
            yield str(key), value
            yield from _entries(value)


def _texts(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, list):
        for item in node:
            yield from _texts(item)
    elif isinstance(node, dict):
        for value in node.values():
            yield from _texts(value)


def _yaml(file: pathlib.Path) -> Any:
    return _yaml_values(file.read_text()) if file.exists() else {}
