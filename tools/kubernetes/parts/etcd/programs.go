//go:build programs

// Package etcd keeps its programs among this module's requirements; the build tag is never set.
package etcd

import (
	_ "go.etcd.io/etcd/server/v3"
	_ "go.etcd.io/etcd/etcdctl/v3"
	_ "go.etcd.io/etcd/etcdutl/v3"
)
