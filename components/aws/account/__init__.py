"""Queries to the AWS account with boto3; they change nothing. Imported only by `check --live`, `lookup` and `up`."""
