"""Accounts, qualities of service and users."""

from .. import language, spec


def accounts(blueprint: language.Blueprint) -> tuple[spec.Account, ...]:
    """Resolve all accounts with their users, including users who have them as an additional account."""
    return tuple(
        spec.Account(
            name=name,
            description=entry.description,
            users=_members(blueprint, name),
            parent=entry.parent,
            share=entry.share,
            most_gpus=entry.limits.gpus,
            most_nodes=entry.limits.nodes,
            most_jobs=entry.limits.jobs,
            qos=entry.qos,
        )
        for name, entry in blueprint.accounts.items()
    )


def users(blueprint: language.Blueprint, *, has_os_login: bool) -> tuple[spec.User, ...]:
    """Resolve users.

    Args:
        has_os_login: the cloud decides who logs in.
    """
    return tuple(
        spec.User(
            name,
            entry.uid,
            entry.account,
            entry.ssh_keys,
            accounts=entry.accounts,
            admin=entry.admin,
            cloud_identity=(entry.cloud_identity or "") if has_os_login else "",
        )
        for name, entry in blueprint.users.items()
    )


def qualities(blueprint: language.Blueprint) -> tuple[spec.Qos, ...]:
    return tuple(
        spec.Qos(
            name=name,
            priority=entry.priority,
            max_time=entry.max_time,
            gpus_per_user=entry.gpus_per_user,
            jobs_per_user=entry.jobs_per_user,
            preempts=entry.preempts,
        )
        for name, entry in blueprint.qos.items()
    )


def _members(blueprint: language.Blueprint, account: str) -> tuple[str, ...]:
    return tuple(name for name, user in blueprint.users.items() if account in (user.account, *user.accounts))
