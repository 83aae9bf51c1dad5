//go:build programs

// Package metallb keeps its programs among this module's requirements; the build tag is never set.
package metallb

import (
	_ "go.universe.tf/metallb/controller"
	_ "go.universe.tf/metallb/speaker"
)
