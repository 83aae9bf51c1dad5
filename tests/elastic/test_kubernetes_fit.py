"""Where pods could run, by what they ask for and what nodes have: quantities, selectors, affinity, tolerations."""

from typing import Any

import pytest

from components.elastic.kubernetes import fit, model


@pytest.mark.parametrize(("text", "value"), [("500m", 0.5), ("2", 2.0), ("1Ki", 1024.0), ("16Gi", 16.0 * 1024**3), ("1e3", 1000.0), ("2M", 2e6)])
def test_quantities_are_read_as_kubernetes_writes_them(text: str, value: float) -> None:
    assert model.quantity(text) == value


@pytest.mark.parametrize("text", ["", "lots", "1Q", "Gi"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no quantity"):
        model.quantity(text)


def test_a_pod_wants_its_containers_together_or_its_largest_init_container() -> None:
    def container(cpu: str, **others: Any) -> dict[str, Any]:
        return {"resources": {"requests": {"cpu": cpu}}, **others}

    beside = container("100m", restartPolicy="Always")
    wants = model.requests({"containers": [container("1"), container("1")], "initContainers": [beside, container("3")], "overhead": {"cpu": "1"}})
    assert wants == {"cpu": pytest.approx(4.1), "pods": 1.0}


@pytest.mark.parametrize(
    ("spec", "may"),
    [
        ({}, True),
        ({"nodeSelector": {"zone": "a"}}, True),
        ({"nodeSelector": {"zone": "b"}}, False),
        ({"nodeSelector": {"other": "a"}}, False),
    ],
)
def test_a_node_selector_is_held_against_labels(spec: dict[str, Any], may: bool) -> None:
    assert fit.allows(spec, {"zone": "a"}, ()) is may


@pytest.mark.parametrize(
    ("operator", "key", "values", "may"),
    [
        ("In", "zone", ["a", "b"], True),
        ("In", "zone", ["b"], False),
        ("NotIn", "zone", ["a"], False),
        ("Exists", "zone", [], True),
        ("DoesNotExist", "zone", [], False),
        ("Gt", "size", ["3"], True),
        ("Lt", "size", ["3"], False),
        ("Near", "zone", ["a"], False),
    ],
)
def test_required_affinity_is_held_against_labels(operator: str, key: str, values: list[str], may: bool) -> None:
    term = {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}
    spec = {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}}
    assert fit.allows(spec, {"zone": "a", "size": "4"}, ()) is may


@pytest.mark.parametrize(
    ("toleration", "may"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"key": "gpu", "value": "yes", "effect": "NoSchedule"}, True),
        ({"key": "gpu", "value": "no"}, False),
        ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "other", "operator": "Exists"}, False),
    ],
)
def test_a_taint_bars_pods_that_do_not_tolerate_it(toleration: dict[str, str], may: bool) -> None:
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    assert fit.allows({"tolerations": [toleration]}, {}, [taint]) is may
