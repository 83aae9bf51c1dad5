"""Record what an installation left on a host, so that a drift check can tell what became of it."""

from typing import Any

from ansible.module_utils import host_places
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: host_record
short_description: Record what an installation left on a host
description:
  - The last step of an installation. Writes every file, link and folder of the places where software is set up, and every package with its version
    and hold, to C(/var/lib/clusterwright/record/installed.json). The record is never a reason to say that something changed.
  - With O(packages), adds packages that a role installed later, with what they need, to the record that there is. All else in it stays.
options:
  packages:
    description: Packages that a role installed on a host that runs.
    type: list
    elements: str
"""
NEEDED = ("apt-cache", "depends", "--recurse", "--installed", "--important")
"""Lists packages with all that they need; the packages themselves are the lines that begin without space."""


def main() -> None:
    module = AnsibleModule(argument_spec={"packages": {"type": "list", "elements": "str"}}, supports_check_mode=True)
    named = module.params["packages"]
    if named:
        before = host_places.read_json(host_places.INSTALLED)
        if before is None:
            module.exit_json(changed=False)  # its installation was not recorded, and nobody compares it with a record
        _, listed, _ = module.run_command([*NEEDED, *named], check_rc=True)
        recorded = with_packages(before, named, listed, host_places.packages())
    else:
        recorded = {"format": 1, "places": host_places.places(), "packages": host_places.packages()}
    if not module.check_mode:
        host_places.write_json(host_places.INSTALLED, recorded)
    module.exit_json(changed=False, places=len(recorded["places"]), packages=len(recorded["packages"]))


def with_packages(recorded: dict[str, Any], named: list[str], listed: str, present: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Give the record with packages as they are present, and with those that they need where it has none of the name yet.

    Args:
        listed: what C(apt-cache depends) says.
    """
    needed = {line.partition(":")[0] for line in listed.splitlines() if line[:1].isalnum()}
    added = {name: present[name] for name in needed if name in present and name not in recorded["packages"]}
    return {**recorded, "packages": {**recorded["packages"], **added, **{name: present[name] for name in named if name in present}}}


if __name__ == "__main__":
    main()
