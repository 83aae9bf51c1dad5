"""The form of tables of codes: one row for each code, with its level, what it means and what to do."""

import enum
from typing import Self

from .finding import Level

_ABBREVIATIONS = {
    "cidr": "CIDR", "gpu": "GPU", "gpus": "GPUs", "ldap": "LDAP", "mig": "MIG", "munge": "MUNGE", "nic": "NIC", "qos": "QOS", "ssh": "SSH", "uid": "UID",
    "yaml": "YAML", "kubernetes": "Kubernetes", "slurm": "Slurm",
}  # fmt: skip


class FindingCode(enum.StrEnum):
    """A code, whose text is the value (`CW520`). A table of codes is a subclass with a member for each."""

    levels: tuple[Level, ...]
    """The levels that findings of this code can have, the usual one first."""
    meaning: str
    """What was found, in one line."""
    remedy: str
    """What to do, whatever the finding's own remedy adds."""

    def __new__(cls, text: str, levels: Level | tuple[Level, ...], meaning: str, remedy: str) -> Self:
        member = str.__new__(cls, text)
        member._value_ = text
        member.levels = (levels,) if isinstance(levels, Level) else levels
        member.meaning = meaning
        member.remedy = remedy
        return member

    @property
    def level(self) -> Level:
        """The usual level."""
        return self.levels[0]

    @property
    def label(self) -> str:
        """The member's name in words: `Region unknown`."""
        words = [_ABBREVIATIONS.get(word, word) for word in self.name.lower().split("_")]
        return " ".join([words[0][:1].upper() + words[0][1:], *words[1:]])
