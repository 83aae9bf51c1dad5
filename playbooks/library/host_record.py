"""Record what an installation left on a host, so that a drift check can tell what became of it."""

from ansible.module_utils import host_places
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: host_record
short_description: Record what an installation left on a host
description:
  - The last step of an installation. Writes every file, link and folder of the places where software is set up, and every package with its version
    and hold, to C(/var/lib/clusterwright/record/installed.json). The record is never a reason to say that something changed.
"""


def main() -> None:
    module = AnsibleModule(argument_spec={}, supports_check_mode=True)
    recorded = {"format": 1, "places": host_places.places(), "packages": host_places.packages()}
    if not module.check_mode:
        host_places.write_json(host_places.INSTALLED, recorded)
    module.exit_json(changed=False, places=len(recorded["places"]), packages=len(recorded["packages"]))


if __name__ == "__main__":
    main()
