"""People: accounts, users, and what they may use."""

from pydantic import Field

from .section import AccountReference, PublicKey, QosReference, Section, Text, TimeLimit, Uid


class Limits(Section):
    """What an account may use at one time."""

    gpus: int | None = Field(default=None, ge=0, le=1_000_000, description="GPUs of all its running jobs together.")
    nodes: int | None = Field(default=None, ge=0, le=1_000_000, description="Nodes of all its running jobs together.")
    jobs: int | None = Field(default=None, ge=0, le=1_000_000, description="Jobs that run at one time.")


class Account(Section):
    """An account of the scheduler: who is charged and limited together."""

    description: Text = Field(default="", description="One line for reports.")
    parent: str | None = Field(default=None, description="The account that this one is part of.")
    share: int = Field(
        default=1,
        ge=1,
        le=1_000_000,
        description="Its part of the cluster beside accounts of the same parent (Slurm's fair share). What was used lately decides who comes first: it adds up to 1000 to a job's priority.",
    )
    limits: Limits = Field(default=Limits())
    qos: tuple[QosReference, ...] = Field(
        default=(),
        strict=False,
        max_length=200,
        description="Qualities of service that its jobs may have; one that names none has the first. Left out, they are those of the account it is part of, or else all, `normal` first.",
    )


class Qos(Section):
    """A quality of service: priority and limits that a job chooses by name."""

    priority: int = Field(default=0, ge=0, le=1_000_000, description="Added to the priority of its jobs.")
    max_time: TimeLimit = Field(default="UNLIMITED", description="The longest one of its jobs may run.")
    gpus_per_user: int | None = Field(default=None, ge=1, le=1_000_000, description="GPUs of one user's running jobs.")
    jobs_per_user: int | None = Field(default=None, ge=1, le=1_000_000, description="Jobs of one user that run at one time.")
    preempts: tuple[QosReference, ...] = Field(
        default=(),
        strict=False,
        max_length=200,
        description="Qualities of service whose jobs are stopped when one of these needs the place: batch jobs start over later, others are cancelled.",
    )


class User(Section):
    """A person with the same user number on every host."""

    uid: Uid = Field(description="The user's and the user's group's number.")
    account: str = Field(description="The account that jobs are charged to unless they name another.")
    accounts: tuple[AccountReference, ...] = Field(default=(), strict=False, max_length=2_000, description="Further accounts that jobs may name.")
    admin: bool = Field(default=False, description="May administer the scheduler and become root (`sudo`) on all hosts.")
    ssh_keys: tuple[PublicKey, ...] = Field(
        default=(), strict=False, max_length=100, description="OpenSSH public keys, one line each. With none, the stack makes a key pair."
    )
