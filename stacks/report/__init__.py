"""What a cluster will be, for people: the picture of its topology, and the report around it."""
