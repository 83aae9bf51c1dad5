"""The blueprint of a cluster that two groups share, for all modules that need its people, their limits or the REST API."""

FILE = "shared.yaml"
BLUEPRINT = """\
name: shared
description: A cluster that two groups share
accounting: {protect: false}
access: {login_nodes: 2, rest_api: true}
storage: {home: {kind: nfs, mount: /home, protect: false}}
pools:
  train: {accelerator: h100, gpus_per_node: 8, nodes: 1, cpus_per_node: 8, memory: 2 GiB, fabric: none, partition: {default: true}}
  whole: {accelerator: h100, gpus_per_node: 8, nodes: 1, cpus_per_node: 8, memory: 2 GiB, fabric: none, partition: {exclusive: true, priority: 10, accounts: [science]}}
accounts:
  physics: {parent: science, limits: {gpus: 12}}
  science: {share: 60}
  teaching: {share: 20, limits: {gpus: 4, jobs: 2}, qos: [idle]}
qos:
  urgent: {priority: 1000, max_time: 12:00:00, gpus_per_user: 6, preempts: [idle]}
  idle: {gpus_per_user: 16}
users:
  ada: {uid: 2001, account: physics, accounts: [teaching], admin: true}
  alan: {uid: 2002, account: teaching}
"""
