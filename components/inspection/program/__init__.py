"""What runs on a host during an inspection: it reads, and writes nothing but remembered checksums below /run. Standard library only; `payload.py` ships it.

Its modules import the hosts' modules under Ansible's name for them (`ansible.module_utils`), as the modules of the roles do.
"""
