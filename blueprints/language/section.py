"""What every part of the language is built from: sections whose unknown keys are refused, and texts that are checked where they stand."""

from typing import Annotated, Any

import pydantic
from pydantic import Discriminator, Tag

from . import forms, names, values

FORMS = ("\x00short", "\x00long")
"""Names by which pydantic tells which form of a value it has; a key of a blueprint can't be one, as no text of it can hold their first character."""


class Section(pydantic.BaseModel):
    """A mapping of the language. Keys that it doesn't have are refused, types are never converted, and a key left empty means `{}`.

    A section's docstring is its description, for messages, schema and reference alike.
    """

    model_config = pydantic.ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    @pydantic.model_validator(mode="before")
    @classmethod
    def _empty(cls, given: Any) -> Any:
        return {} if given is None else given


def _form(given: Any) -> str:
    """Say which form a value has that may be written short (one word or number) or as a mapping."""
    return FORMS[1] if isinstance(given, dict | Section) else FORMS[0]


Short, Long = (Tag(form) for form in FORMS)
ShortOrLong = Discriminator(_form)
"""`Annotated[Annotated[int, Short] | Annotated[Range, Long], ShortOrLong]`: `nodes: 16` or `nodes: {min: 0, max: 16}`."""


def _number_as_text(given: Any) -> Any:
    """YAML reads `60` as a number. Slurm reads it as minutes, and a size without a unit is told as the size that was probably meant."""
    return str(given) if isinstance(given, int | float) and not isinstance(given, bool) else given


def _checked(check: Any) -> pydantic.AfterValidator:
    """Refuse what a parsing function refuses, and keep the text as it is written."""

    def keep(text: Any) -> Any:
        check(text)
        return text

    return pydantic.AfterValidator(keep)


Text = Annotated[str, pydantic.AfterValidator(values.plain_text), forms.TEXT]
Reason = Annotated[str, pydantic.AfterValidator(values.reason), forms.REASON]
TimeLimit = Annotated[str, pydantic.BeforeValidator(_number_as_text), pydantic.AfterValidator(values.time_limit), forms.TIME_LIMIT]
Memory = Annotated[str, pydantic.BeforeValidator(_number_as_text), _checked(values.memory_mib), forms.MEMORY]
Size = Annotated[str, pydantic.BeforeValidator(_number_as_text), _checked(values.size_gib), forms.SIZE]
Throughput = Annotated[str, pydantic.BeforeValidator(_number_as_text), _checked(values.throughput), forms.THROUGHPUT]
Date = Annotated[str, _checked(values.date), forms.DATE]
ClockTime = Annotated[str, _checked(values.clock_time), forms.CLOCK_TIME]
MountPoint = Annotated[str, pydantic.AfterValidator(values.mount_point), forms.MOUNT_POINT]
Cidr = Annotated[str, pydantic.AfterValidator(values.network), forms.CIDR]
PublicKey = Annotated[str, pydantic.AfterValidator(values.public_key), forms.PUBLIC_KEY]
Bucket = Annotated[str, pydantic.AfterValidator(values.bucket), forms.BUCKET]
Identifier = Annotated[str, pydantic.AfterValidator(values.identifier), forms.IDENTIFIER]
CatalogName = Annotated[str, pydantic.AfterValidator(values.identifier), forms.IDENTIFIER]
MigProfile = Annotated[str, pydantic.AfterValidator(values.mig_profile), forms.MIG_PROFILE]
FindingCode = Annotated[str, pydantic.AfterValidator(values.finding_code), forms.FINDING_CODE]
DottedPath = Annotated[str, pydantic.AfterValidator(values.dotted_path), forms.DOTTED_PATH]
Uid = Annotated[int, pydantic.AfterValidator(names.uid), forms.UID]
ClusterName = Annotated[str, pydantic.AfterValidator(names.cluster), forms.CLUSTER]
PoolName = Annotated[str, pydantic.AfterValidator(names.pool), forms.POOL]
StorageName = Annotated[str, pydantic.AfterValidator(names.storage), forms.STORAGE]
AccountName = Annotated[str, pydantic.AfterValidator(names.account), forms.ACCOUNT]
QosName = Annotated[str, pydantic.AfterValidator(names.qos), forms.QOS]
AccountReference = Annotated[str, pydantic.AfterValidator(values.identifier), forms.IDENTIFIER]
"""An account as others name it: `root`, which Slurm makes itself, too."""
QosReference = Annotated[str, pydantic.AfterValidator(values.identifier), forms.IDENTIFIER]
"""A quality of service as others name it: `normal`, which Slurm makes itself, too."""
UserName = Annotated[str, pydantic.AfterValidator(names.user), forms.USER]
LabelKey = Annotated[str, pydantic.AfterValidator(names.label), forms.LABEL_KEY]
LabelValue = Annotated[str, pydantic.AfterValidator(names.label_value), forms.LABEL_VALUE]
TagKey = Annotated[str, pydantic.AfterValidator(names.tag), forms.TAG_KEY]
