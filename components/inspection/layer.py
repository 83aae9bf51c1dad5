"""The layers of a drift check."""

import enum


class Layer(enum.StrEnum):
    CLOUD = "cloud"
    HOSTS = "hosts"
    SCHEDULER = "scheduler"
    VERSIONS = "versions"
    CAPABILITY = "capability"
    CHECK = "check"
    """The check's own files. Nobody chooses this layer."""


LAYERS = tuple(layer for layer in Layer if layer is not Layer.CHECK)
