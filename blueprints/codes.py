"""Every code a blueprint's finding can carry, with its meaning in one line. A code is stable: it is never given a second meaning.

CW1xx: the file can't be read as plain YAML; CW2xx: a key or value is not in the language; CW3xx: the words are right but this target, catalogue or
network can't give what they ask for; CW4xx: parts of the blueprint contradict each other.
"""

import enum
from typing import Self


class Code(enum.StrEnum):
    """One code; its text is the value (`CW101`), `meaning` says what it stands for."""

    meaning: str

    def __new__(cls, text: str, meaning: str) -> Self:
        member = str.__new__(cls, text)
        member._value_ = text
        member.meaning = meaning
        return member

    # Reading the file.
    FILE_MISSING = "CW101", "the blueprint's file does not exist"
    FILE_UNREADABLE = "CW102", "the blueprint's file exists but can't be read (a folder, no permission, not a plain file)"
    FILE_TOO_LARGE = "CW103", "the file is larger than a blueprint may be"
    FILE_EMPTY = "CW104", "the file holds no blueprint"
    ENCODING = "CW105", "the file is not text in UTF-8"
    BYTE_ORDER_MARK = "CW106", "the file begins with a byte order mark"
    CONTROL_CHARACTER = "CW107", "the file holds characters that text doesn't have"
    YAML_SYNTAX = "CW110", "the file is not YAML"
    TAB = "CW111", "a tab where YAML wants spaces"
    DUPLICATE_KEY = "CW112", "the same key twice in one mapping"
    ALIAS = "CW113", "an anchor, alias or merge key"
    TAG = "CW114", "a YAML tag"
    SEVERAL_DOCUMENTS = "CW115", "more than one document in the file"
    KEY_NOT_TEXT = "CW116", "a key that is a mapping or a list"
    TOO_DEEP = "CW117", "values nested deeper than any blueprint needs"
    BLUEPRINT_UNKNOWN = "CW120", "no blueprint of this name in the library"
    OVERRIDE_PATH = "CW121", "a stack setting names a place that the blueprint doesn't have"
    OVERRIDE_VALUE = "CW122", "a stack setting holds a value that no blueprint could hold"

    # The language: keys, types, values that can be judged alone.
    KEY_UNKNOWN = "CW201", "a key that the language doesn't have"
    KEY_MISSING = "CW202", "a required key is missing"
    TYPE_WRONG = "CW203", "a value of the wrong type"
    CHOICE_UNKNOWN = "CW204", "a word that is not one of the allowed ones"
    NUMBER_OUT_OF_RANGE = "CW205", "a number outside its range"
    EMPTY = "CW206", "a mapping or text that must not be empty is"
    NAME_FORM = "CW210", "a name with characters that names don't have"
    NAME_LENGTH = "CW211", "a name too long for a place where it ends up"
    NAME_RESERVED = "CW212", "a name that the system uses itself"
    MOUNT_FORM = "CW213", "a mount point that is not an absolute, plain path"
    MOUNT_RESERVED = "CW214", "a mount point that hides a folder of the operating system"
    UID_RESERVED = "CW215", "a user number outside those for people"
    TIME_FORM = "CW216", "a time limit that Slurm can't read"
    SIZE_FORM = "CW217", "a size that can't be read"
    SSH_KEY_FORM = "CW218", "not an OpenSSH public key"
    SSH_KEY_PRIVATE = "CW219", "a private key where a public one belongs"
    CIDR_FORM = "CW220", "not an IPv4 network"
    TEXT_FORM = "CW221", "text with line breaks or control characters"

    # Resolving: target, catalogue, addresses.
    TARGET_UNKNOWN = "CW301", "no target of this name"
    TARGET_NOT_BUILT = "CW302", "a target that is planned and not built yet"
    SCHEDULER_NOT_BUILT = "CW303", "a scheduler that is planned and not built yet"
    SOFTWARE_UNKNOWN = "CW304", "no software profile of this name in the catalogue"
    ACCELERATOR_UNKNOWN = "CW305", "no accelerator of this name in the catalogue"
    GPU_COUNT_MISSING = "CW306", "an accelerator without a count, or a count without an accelerator"
    GPU_COUNT_UNKNOWN = "CW307", "a number of GPUs in one node that no known machine has"
    CIDR_NOT_PRIVATE = "CW310", "a network outside the private address ranges"
    CIDR_SIZE = "CW311", "a network larger or smaller than the address plan can use"
    CIDR_TOO_SMALL = "CW312", "a network with too few addresses for the hosts"
    CLUSTER_TOO_LARGE = "CW313", "more hosts than the largest network holds"

    # Checking the parts against each other.
    ACCOUNT_UNKNOWN = "CW401", "a user in an account that the blueprint doesn't have"
    UID_DUPLICATE = "CW402", "two users with one number"
    HOME_MISSING = "CW403", "users without shared homes"
    MOUNT_DUPLICATE = "CW410", "two file systems at one mount point"
    MOUNT_NESTED = "CW411", "a file system mounted inside another"
    DEFAULT_PARTITIONS = "CW420", "more than one default partition"
    POOL_LIKE_HOST = "CW421", "a pool named like a host"
