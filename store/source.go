package store

import "embed"

// Source is the source of this package and of those below, without their tests.
//
// Go embeds what matches, and can't be told what shall not. A name that does not end in test.go, as tests and their
// helpers do, has another letter in one of these places: [^t].go, [^s]t.go, [^e]st.go, [^t]est.go. A line is a depth.
// What lies below a testdata is left out by [^t]*, where a directory may be one: it may be another module, of which
// nothing can be embedded. A pattern must match something, so there are only those that do; a test of package server
// tells when one is missing.
//
//go:embed *[^t].go
//go:embed */*[^t].go */*[^s]t.go */*[^e]st.go */*[^t]est.go
//go:embed [^t]*/*/*[^t].go [^t]*/*/*[^s]t.go
//go:embed t[^e]*/[^t]*/*[^t].go t[^e]*/[^t]*/*[^s]t.go t[^e]*/[^t]*/[^t]*/*[^t].go
var Source embed.FS
