package store

import "embed"

// Source is the source of this package and of those below, without their tests.
//
// Go's embed patterns can only include, not exclude. A name that does not end in test.go, as tests and their helpers
// do, differs from it in one letter: [^t].go, [^s]t.go, [^e]st.go, [^t]est.go. Each line covers one depth. [^t]*
// leaves out testdata directories where one may be: it may be another module, and nothing of another module can be
// embedded. A pattern must match something, so only those that do are listed; a test of package server fails when one
// is missing.
//
//go:embed *[^t].go
//go:embed */*[^t].go */*[^s]t.go */*[^e]st.go */*[^t]est.go
//go:embed [^t]*/*/*[^t].go [^t]*/*/*[^s]t.go
//go:embed t[^e]*/[^t]*/*[^t].go t[^e]*/[^t]*/*[^s]t.go t[^e]*/[^t]*/[^t]*/*[^t].go
var Source embed.FS
