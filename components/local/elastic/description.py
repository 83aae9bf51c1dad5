"""What the service knows of its stack: one file for each elastic pool, written by the engine's resource and read at every request."""

import dataclasses
import hashlib
import json
import pathlib
from collections.abc import Iterator

from ..machine import host as hosts
from ..machine import record
from ..machine.names import StackNames
from ..recipe import HostPoolInputs, Mount, boot, join_seeds, seeds


@dataclasses.dataclass(frozen=True, slots=True)
class Description:
    pool: HostPoolInputs
    """`count` is the most hosts that there can be."""
    template: str

    @property
    def node_set(self) -> str:
        return self.pool.group


def template(pool: HostPoolInputs) -> str:
    """Give a hash of all that hosts of the pool boot with: one with another is outdated."""
    found = (*seeds(pool), *(join_seeds("") if pool.runs_containers else ()))
    return hashlib.sha256(f"{pool.image} {hosts.fingerprint(found, boot(pool, 0))}".encode()).hexdigest()[:16]


def write(pool: HostPoolInputs) -> None:
    """Let the service start hosts of the pool."""
    record.write(_file(pool), dataclasses.asdict(pool))


def remove(pool: HostPoolInputs) -> None:
    _file(pool).unlink(missing_ok=True)


def is_written(pool: HostPoolInputs) -> bool:
    # JSON has no tuples: what was written is compared as it is read back.
    return bool(record.read(_file(pool)) == json.loads(json.dumps(dataclasses.asdict(pool))))


def read(names: StackNames) -> Iterator[Description]:
    """Give the descriptions of all elastic pools of the stack."""
    for file in sorted((names.elastic / "pools").glob("*.json")):
        values = record.read(file)
        if values:
            pool = HostPoolInputs(
                **{
                    **values,
                    "controllers": tuple(values["controllers"]),
                    "lowers": tuple(values["lowers"]),
                    "mounts": tuple(Mount(**mount) for mount in values["mounts"]),
                }
            )
            yield Description(pool, template(pool))


def _file(pool: HostPoolInputs) -> pathlib.Path:
    return StackNames(pool.stack).elastic / "pools" / f"{pool.group}.json"
