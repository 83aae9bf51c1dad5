"""Render the playbooks' templates as Ansible does, with a role's own variables, in this process."""

import pathlib
from typing import Any

from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import filter_loader, init_plugin_loader
from ansible.template import Templar, trust_as_template

from blueprints import project

# Lookups and filters of ansible.builtin are found only from here on.
init_plugin_loader()

PLAYBOOKS = project.project_root() / "playbooks"

for folder in (PLAYBOOKS / "filter_plugins", *PLAYBOOKS.glob("roles/*/filter_plugins")):
    filter_loader.add_directory(str(folder))


def render(template: str, *, role: str | None = None, **variables: Any) -> str:
    """Give the text of a template, `template` being a path below the role or the playbooks."""
    folder = PLAYBOOKS / "roles" / role if role else PLAYBOOKS
    text = _templar(role, {**variables, "template_path": str(folder / "templates" / template)}).template(
        trust_as_template("{{ lookup('ansible.builtin.template', template_path) }}")
    )
    return str(text or "")


def value(name: str, *, role: str, **variables: Any) -> Any:
    """Give the value of one of a role's own variables."""
    return _templar(role, variables).template(trust_as_template("{{ " + name + " }}"))


def evaluate(expression: str, **variables: Any) -> Any:
    """Give the value of a text of a task (`{{ … }}`), with these variables."""
    return _templar(None, variables).template(trust_as_template(expression))


def _templar(role: str | None, variables: dict[str, Any]) -> Templar:
    loader = DataLoader()
    loader.set_basedir(str(PLAYBOOKS))
    of_play = loader.load_from_file(str(PLAYBOOKS / "site.yml"), trusted_as_template=True)[1]["vars"]
    known: dict[str, Any] = {"playbook_dir": str(PLAYBOOKS), "host_settings": of_play["host_settings"]}
    for name in ("defaults/main.yml", "vars/main.yml"):
        path = PLAYBOOKS / "roles" / (role or "") / name
        if role and path.exists():
            known.update(_variables(loader, path))
    return Templar(loader, variables={**known, **variables})


def _variables(loader: DataLoader, path: pathlib.Path) -> dict[str, Any]:
    return dict(loader.load_from_file(str(path), trusted_as_template=True) or {})
