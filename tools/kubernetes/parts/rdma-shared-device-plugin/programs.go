//go:build programs

// Package rdma keeps its program among this module's requirements; the build tag is never set.
package rdma

import (
	_ "github.com/Mellanox/k8s-rdma-shared-dev-plugin/cmd/k8s-rdma-shared-dp"
)
