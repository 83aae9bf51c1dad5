"""Elastic pools of the local target: a service on the machine, one for each stack, that starts and stops their hosts when the controller asks."""
