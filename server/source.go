package server

import (
	"embed"
	"io/fs"
	"strings"

	"github.com/kx-apiserver/kx/core"
	"github.com/kx-apiserver/kx/store"
)

// source embeds the source of this package and of those below, without their tests, plus the files that they embed.
//
// A pattern can only say which files match, not which don't. A name that does not end in test.go, the ending of tests
// and their helpers, has another letter in one of these places: [^t].go, [^s]t.go, [^e]st.go, [^t]est.go. Each line is
// one depth of directories. At a depth where a testdata may lie, [^t]* leaves it out: it may be a module of its own,
// and Go can't embed files of another module. [^it]* also leaves out internal, which holds code that only tests need.
// *[^t] and *[^s]t leave out kxtest, which is a module of its own too. A pattern must match a file, so only those are
// here that do. A test of package server fails if one is missing.
//
//go:embed *[^t].go
//go:embed *[^t]/*[^t].go *[^t]/*[^s]t.go *[^t]/*[^e]st.go *[^t]/*[^t]est.go
//go:embed *[^s]t/*[^t].go *[^s]t/*[^s]t.go
//go:embed [^it]*/*/*[^t].go [^it]*/*/*[^s]t.go [^it]*/*/*[^e]st.go [^it]*/*/*[^t]est.go
//go:embed [^it]*/[^t]*/*/*[^t].go [^it]*/[^t]*/*/*[^s]t.go
//go:embed authz/policy/*.txt openapi/definitions.txt openapi/documents.sha256
var source embed.FS

// Source is the project's own source of everything that answers requests: the rooms core, server and store. It is part
// of the binary, so that a server can show its code anywhere. Journeys use the same file names, such as
// store/etcd3/update.go.
func Source() fs.FS { return rooms{"core": core.Source, "server": source, "store": store.Source} }

// rooms joins several trees, each below its name. The root itself can't be listed.
type rooms map[string]fs.FS

func (r rooms) Open(name string) (fs.File, error) {
	room, rest, below := strings.Cut(name, "/")
	files, ok := r[room]
	if !ok || !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if !below {
		rest = "."
	}
	return files.Open(rest)
}
