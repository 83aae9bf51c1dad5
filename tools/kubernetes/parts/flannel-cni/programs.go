//go:build programs

package flannelcni

import _ "github.com/containernetworking/plugins/plugins/meta/flannel"
