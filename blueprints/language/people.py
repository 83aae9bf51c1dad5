"""People: accounts, users, and what they may use."""

from pydantic import Field

from .section import AccountReference, CloudIdentity, PublicKey, QosReference, Section, Text, TimeLimit, Uid


class Limits(Section):
    """What the running jobs of an account may use."""

    gpus: int | None = Field(default=None, ge=0, le=1_000_000, description="GPUs of all running jobs.")
    nodes: int | None = Field(default=None, ge=0, le=1_000_000, description="Nodes of all running jobs.")
    jobs: int | None = Field(default=None, ge=0, le=1_000_000, description="Jobs running at the same time.")


class Account(Section):
    """An account of the scheduler: users who share charges and limits."""

    description: Text = Field(default="", description="One line for reports.")
    parent: str | None = Field(default=None, description="The parent account.")
    share: int = Field(
        default=1,
        ge=1,
        le=1_000_000,
        description="Its share of the cluster among the accounts of the same parent (Slurm's Fairshare). Recent use compared with the share adds up to 1000 to a job's priority.",
    )
    limits: Limits = Field(default=Limits())
    qos: tuple[QosReference, ...] = Field(
        default=(),
        strict=False,
        max_length=200,
        description="QOS that its jobs may use; the first one is the default. Without a list, those of the parent account, or else all QOS with `normal` as the default.",
    )


class Qos(Section):
    """A quality of service (QOS): priority and limits that a job chooses by name."""

    priority: int = Field(default=0, ge=0, le=1_000_000, description="Added to the priority of its jobs.")
    max_time: TimeLimit = Field(default="UNLIMITED", description="The maximum run time of a job.")
    gpus_per_user: int | None = Field(default=None, ge=1, le=1_000_000, description="GPUs of one user's running jobs.")
    jobs_per_user: int | None = Field(default=None, ge=1, le=1_000_000, description="Running jobs of one user.")
    preempts: tuple[QosReference, ...] = Field(
        default=(),
        strict=False,
        max_length=200,
        description="QOS whose jobs this one preempts: batch jobs are requeued, others are cancelled.",
    )


class User(Section):
    """A user with the same UID on every host."""

    uid: Uid = Field(description="UID, and GID of the user's own group.")
    account: str = Field(description="The default account of the user's jobs.")
    accounts: tuple[AccountReference, ...] = Field(default=(), strict=False, max_length=2_000, description="Further accounts that the user's jobs may name.")
    admin: bool = Field(default=False, description="May administer the scheduler and become root (`sudo`) on all hosts.")
    ssh_keys: tuple[PublicKey, ...] = Field(
        default=(), strict=False, max_length=100, description="OpenSSH public keys, one line each. Without any, the stack creates a key pair."
    )
    cloud_identity: CloudIdentity | None = Field(
        default=None,
        description="With `access.os_login`: the user's Google Account (`ada@example.org`). Google Cloud then decides who logs in, with the keys of that account.",
    )
