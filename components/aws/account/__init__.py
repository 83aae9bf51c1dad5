"""What the account says, asked with boto3 and changing nothing. Imported only where the account is asked: `check --live`, `lookup` and `up`."""
