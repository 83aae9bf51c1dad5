"""Rules of the services, one module for what belongs together."""
