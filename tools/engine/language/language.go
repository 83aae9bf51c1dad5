//go:build engine

// Package language keeps Pulumi's language host for Python among this module's requirements.
// It is a module of its own because the last release that holds the host is older than the engine's.
package language

import _ "github.com/pulumi/pulumi/sdk/v3/python/cmd/pulumi-language-python"
