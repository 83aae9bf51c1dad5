"""A stack's settings, as `pulumi config` keeps them."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from blueprints.finding import Finding, Invalid, Level, Position
from blueprints.finding.code import FindingCode
from blueprints.message_text import near, quoted
from components import registry

NAMESPACE = "clusterwright"
DEFAULT_BLUEPRINT = "starter"


class Code(FindingCode):
    """The codes of findings about a stack's settings."""

    # fmt: off
    SETTING_UNKNOWN = "CW150", Level.ERROR, "a stack setting that this version doesn't have", "remove the setting with `pulumi config rm`"
    SETTING_TYPE = "CW151", Level.ERROR, "a stack setting of the wrong type", "set a value of the type that the page names"
    SETTINGS_UNREADABLE = "CW152", Level.ERROR, "a stack's settings that can't be read", "correct the file that the page names"
    # fmt: on


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """What a stack chooses: the blueprint, the target, and its own values."""

    blueprint: str = DEFAULT_BLUEPRINT
    target: str = registry.DEFAULT
    overrides: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def parse(config: Mapping[str, Any], *, stack: str) -> Settings:
    """Read settings by their full names (`clusterwright:blueprint`); other namespaces are ignored.

    Raises:
        Invalid: an unknown setting of ours, or one of the wrong type.
    """
    known: dict[str, tuple[type, str]] = {"blueprint": (str, "a text"), "target": (str, "a text"), "set": (dict, "an object: values by dotted path")}
    values: dict[str, Any] = {}
    findings = []
    for name, value in config.items():
        namespace, _, key = name.partition(":")
        if namespace != NAMESPACE:
            continue
        where = Position(f"stacks/Pulumi.{stack}.yaml, setting {name}")
        if key not in known:
            close = near(key, known)
            remedy = f"did you mean {NAMESPACE}:{close}? " if close else ""
            why = f"there are {', '.join(f'{NAMESPACE}:{one}' for one in known)}"
            findings.append(Finding(Level.ERROR, Code.SETTING_UNKNOWN, where, f"unknown setting {name}", why, f"{remedy}`pulumi config rm {name}` removes it"))
            continue
        wanted, described = known[key]
        plain = _object(value) if wanted is dict else value
        if not isinstance(plain, wanted):
            remedy = f"set it again, or `pulumi config rm {name}` removes it"
            findings.append(Finding(Level.ERROR, Code.SETTING_TYPE, where, f"setting {name} is not {described}", f"it is {quoted(plain)}", remedy))
            continue
        values["overrides" if key == "set" else key] = plain
    if findings:
        raise Invalid(findings)
    return Settings(**values)


def _object(value: Any) -> Any:
    """Pulumi hands objects over as JSON text."""
    if isinstance(value, str):
        try:
            return json.loads(value)
        except json.JSONDecodeError:
            return value
    return value
