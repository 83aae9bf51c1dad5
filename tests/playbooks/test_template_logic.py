"""Templates and roles' variables lay out what filters computed: they choose lines, and compute nothing themselves."""

import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from jinja2 import Environment, nodes

from tests.playbooks import templates

COMPUTING = frozenset(
    {
        *("b64decode", "batch", "combine", "dict2items", "difference", "flatten", "from_json", "from_yaml", "groupby", "hash", "intersect", "items2dict"),
        *("max", "min", "product", "regex_findall", "regex_replace", "regex_search", "reject", "rejectattr", "select", "selectattr", "slice", "sort"),
        *("split", "subelements", "sum", "symmetric_difference", "union", "zip"),
    }
)
"""Filters that choose, count or take apart; how a value is written (`to_json`, `join`) is a template's own matter."""


def computed(source: str) -> Iterator[str]:
    """Name what a template computes, with its line."""
    for node in Environment(extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"]).parse(source).find_all(nodes.Node):
        match node:
            case nodes.For(test=nodes.Node()):
                yield f"{node.lineno}: a loop with a condition"
            case nodes.Macro() | nodes.CallBlock() | nodes.ExprStmt():
                yield f"{node.lineno}: a {type(node).__name__.lower()}"
            case nodes.Filter(name=name) if name in COMPUTING:
                yield f"{node.lineno}: the filter {name}"
            case nodes.Add(left=left, right=right) if isinstance(left, nodes.List) or isinstance(right, nodes.List):
                yield f"{node.lineno}: lists that are joined"
            case nodes.Call(node=nodes.Name(name=name)) if name == "namespace":
                yield f"{node.lineno}: a namespace"


STILL = frozenset(
    {
        *("access_address_clients", "access_address_back_ports", "gpu_driver_there_names", "gpu_software_is_simulated", "gpu_software_archives"),
        *(
            "gpu_software_held",
            "gpu_software_wanted",
            "image_check_versions",
            "in_place_addresses",
            "kubeadm_control_tags",
            "lustre_client_fingerprints",
            "nfs_export_folders",
        ),
        *("site_dns_clients", "site_mounts_wanted", "site_mounts_units", "site_mounts_stale", "slurmdbd_published"),
        *("vendor_archive_origin", "vendor_archive_label"),
    }
)
"""Variables of roles that choose or join values in their own expression, each in one line."""


def every_variable() -> Iterator[tuple[str, str]]:
    """Give each text with an expression in the roles' `vars/main.yml`, with the variable that it is of."""

    def texts(value: Any) -> Iterator[str]:
        if isinstance(value, str) and ("{{" in value or "{%" in value):
            yield value
        elif isinstance(value, dict | list):
            for one in value.values() if isinstance(value, dict) else value:
                yield from texts(one)

    for path in sorted((templates.PLAYBOOKS / "roles").glob("*/vars/main.yml")):
        for name, value in (yaml.safe_load(path.read_text()) or {}).items():
            yield from ((name, text) for text in texts(value))


def test_variables_of_roles_compute_no_more_than_those_known() -> None:
    assert {name for name, text in every_variable() if [*computed(text)]} == STILL


def every_template() -> list[pathlib.Path]:
    return sorted((templates.PLAYBOOKS / "roles").rglob("*.j2"))


def test_no_template_computes() -> None:
    assert len(every_template()) > 50
    found = {f"{path.parent.parent.name}/{path.name}": [*computed(path.read_text())] for path in every_template()}
    assert {name: what for name, what in found.items() if what} == {}


@pytest.mark.parametrize(
    "source",
    [
        "{% for host in hosts if host != own %}{{ host }}{% endfor %}",
        "{% set seen = namespace(names=[]) %}",
        "{% macro line(x) %}{{ x }}{% endmacro %}",
        "{{ images | select('match', 'etcd:') | first }}",
        "{{ (['a'] + others) | join(',') }}",
        "{% do names.append('a') %}",
    ],
)
def test_a_computation_is_noticed(source: str) -> None:
    assert [*computed(source)]


@pytest.mark.parametrize(
    "source", ["{% for line in tables.nodes %}{{ line }}{% endfor %}", "{{ names | to_json }}", "{{ 200 - number | int }}", "{% if a %}b{% endif %}"]
)
def test_layout_is_fine(source: str) -> None:
    assert not [*computed(source)]
