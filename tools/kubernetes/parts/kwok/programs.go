//go:build programs

// Package kwok keeps its programs among this module's requirements; the build tag is never set.
package kwok

import _ "sigs.k8s.io/kwok/cmd/kwok"
