"""The autoscaler of Kubernetes on the fleet: it starts hosts for pods that no node has room for, and ends those that are idle. Standard library only, shipped to hosts of the control plane."""
