//go:build programs

// Package jobset keeps its programs among this module's requirements; the build tag is never set.
package jobset

import (
	_ "sigs.k8s.io/jobset"
)
