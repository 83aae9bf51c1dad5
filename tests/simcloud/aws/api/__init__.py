"""The AWS API's door: requests parsed and answers written by botocore's own models."""
