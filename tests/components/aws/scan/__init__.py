"""A scan of what programs register on AWS, by a scanner that knows nothing of this project."""
