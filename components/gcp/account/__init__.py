"""Queries to the Google Cloud project over REST; they change nothing. Imported only by `check --live`, `lookup` and `up`."""
