package lesson

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kx-apiserver/kx/core/filter"
)

// serveFlags are the flags of kx serve that a lesson may set: they choose what its server stores, caches and admits.
// A lesson may come from an untrusted author, so its flags must not name files to write, and must not change where
// the server listens or keeps its data.
var serveFlags = []string{
	"encryption-provider-config",
	"etcd-servers",
	"event-ttl",
	"max-mutating-requests-inflight",
	"max-requests-inflight",
	"runtime-config",
	"storage-media-type",
	"token-auth-file",
	"watch-cache",
	"watch-cache-prefill",
	"watch-cache-sizes",
}

// checkServeFlag returns the problem with a flag of kx serve; empty if a lesson may set it.
func checkServeFlag(flag string) string {
	text, ok := strings.CutPrefix(flag, "--")
	if !ok {
		return "expected a flag of kx serve, such as --watch-cache=false"
	}
	name, _, _ := strings.Cut(text, "=")
	if slices.Contains(serveFlags, name) {
		return ""
	}
	if nearest := filter.Near(name, serveFlags); len(nearest) > 0 {
		return fmt.Sprintf("a lesson may not set --%s; the nearest flag that it may set is --%s", name, nearest[0])
	}
	return fmt.Sprintf("a lesson may not set --%s; it may set --%s", name, strings.Join(serveFlags, ", --"))
}
