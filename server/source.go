package server

import (
	"embed"
	"io/fs"
	"strings"

	"github.com/kx-apiserver/kx/core"
	"github.com/kx-apiserver/kx/store"
)

// source is the source of this package and of those below, without their tests, and the files that they embed.
//
// Go embeds what matches, and can't be told what shall not. A name that does not end in test.go, as tests and their helpers
// do, has another letter in one of these places: [^t].go, [^s]t.go, [^e]st.go, [^t]est.go. A line is a depth. What lies below
// a testdata is left out by [^t]*, where a directory may be one: it may be another module, of which nothing can be embedded.
// [^it]* leaves out internal, too, which holds what only tests need. A pattern must match something, so there are only those that
// do; a test of package server tells when one is missing.
//
//go:embed *[^t].go
//go:embed */*[^t].go */*[^s]t.go */*[^e]st.go */*[^t]est.go
//go:embed [^it]*/*/*[^t].go [^it]*/*/*[^s]t.go [^it]*/*/*[^e]st.go [^it]*/*/*[^t]est.go
//go:embed [^it]*/[^t]*/*/*[^t].go [^it]*/[^t]*/*/*[^s]t.go
//go:embed authz/policy/*.txt openapi/definitions.txt openapi/documents.sha256
var source embed.FS

// Source is the project's own source, as far as it answers requests: the rooms core, server and store. It travels in the
// binary, so that a server can show the code that it runs wherever it runs. Files have the names that journeys have them
// by: store/etcd3/update.go.
func Source() fs.FS { return rooms{"core": core.Source, "server": source, "store": store.Source} }

// rooms are several trees as one, each below its name. There is no directory of the rooms themselves.
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
