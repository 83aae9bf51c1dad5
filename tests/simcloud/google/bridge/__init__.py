"""How pulumi-gcp speaks to Google Cloud: its typed arguments on one side, requests to the REST door on the other."""
