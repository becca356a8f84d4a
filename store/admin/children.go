package admin

import (
	"context"
	"strings"
)

// Children are the keys, and the directories of keys, which end in a slash, that come next behind a prefix, wherever in a
// name that ends: behind /registry/conf comes /registry/configmaps/. There are at most so many, and fewer if the source
// can't be read on.
func Children(ctx context.Context, s Source, prefix string, most int) (paths []string) {
	for kv, err := range s.Range(ctx, Range{Prefix: prefix, KeysOnly: true}) {
		if err != nil {
			break
		}
		path := kv.Key
		// A slash right behind the prefix begins a name and does not end one, as in Tree.
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
