package admin

import (
	"context"
	"strings"
)

// Children returns the keys and directories of keys that a prefix can be completed to; directories end in a slash. The
// prefix may end within a name: /registry/conf is completed to /registry/configmaps/. There are at most `most` of them,
// fewer if reading fails.
func Children(ctx context.Context, s Source, prefix string, most int) (paths []string) {
	for kv, err := range s.Range(ctx, Range{Prefix: prefix, KeysOnly: true}) {
		if err != nil {
			break
		}
		path := kv.Key
		// A slash right behind the prefix begins a name, as in Tree.
		if name := path[len(prefix):]; len(name) > 1 {
			if slash := strings.IndexByte(name[1:], '/'); slash >= 0 {
				path = prefix + name[:slash+2]
			}
		}
		if len(paths) > 0 && paths[len(paths)-1] == path {
			continue
		}
		if len(paths) == most {
			break
		}
		paths = append(paths, path)
	}
	return paths
}
