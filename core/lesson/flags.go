package lesson

import (
	"fmt"
	"slices"
	"strings"
)

// serveFlags are the flags of kx serve that a lesson may set: what its server stores, caches and admits. A lesson comes from anybody,
// so its flags must not name files to write, and must not change where the server listens or keeps its data.
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
	nearest := slices.MinFunc(serveFlags, func(a, b string) int { return distance(a, name) - distance(b, name) })
	if 2*distance(nearest, name) <= len(nearest) {
		return fmt.Sprintf("a lesson may not set --%s; the nearest flag that it may set is --%s", name, nearest)
	}
	return fmt.Sprintf("a lesson may not set --%s; it may set --%s", name, strings.Join(serveFlags, ", --"))
}

// mostCompared is how much of a name is compared with those of flags. No flag is longer.
const mostCompared = 64

// distance is how many letters have to be inserted, removed or replaced to make b of a.
func distance(a, b string) int {
	b = b[:min(len(b), mostCompared)]
	row := make([]int, len(b)+1) // the distances from the letters of a so far
	for j := range row {
		row[j] = j
	}
	for i := range a {
		before := row[0]
		row[0] = i + 1
		for j := range b {
			replaced := before
			if a[i] != b[j] {
				replaced++
			}
			before = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
