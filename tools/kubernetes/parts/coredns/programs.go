//go:build programs

// Package coredns keeps its programs among this module's requirements; the build tag is never set.
package coredns

import (
	_ "github.com/coredns/coredns"
)
