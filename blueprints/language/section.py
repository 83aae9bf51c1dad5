"""What every part of the language is built from: sections whose unknown keys are refused, and texts that are checked where they stand."""

from typing import Annotated, Any

import pydantic
from pydantic import Discriminator, Tag

from . import addresses, names, schema_patterns, values

FORMS = ("\x00short", "\x00long")
"""Names by which pydantic tells which form of a value it has; a key of a blueprint can't be one, as no text of it can hold their first character."""


class Section(pydantic.BaseModel):
    """A mapping of the language. Keys that it doesn't have are refused, types are never converted, and a key left empty means `{}`; a mapping or list
    left empty has no entries.

    A section's docstring is its description, for messages, schema and reference alike.
    """

    model_config = pydantic.ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    @pydantic.model_validator(mode="before")
    @classmethod
    def _empty(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return {} if given is None else given
        left_empty = {key for key, value in given.items() if value is None and key in cls.model_fields and cls.model_fields[key].default in ({}, ())}
        return {key: value for key, value in given.items() if key not in left_empty} if left_empty else given


def _empty_mapping(given: Any) -> Any:
    return {} if given is None else given


OrEmpty = pydantic.BeforeValidator(_empty_mapping)
"""A mapping that may be left empty."""


def _form(given: Any) -> str:
    """Say which form a value has that may be written short (one word or number) or as a mapping."""
    return FORMS[1] if isinstance(given, dict | Section) else FORMS[0]


Short, Long = (Tag(form) for form in FORMS)
ShortOrLong = Discriminator(_form)
"""`Annotated[Annotated[int, Short] | Annotated[Range, Long], ShortOrLong]`: `nodes: 16` or `nodes: {min: 0, max: 16}`."""


def _number_as_text(given: Any) -> Any:
    """YAML reads `60` as a number. Slurm reads it as minutes, and a size without a unit is told as the size that was probably meant."""
    return str(given) if isinstance(given, int | float) and not isinstance(given, bool) else given


number_as_text = pydantic.BeforeValidator(_number_as_text)


def _checked(check: Any) -> pydantic.AfterValidator:
    """Refuse what a parsing function refuses, and keep the text as it is written."""

    def keep(text: Any) -> Any:
        check(text)
        return text

    return pydantic.AfterValidator(keep)


def _joined(given: Any) -> Any:
    return ",".join(given) if isinstance(given, list | tuple) and all(isinstance(one, str) and one for one in given) else given


Text = Annotated[str, pydantic.AfterValidator(values.plain_text), schema_patterns.TEXT]
Reason = Annotated[str, pydantic.AfterValidator(values.reason), schema_patterns.REASON]
TimeLimit = Annotated[str, number_as_text, pydantic.AfterValidator(values.time_limit), schema_patterns.TIME_LIMIT]
Memory = Annotated[str, number_as_text, _checked(values.memory_mib), schema_patterns.MEMORY]
Size = Annotated[str, number_as_text, _checked(values.size_gib), schema_patterns.SIZE]
Rolling = Annotated[str, number_as_text, pydantic.AfterValidator(values.rolling), schema_patterns.ROLLING]
Throughput = Annotated[str, number_as_text, _checked(values.throughput), schema_patterns.THROUGHPUT]
Date = Annotated[str, _checked(values.date), schema_patterns.DATE]
ClockTime = Annotated[str, _checked(values.clock_time), schema_patterns.CLOCK_TIME]
MountPoint = Annotated[str, pydantic.AfterValidator(values.mount_point), schema_patterns.MOUNT_POINT]
Cidr = Annotated[str, pydantic.AfterValidator(values.network), schema_patterns.CIDR]
PublicKey = Annotated[str, pydantic.AfterValidator(values.public_key), schema_patterns.PUBLIC_KEY]
Bucket = Annotated[str, pydantic.AfterValidator(values.bucket), schema_patterns.BUCKET]
Identifier = Annotated[str, pydantic.AfterValidator(values.identifier), schema_patterns.IDENTIFIER]
SoftwareVersion = Annotated[str, pydantic.AfterValidator(values.software_version), schema_patterns.SOFTWARE_VERSION]
MountSource = Annotated[str, pydantic.AfterValidator(values.mount_source), schema_patterns.MOUNT_SOURCE]
CatalogName = Annotated[str, pydantic.AfterValidator(values.identifier), schema_patterns.IDENTIFIER]
MigProfile = Annotated[str, pydantic.AfterValidator(values.mig_profile), schema_patterns.MIG_PROFILE]
ArchiveAddress = Annotated[str, pydantic.AfterValidator(values.archive_address), schema_patterns.ARCHIVE_ADDRESS]
WebhookAddress = Annotated[str, pydantic.AfterValidator(values.webhook), schema_patterns.WEBHOOK]
KeyFingerprint = Annotated[str, number_as_text, pydantic.AfterValidator(values.key_fingerprint), schema_patterns.KEY_FINGERPRINT]
RegistryName = Annotated[str, pydantic.AfterValidator(values.registry), schema_patterns.REGISTRY]
FindingCode = Annotated[str, pydantic.AfterValidator(values.finding_code), schema_patterns.FINDING_CODE]
DottedPath = Annotated[str, pydantic.AfterValidator(values.dotted_path), schema_patterns.DOTTED_PATH]
HostKey = Annotated[str, pydantic.AfterValidator(addresses.host_key), schema_patterns.HOST_KEY]
Ipv4 = Annotated[str, pydantic.AfterValidator(addresses.ipv4), schema_patterns.IPV4]
HostAddress = Annotated[str, pydantic.AfterValidator(addresses.host), schema_patterns.HOST_ADDRESS]
InterfaceAddress = Annotated[str, pydantic.AfterValidator(addresses.interface), schema_patterns.INTERFACE_ADDRESS]
BmcAddress = Annotated[str, pydantic.AfterValidator(addresses.bmc), schema_patterns.HOST_ADDRESS]
AddressRange = Annotated[str, _checked(addresses.first_of_range), schema_patterns.ADDRESS_RANGE]
Fingerprint = Annotated[str, pydantic.AfterValidator(addresses.fingerprint), schema_patterns.FINGERPRINT]
Mac = Annotated[str, pydantic.AfterValidator(addresses.mac), schema_patterns.MAC]
PartitionKey = Annotated[str, pydantic.AfterValidator(addresses.partition_key), schema_patterns.PARTITION_KEY]
HostName = Annotated[str, pydantic.AfterValidator(names.host), schema_patterns.HOST_NAME]
InterfaceName = Annotated[str, pydantic.AfterValidator(names.interface), schema_patterns.INTERFACE_NAME]
LinuxUser = Annotated[str, pydantic.AfterValidator(names.linux_user), schema_patterns.LINUX_USER]
HostList = Annotated[str, pydantic.BeforeValidator(_joined), pydantic.AfterValidator(names.host_list), schema_patterns.HOST_LIST]
"""Names of hosts: a Slurm host list, or a list of them, which becomes one text."""
Uid = Annotated[int, pydantic.AfterValidator(names.uid), schema_patterns.UID]
ClusterName = Annotated[str, pydantic.AfterValidator(names.cluster), schema_patterns.CLUSTER]
PoolName = Annotated[str, pydantic.AfterValidator(names.pool), schema_patterns.POOL]
StorageName = Annotated[str, pydantic.AfterValidator(names.storage), schema_patterns.STORAGE]
AccountName = Annotated[str, pydantic.AfterValidator(names.account), schema_patterns.ACCOUNT]
QosName = Annotated[str, pydantic.AfterValidator(names.qos), schema_patterns.QOS]
AccountReference = Annotated[str, pydantic.AfterValidator(values.identifier), schema_patterns.IDENTIFIER]
"""An account as others name it: `root`, which Slurm makes itself, too."""
QosReference = Annotated[str, pydantic.AfterValidator(values.identifier), schema_patterns.IDENTIFIER]
"""A quality of service as others name it: `normal`, which Slurm makes itself, too."""
CloudIdentity = Annotated[str, pydantic.AfterValidator(names.cloud_identity), schema_patterns.CLOUD_IDENTITY]
UserName = Annotated[str, pydantic.AfterValidator(names.user), schema_patterns.USER]
LabelKey = Annotated[str, pydantic.AfterValidator(names.label), schema_patterns.LABEL_KEY]
LabelValue = Annotated[str, pydantic.AfterValidator(names.label_value), schema_patterns.LABEL_VALUE]
TagKey = Annotated[str, pydantic.AfterValidator(names.tag), schema_patterns.TAG_KEY]
