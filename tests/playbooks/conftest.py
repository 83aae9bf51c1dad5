"""What the playbooks run on hosts is imported here as it is there: from its own folder, on top level."""

import sys

from blueprints import project

for folder in ("playbooks/library", "playbooks/roles/acceptance/files", "playbooks/filter_plugins", "playbooks/roles/slurm_config/filter_plugins"):
    sys.path.insert(0, str(project.project_root() / folder))
