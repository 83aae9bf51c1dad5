"""Lines of production code, each with a mistake that somebody could make there and the tests that must notice it.

A mistake that no test notices is a gap: write the test, not another row. When a line moves or changes, move or change its row.
"""

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Mutation:
    """One mistake.

    Args:
        file: of the production code.
        text: what is in the file exactly once.
        broken: what is in its place then.
        tests: files or tests that run, as pytest takes them.
    """

    file: str
    text: str
    broken: str
    tests: tuple[str, ...]


MUTATIONS = (
    # What a cluster should be
    Mutation("blueprints/hostlist.py", "number == ranges[-1][1] + 1", "number >= ranges[-1][1] + 1", ("tests/blueprints/test_hostlist.py",)),
    Mutation("blueprints/addresses.py", "32 - (sum(sizes) - 1).bit_length()", "32 - sum(sizes).bit_length()", ("tests/blueprints/resolve/test_network.py",)),
    Mutation(
        "blueprints/suppression.py",
        "return today <= dt.date.fromisoformat(entry.until)",
        "return today < dt.date.fromisoformat(entry.until)",
        ("tests/blueprints/test_suppression.py",),
    ),
    Mutation(
        "blueprints/live/quotas.py",
        " + len({*kinds} & {*known.one_network_for})",
        "",
        ("tests/components/gcp/test_account.py::test_each_interface_of_a_fabric_needs_a_network_but_those_for_rdma_share_one",),
    ),
    Mutation(
        "components/gcp/account/read.py",
        "is_shared=owner == project or project in shared",
        "is_shared=True",
        ("tests/components/gcp/test_account.py::test_another_project_has_to_share_its_reservation",),
    ),
    Mutation(
        "components/gcp/offerings/slurm_hosts.py",
        "*([] if on_filestore else [shared.cluster_folder])",
        "shared.cluster_folder",
        ("tests/components/gcp/test_shared_state.py",),
    ),
    Mutation(
        "blueprints/resolve/kubernetes.py",
        "min(int(part[-1]), int(whole[-1]) - 1)",
        "int(part[-1])",
        ("tests/blueprints/resolve/test_secondary_networks.py",),
    ),
    Mutation(
        "components/kubernetes/secondary_networks.py",
        "if not site or all(network.name in",
        "if not site or any(network.name in",
        ("tests/components/kubernetes/test_secondary_networks.py",),
    ),
    Mutation(
        "playbooks/filter_plugins/kubernetes_tables.py",
        'sorted(found, key=lambda one: "link" in one)',
        "found",
        ("tests/playbooks/test_kube_networks.py",),
    ),
    Mutation("blueprints/plan/estimate.py", "count = min(left, part.count_max)", "count = part.count_max", ("tests/blueprints/plan/test_estimate.py",)),
    Mutation(
        "blueprints/plan/quotas.py",
        "counted = [take for take in takes if not take.pool or take is largest[take.pool]]",
        "counted = takes",
        ("tests/blueprints/plan/test_quotas.py",),
    ),
    Mutation(
        "blueprints/resolve/capacity.py",
        "return _GIVEN if brings_own else _PACKED",
        "return _PACKED",
        ("tests/blueprints/resolve", "tests/blueprints/test_library.py"),
    ),
    Mutation("blueprints/language/merge.py", " and path[-1:] != (WHOLE,)", "", ("tests/blueprints/test_merge.py",)),
    Mutation("blueprints/checks/mounts.py", "for length in range(2, len(steps))", "for length in range(3, len(steps))", ("tests/blueprints/test_broken.py",)),
    Mutation(
        "blueprints/resolve/control.py",
        "(max(1, public_subnets) if has_balancer else access.login_nodes)",
        "max(1, public_subnets)",
        ("tests/blueprints/resolve/test_control.py",),
    ),
    # Nodes that come and go
    Mutation("components/elastic/kubernetes/decide.py", "(is_alone and self.is_taken) or not", "not", ("tests/elastic/test_kubernetes_decide.py",)),
    Mutation("components/elastic/kubernetes/decide.py", " or node.is_cordoned:", ":", ("tests/elastic/test_kubernetes_decide.py",)),
    Mutation("components/elastic/kubernetes/decide.py", "outdated = name in beyond or ", "outdated = ", ("tests/elastic/test_kubernetes_decide.py",)),
    Mutation("components/elastic/kubernetes/decide.py", "memory.watched - memory.used and", "memory.watched and", ("tests/elastic/test_kubernetes_decide.py",)),
    Mutation(
        "components/elastic/kubernetes/decide.py",
        "outdated or (now - idle_since >= idle_s and not",
        "(now - idle_since >= idle_s and not",
        ("tests/elastic/test_kubernetes_decide.py",),
    ),
    Mutation(
        "components/elastic/kubernetes/program.py",
        "            self._keep_lease()\n            self._cluster.drain",
        "            self._cluster.drain",
        ("tests/elastic/test_kubernetes_program.py",),
    ),
    Mutation("components/kubernetes/queues.py", "{} if pool in elastic else", "{} if not pool else", ("tests/components/kubernetes/test_queues.py",)),
    Mutation("components/elastic/decide/judge.py", "if case.hold and not case.is_trial:", "if case.hold:", ("tests/elastic/test_judge.py",)),
    Mutation(
        "components/elastic/decide/judge.py",
        'Verdict(Act.FAIL if is_taken_back else Act.FAILED_BOOT, f"its instance ended',
        'Verdict(Act.FAILED_BOOT, f"its instance ended',
        ("tests/elastic/test_judge.py",),
    ),
    Mutation(
        "components/elastic/decide/answers.py",
        "return () if made or bound.isdisjoint(missing) else missing",
        "return () if bound.isdisjoint(missing) else missing",
        ("tests/elastic/test_resume.py",),
    ),
    Mutation(
        "components/elastic/decide/cases.py",
        "return tuple(outdated[: max(0, max(1, int(node_set.minimum * REPLACED_AT_ONCE)) - away)])",
        "return tuple(outdated)",
        ("tests/elastic/test_sync.py",),
    ),
    Mutation(
        "components/elastic/decide/holds.py",
        "min(CAPACITY_HOLD_S * 2 ** (times - 1), LONGEST_HOLD_S)",
        "CAPACITY_HOLD_S * 2 ** (times - 1)",
        ("tests/elastic/test_resume.py",),
    ),
    Mutation(
        "components/elastic/decide/leases.py",
        "elif now >= lease.ends - TAKE_DOWN_S:",
        "elif now >= lease.ends:",
        ("tests/elastic/test_sync.py",),
    ),
    Mutation(
        "components/elastic/decide/pools.py",
        "if added and len(added | self._taken[pool]) > most:",
        "if added and len(self._taken[pool]) > most:",
        ("tests/elastic/test_resume.py",),
    ),
    Mutation(
        "components/elastic/decide/suspend.py",
        "(name in owners and owners[name].keeps(node))) and not spares_kept:",
        "(name in owners and owners[name].keeps(node))):",
        ("tests/elastic/test_resume.py",),
    ),
    Mutation("components/elastic/fleets/aws/adapter.py", "is_part = len(live) < len(launch.nodes)", "is_part = False", ("tests/elastic/test_aws.py",)),
    Mutation(
        "components/elastic/fleets/aws/adapter.py",
        '"MinTargetCapacity": count if launch.is_whole else 1',
        '"MinTargetCapacity": 1',
        ("tests/elastic/test_aws.py",),
    ),
    # Finishing and the provider
    Mutation("components/finish/group.py", 'f"{of_host} {read}"', 'f"{name} {read}"', ("tests/components/test_finish.py",)),
    Mutation("components/finish/module_cache.py", "about.st_mode & 0o077", "about.st_mode & 0o007", ("tests/components/test_module_cache.py",)),
    Mutation(
        "components/finish/module_cache.py",
        "+ file.read_bytes()",
        "",
        ("tests/components/test_module_cache.py::test_the_next_run_takes_what_a_run_made_until_the_module_changes",),
    ),
    Mutation(
        "components/finish/ansible_program.py",
        "                sys.path.insert(0, {folder!r})\n",
        "",
        ("tests/components/test_module_cache.py::test_a_host_compiles_once_and_runs_what_it_unpacked",),
    ),
    Mutation(
        "components/finish/without_worker.py",
        "own = task.copy(exclude_parent=True, exclude_tasks=True)",
        "own = task",
        ("tests/components/test_without_worker.py",),
    ),
    Mutation(
        "components/finish/acceptance.py",
        '{"ok": True, "outdated": "", "checks": UNKNOWN, "seconds": UNKNOWN',
        '{"ok": UNKNOWN, "outdated": "", "checks": UNKNOWN, "seconds": UNKNOWN',
        ("tests/components/test_finish.py",),
    ),
    Mutation("components/finish/changed_hosts.py", 'answers"] if name == teller', 'answers"] if name != teller', ("tests/components/test_changed_hosts.py",)),
    Mutation(
        "components/finish/changed_hosts.py",
        "any(restorable_findings.is_restored_on_the_controller(",
        "bool(of_cluster) or any(restorable_findings.is_restored_on_the_controller(",
        ("tests/components/test_changed_hosts.py",),
    ),
    Mutation("components/finish/group.py", "if hostname not in differ}}", "}}", ("tests/components/test_changed_hosts.py",)),
    Mutation("components/finish/inspection_results.py", ") > dt.datetime", ") >= dt.datetime", ("tests/components/test_finish.py",)),
    Mutation(
        "components/finish/acceptance.py",
        "(repaired, *node_states",
        '("", *node_states',
        ("tests/components/test_finish.py",),
    ),
    Mutation(
        "components/provider/servicer.py",
        '{**dict(kind.expected(typed(kind, news))), "complete": True}.items()',
        "dict(kind.expected(typed(kind, news))).items()",
        ("tests/components/test_servicer.py",),
    ),
    # This machine
    Mutation("components/local/pool.py", "elif seen.boot != boot:", "elif False:", ("tests/components/local/test_plan.py",)),
    Mutation(
        "components/local/machine/network.py",
        '("-s", cidr, "!", "-d", cidr, "-j", "MASQUERADE")',
        '("-s", cidr, "-j", "MASQUERADE")',
        ("tests/components/local/test_network.py",),
    ),
    # AWS
    Mutation("components/aws/names.py", "{**dict(self.user_tags), **own,", "{**own, **dict(self.user_tags),", ("tests/components/aws/test_names.py",)),
    Mutation("components/aws/storage.py", 'wanted.kind in ("nfs", "object")', 'wanted.kind in ("object",)', ("tests/components/aws/test_storage.py",)),
    Mutation(
        "components/aws/instances.py",
        "return instance.owner == owner if instance.owner else instance.template in templates",
        "return instance.owner == owner or instance.template in templates",
        ("tests/components/aws/test_discovery.py",),
    ),
    Mutation("components/aws/template.py", '"http_put_response_hop_limit": 1,', '"http_put_response_hop_limit": 2,', ("tests/components/aws/test_compute.py",)),
    Mutation(
        "components/aws/security.py",
        "ingress = self._from_outside() if self.balancer is None else",
        "ingress = self._from_outside() if self.balancer is not None else",
        ("tests/components/aws/test_network.py",),
    ),
    Mutation(
        "components/aws/adopt.py",
        "wanted.items() <= tags.items() and KEPT_TAG not in tags",
        "wanted.items() <= tags.items()",
        ("tests/components/aws/test_adopt.py",),
    ),
    Mutation(
        "components/aws/removal.py",
        'if one["type"] == CONTROLLER and _part(one) == CONTROL]',
        'if one["type"] == CONTROLLER]',
        ("tests/components/aws/test_removal.py",),
    ),
    # Kubernetes
    Mutation(
        "components/kubernetes/quotas.py",
        "min(limits[name] - owned[name], int(left * parts[name] / whole))",
        "int(left * parts[name] / whole)",
        ("tests/components/kubernetes/test_queues.py",),
    ),
    Mutation("components/kubernetes/queues.py", 'if taint.effect != "PreferNoSchedule"]', "]", ("tests/components/kubernetes/test_queues.py",)),
    Mutation(
        "components/kubernetes/queues.py",
        'PRIVILEGED if any(one.fabric for one in node_sets) else "baseline"',
        "PRIVILEGED",
        ("tests/components/kubernetes/test_queues.py",),
    ),
    Mutation("components/kubernetes/queues.py", "write(quota.most - quota.owned)", "write(quota.most)", ("tests/components/kubernetes/test_queues.py",)),
    Mutation(
        "components/kubernetes/submission.py",
        "(own is None or own > allowed)",
        "(own is not None and own > allowed)",
        ("tests/components/kubernetes/test_jobs.py",),
    ),
    Mutation("components/kubernetes/queues.py", "dyn(object).?spec.?labels, ", "", ("tests/components/kubernetes/test_queues.py",)),
    Mutation("components/kubernetes/queues.py", '"resources": [*resources]}', '"resources": [resources[0]]}', ("tests/components/kubernetes/test_queues.py",)),
    Mutation("components/kubernetes/jobs.py", 'for word in ("-x", name)]', "for word in ()]", ("tests/components/kubernetes/test_jobs.py",)),
    Mutation(
        "playbooks/filter_plugins/kubernetes_tables.py",
        'RACK = "clusterwright.io/rack"',
        'RACK = "topology.kubernetes.io/rack"',
        ("tests/playbooks/test_kubernetes_tables.py",),
    ),
    Mutation("playbooks/roles/kube_health/files/node_health.py", "or not is_emptied(node)", "", ("tests/playbooks/test_kube_health.py",)),
    # Servers that exist already
    Mutation(
        "components/metal/hosts.py",
        "if len(inputs.members) - len(silent) < inputs.least:",
        "if len(inputs.members) - len(silent) <= inputs.least:",
        ("tests/components/metal/test_hosts.py",),
    ),
    Mutation("components/metal/hosts.py", "if name in released or (seen is None", "if (seen is None", ("tests/components/metal/test_hosts.py",)),
    Mutation(
        "components/metal/connection.py",
        "return self.trouble in (Trouble.UNREACHABLE, Trouble.HANGS)",
        "return self.trouble is Trouble.UNREACHABLE",
        ("tests/components/metal/test_connection.py",),
    ),
    Mutation(
        "components/metal/connection.py",
        '"-o", "StrictHostKeyChecking=yes"',
        '"-o", "StrictHostKeyChecking=no"',
        ("tests/components/metal/test_connection.py",),
    ),
    Mutation("components/metal/services.py", "or address in hosts.values():", "or False:", ("tests/components/metal/test_services.py",)),
    # Rebuilds and snapshots
    Mutation(
        "stacks/rebuild/plan.py",
        "if host.role in _ONE_BY_ONE), key=lambda host: _natural(host.name), reverse=True))",
        "if host.role in _ONE_BY_ONE), key=lambda host: _natural(host.name)))",
        ("tests/stacks/test_rebuild.py",),
    ),
    Mutation("stacks/rebuild/plan.py", "control.count == 1 else None", "control.count == 3 else None", ("tests/stacks/test_rebuild.py",)),
    Mutation("components/local/pool.py", "seen.image != image and not keeps_disks", "seen.image != image", ("tests/components/local/test_plan.py",)),
    Mutation(
        "stacks/rebuild/order.py",
        "if requeues and job.requeues and job.id not in requeued]",
        "if requeues and job.requeues]",
        ("tests/stacks/test_rebuild.py",),
    ),
    Mutation("components/metal/rebuild.py", "if role not in HANDED_OVER)", "if role in HANDED_OVER)", ("tests/stacks/test_rebuild.py",)),
    Mutation(
        "components/aws/agent.py",
        '"gpgv --keyring ./key.gpg agent.deb.sig agent.deb",',
        '"gpgv --keyring ./key.gpg agent.deb.sig agent.deb || true",',
        ("tests/components/aws/test_agent.py",),
    ),
    Mutation(
        "stacks/rebuild/restart.py",
        "now is None or now.get(name) == self.before[name]",
        "now is None or name in now",
        ("tests/stacks/test_rebuild.py",),
    ),
    Mutation(
        "stacks/rebuild/pods.py", 'if owner is None or owner["kind"] == "Job":', 'if owner and owner["kind"] == "Job":', ("tests/apiserver/test_rebuild.py",)
    ),
    Mutation(
        "stacks/snapshots/snapshot.py",
        "key=lambda one: (one.file, one.host), reverse=True",
        "key=lambda one: (one.host, one.file), reverse=True",
        ("tests/stacks/test_restore.py",),
    ),
    # Stacks
    Mutation(
        "stacks/rolling/order.py",
        'if units[name] == {GUARD_UNIT: "active", DAEMON_UNIT: "active"} and now[name].is_answering',
        "if now[name].is_answering",
        ("tests/stacks/test_rolling_order.py",),
    ),
    Mutation(
        "stacks/engine/locks.py", 'if lock["hostname"] != socket.gethostname() or _is_alive(lock):', "if _is_alive(lock):", ("tests/stacks/test_lock.py",)
    ),
    Mutation(
        "stacks/engine/deployment.py",
        'if one["type"] == kind and one.get("id") and not one.get("pendingReplacement")',
        'if one["type"] == kind and one.get("id")',
        ("tests/stacks/test_recovery.py",),
    ),
    Mutation(
        "stacks/drift/ignore.py",
        "return self.until is not None and self.until < day",
        "return self.until is not None and self.until <= day",
        ("tests/drift/test_filters.py",),
    ),
    Mutation("stacks/drift/ignore.py", "finding.values.digest == self.digest", "finding.values.digest", ("tests/drift/test_filters.py",)),
    Mutation("playbooks/library/server_software.py", "    disable(quiet)", "    disable([])", ("tests/playbooks/test_server_software.py",)),
    Mutation(
        "stacks/drift/fix/planning.py",
        "if not step.is_quiet or isinstance(step.action, Switch))",
        "if isinstance(step.action, Finish))",
        ("tests/drift/test_fix.py",),
    ),
    Mutation("stacks/drift/fix/planning.py", "elif _is_of_roll(finding, cluster):", "elif False:", ("tests/drift/test_fix.py",)),
    Mutation("stacks/drift/repair.py", "becoming=becoming or known.cluster,", "becoming=known.cluster,", ("tests/stacks/test_convergence.py",)),
    Mutation(
        "playbooks/library/host_changes.py",
        "if _version(before, name) != _version(recorded, name) and",
        "if",
        ("tests/playbooks/test_host_changes.py",),
    ),
    Mutation(
        "components/inspection/servers.py",
        "key=lambda name: not present[name]",
        "key=lambda name: present[name]",
        ("tests/drift/test_interfaces_of_servers.py",),
    ),
    Mutation("stacks/drift/fix/kernel.py", " or usual == NOTHING:", ":", ("tests/drift/test_fix.py",)),
    Mutation("stacks/drift/fix/kernel.py", "names.TIME_ZONE.fullmatch(usual)", "usual", ("tests/drift/test_fix.py",)),
    Mutation("stacks/drift/fix/exposure.py", "chmod -- u-s,g-s", "chmod -- u-s", ("tests/drift/test_fix_files.py",)),
    Mutation(
        "components/kubernetes/acceptance.py",
        'inspection_results.repaired_after(str(found["began"]), inspection_results.received() or {})',
        '""',
        ("tests/components/kubernetes/test_acceptance_record.py",),
    ),
    Mutation(
        "stacks/drift/repair.py",
        "fnmatch.fnmatchcase(finding.code, code) and",
        "fnmatch.fnmatchcase(finding.code, code) or",
        ("tests/stacks/test_convergence.py",),
    ),
    Mutation(
        "stacks/drift/repair.py",
        "return set() if self.despite_jobs else",
        "return set() if not self.despite_jobs else",
        ("tests/stacks/test_convergence.py",),
    ),
    Mutation(
        "stacks/drift/repair.py",
        "kinds = frozenset(fix.Kind) if selection.only and selection.kinds is None else selection.kinds",
        "kinds = selection.kinds",
        ("tests/stacks/test_convergence.py",),
    ),
    Mutation(
        "stacks/drift/convergence.py",
        "repair.Selection(frozenset(fix.Kind) - step.REMOVING)",
        "repair.Selection(frozenset(fix.Kind) - step.BY_NAME_ONLY)",
        ("tests/stacks/test_convergence.py",),
    ),
    Mutation(
        "stacks/drift/convergence.py",
        "found.repair.unreachable or (outcome and repair.unreachable(outcome.checked))",
        "found.repair.unreachable",
        ("tests/stacks/test_convergence.py",),
    ),
    Mutation("stacks/drift/convergence.py", "if waiting and ask(waiting) else found", "if waiting else found", ("tests/stacks/test_convergence.py",)),
    Mutation("stacks/drift/convergence.py", "    if last and last.repair:", "    if last and not last.repair:", ("tests/stacks/test_convergence.py",)),
    Mutation("stacks/drift/convergence.py", " and state.outputs(stack) == self.outputs", "", ("tests/stacks/test_convergence.py",)),
    Mutation("stacks/drift/convergence.py", "hosts.setdefault(str(one.action), [])", "hosts.setdefault(one.host, [])", ("tests/stacks/test_convergence.py",)),
    Mutation(
        "stacks/acceptance/history.py",
        "repaired_hosts.read(stack)))",
        "{}))",
        ("tests/stacks/test_acceptance_history.py",),
    ),
    Mutation("stacks/render/summary.py", "filter(None, (known.repaired, *of_nodes))", "filter(None, of_nodes)", ("tests/stacks/test_summary.py",)),
    Mutation("stacks/drift/fix/planning.py", "(busy is None or step.host in busy)", "(busy is not None and step.host in busy)", ("tests/drift/test_fix.py",)),
    Mutation("components/inspection/slurm/nodes.py", "if states & ASLEEP or _is_own(live):", "if states & ASLEEP:", ("tests/drift/test_scheduler.py",)),
    Mutation("components/inspection/hosts/files.py", 'if recorded["kind"] != actual["kind"]:', "if False:", ("tests/drift/test_hosts.py",)),
    Mutation(
        "components/inspection/causes.py", "if of_hosts and all(of_hosts):", "if of_hosts and any(of_hosts):", ("tests/components/inspection/test_causes.py",)
    ),
    Mutation("components/inspection/ssh.py", '"StrictHostKeyChecking": "yes"', '"StrictHostKeyChecking": "no"', ("tests/components/inspection/test_ssh.py",)),
    Mutation(
        "components/inspection/program/digests.py",
        "if isinstance(remembered, list) and remembered[0] == inode:",
        "if isinstance(remembered, list) and remembered[0][1:] == inode[1:]:",
        ("tests/components/inspection/test_digests.py",),
    ),
    # What runs on hosts
    Mutation("playbooks/roles/guard/files/node_looks.py", "min(files, on_bus, driven)", "min(files, on_bus)", ("tests/playbooks/test_guard.py",)),
    Mutation(
        "playbooks/roles/guard/files/diagnostics.py", 'int(entry["__MONOTONIC_TIMESTAMP"]) <= since_us', "False", ("tests/playbooks/test_diagnostics.py",)
    ),
    Mutation(
        "playbooks/roles/guard/files/diagnostics.py",
        'return state["streaks"].get(one["what"], 0) + 1 >= int(one.get("looks", 1))',
        "return True",
        ("tests/playbooks/test_diagnostics.py",),
    ),
    Mutation("playbooks/roles/guard/files/diagnostics.py", 'if before["rate"] and not active:', "if not active:", ("tests/playbooks/test_diagnostics.py",)),
    Mutation(
        "playbooks/roles/guard/files/node_looks.py",
        """if len(tried) >= limits["a_day"] or any(now - one < limits["every_s"] for one in tried):""",
        """if len(tried) >= limits["a_day"]:""",
        ("tests/playbooks/test_health.py",),
    ),
    Mutation(
        "playbooks/roles/acceptance/files/acceptance/judge.py",
        "* 2 * (processes - 1) / processes",
        "* 2 * (processes - 1)",
        ("tests/playbooks/test_acceptance_judge.py",),
    ),
    Mutation(
        "playbooks/roles/slurm_config/filter_plugins/slurm_tables.py",
        'if sizes == "equal" and len(counts) > 1:',
        "if False:",
        ("tests/playbooks/test_slurm_tables.py",),
    ),
    Mutation(
        "components/gcp/neighbours.py",
        ' and not own.items() <= one.get("labels", {}).items():',
        ":",
        ("tests/components/gcp/test_existing_subnets.py::test_a_drift_check_names_machines_of_others_in_the_hosts_subnet",),
    ),
    Mutation("playbooks/library/fitting_set.py", 'elif module["release"] != kernel:', "elif False:", ("tests/playbooks/test_fitting_set.py",)),
    Mutation("playbooks/library/slurm_accounting.py", "* 60 + minutes + (seconds > 0))", "* 60 + minutes)", ("tests/playbooks/test_modules.py",)),
    # How a cluster is composed
    Mutation(
        "components/cluster.py",
        "(*of_slurm, *of_kubernetes)) or",
        "of_kubernetes) or",
        ("tests/components/test_registry.py",),
    ),
    Mutation(
        "components/contract.py",
        "return dataclasses.replace(self, described=waiting)",
        "return self",
        ("tests/contract/test_conformance.py::test_resources_are_deleted_in_an_order_that_works",),
    ),
    Mutation(
        "components/registry.py", "if target in TARGETS and TARGETS[target].package else", "if target in TARGETS else", ("tests/components/test_registry.py",)
    ),
    Mutation(
        "components/schedulers/slurm.py",
        "boots = pulumi.Output.all(*(hosts.boots for hosts in (control, site.login, *site.pools)))",
        "boots = pulumi.Output.all(*(hosts.boots for hosts in (control, site.login)))",
        ("tests/components/test_program.py",),
    ),
    Mutation(
        "components/schedulers/kubernetes.py",
        "self._finish(pool, {**shared, **of_pool}, after=[finished])",
        "self._finish(pool, {**shared, **of_pool})",
        ("tests/contract/test_conformance.py::test_resources_are_deleted_in_an_order_that_works",),
    ),
    Mutation("components/aws/offerings/slurm_hosts.py", "after=[*attached, *login.reached_by]", "after=attached", ("tests/components/aws/test_hosts.py",)),
    Mutation(
        "components/bootstrap/cloud_init.py",
        "for mount in config.mounts if not (mount.is_disk or mount.is_late)]",
        "for mount in config.mounts]",
        ("tests/components/test_bootstrap.py",),
    ),
    # What users and hosts are told
    Mutation("blueprints/spec/views.py", 'if one.scheduler == "slurm" and one.collectives', "if one.collectives", ("tests/blueprints/spec/test_views.py",)),
    Mutation("blueprints/spec/views.py", "if set(spec.acceptance) >= GATED else", "if spec.acceptance else", ("tests/blueprints/spec/test_views.py",)),
    Mutation("stacks/render/plan_nodes.py", "if one.chosen and one.hosts.machine.name != cluster.target:", "if one.chosen:", ("tests/stacks/test_plan.py",)),
    Mutation(
        "stacks/cli/options.py",
        "namespace.stack, namespace.applies = values, True",
        "namespace.stack = values",
        ("tests/stacks/test_selection.py",),
    ),
)
