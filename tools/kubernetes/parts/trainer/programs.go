//go:build programs

// Package trainer keeps its programs among this module's requirements; the build tag is never set.
package trainer

import _ "github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager"
