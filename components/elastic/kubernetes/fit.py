"""Whether a pod could run on a node: what of the scheduler's rules can be answered for a node that is not there yet.

Resources, node selectors, required node affinity, taints, and required anti-affinity between pods of one host. Where the scheduler knows more than this, a node comes that it does not use; the
autoscaler then starts fewer of them (`decide`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

_HOST = "kubernetes.io/hostname"
_BARRING = ("NoSchedule", "NoExecute")


def allows(spec: Mapping[str, Any], labels: Mapping[str, str], taints: Sequence[Mapping[str, Any]]) -> bool:
    """Say whether a pod may be on a node with these labels and taints."""
    return _selects(spec, labels) and all(_tolerates(spec, taint) for taint in taints if taint.get("effect") in _BARRING)


def holds(room: Mapping[str, float], wants: Mapping[str, float]) -> bool:
    """Say whether there is room for what a pod asks."""
    return all(room.get(key, 0.0) >= value - 1e-6 for key, value in wants.items() if value > 0)


def is_alone(spec: Mapping[str, Any]) -> bool:
    """Say whether a pod shares its host with none of its kind."""
    terms = ((spec.get("affinity") or {}).get("podAntiAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or ()
    return any(one.get("topologyKey") == _HOST for one in terms)


def _selects(spec: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    selector = spec.get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in selector.items()):
        return False
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    # A term of fields names one node, which is none that comes. Terms are alternatives, and an empty one matches nothing.
    return required is None or any(_matches(term, labels) for term in required.get("nodeSelectorTerms") or ())


def _matches(term: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    expressions = term.get("matchExpressions") or ()
    return bool(expressions) and not term.get("matchFields") and all(_is_true(one, labels) for one in expressions)


def _is_true(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value, values = labels.get(expression["key"]), list(expression.get("values") or ())
    match expression["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and value.lstrip("-").isdecimal() and int(value) > int(values[0])
        case "Lt":
            return value is not None and value.lstrip("-").isdecimal() and int(value) < int(values[0])
    return False


def _tolerates(spec: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    for one in spec.get("tolerations") or ():
        if one.get("effect") not in (None, "", taint["effect"]):
            continue
        if not one.get("key"):
            if one.get("operator") == "Exists":
                return True
        elif one["key"] == taint["key"] and (one.get("operator") == "Exists" or (one.get("value") or "") == (taint.get("value") or "")):
            return True
    return False
