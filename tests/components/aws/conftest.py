"""The SDK loads its services when they are first used, and warns of its own old names while it does; tests take warnings for errors."""

import importlib
import warnings

SERVICES = ("backup", "cloudwatch", "ebs", "ec2", "efs", "fsx", "iam", "imagebuilder", "lb", "rds", "s3", "secretsmanager")

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    for service in SERVICES:
        hasattr(importlib.import_module(f"pulumi_aws.{service}"), "Anything")  # a look at any name loads it
