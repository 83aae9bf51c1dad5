"""What runs on any Kubernetes API: add-ons, queues, jobs, acceptance."""
