//go:build engine

// Package engine keeps the Pulumi command line among this module's requirements.
// The build tag is never set: the file is there for `go mod tidy`, which reads it whatever the tags are.
package engine

import _ "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
