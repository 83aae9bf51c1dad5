"""Record files that another module than `files` changed, so that a drift check compares with what they hold now."""

from ansible.module_utils import host_places
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: host_written
short_description: Record files that another module changed
description:
  - Describes each path as it is, in C(/var/lib/clusterwright/record/written.json), as the module C(files) does with what it writes. Without it, a drift check
    takes the change for somebody else's, and a repair takes it back. The record is never a reason to say that something changed.
options:
  paths:
    description: The files.
    type: list
    elements: path
    required: true
"""


def main() -> None:
    module = AnsibleModule(argument_spec={"paths": {"type": "list", "elements": "path", "required": True}}, supports_check_mode=True)
    if not module.check_mode:
        record(module.params["paths"])
    module.exit_json(changed=False)


def record(paths: list[str]) -> None:
    """Record paths as they are now."""
    now = {path: host_places.describe(path) or host_places.ABSENT for path in paths}
    host_places.write_json(host_places.WRITTEN, (host_places.read_json(host_places.WRITTEN) or {}) | now)


if __name__ == "__main__":
    main()
