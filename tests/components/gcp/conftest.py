"""The SDK loads its services when they are first used, and warns of its own old names while it does."""

import importlib
import warnings

SERVICES = ("compute", "filestore", "projects", "secretmanager", "serviceaccount")

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    for service in SERVICES:
        hasattr(importlib.import_module(f"pulumi_gcp.{service}"), "Anything")  # a look at any name loads it
