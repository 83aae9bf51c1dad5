//go:build programs

// Package kueue keeps its programs among this module's requirements; the build tag is never set.
package kueue

import (
	_ "sigs.k8s.io/kueue/cmd/kueue"
)
