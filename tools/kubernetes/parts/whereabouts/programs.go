//go:build programs

// Package whereabouts keeps its programs among this module's requirements; the build tag is never set.
package whereabouts

import (
	_ "github.com/k8snetworkplumbingwg/whereabouts/cmd"
	_ "github.com/k8snetworkplumbingwg/whereabouts/cmd/controlloop"
)
