// Package kx is the project's own source, as far as it answers requests: the rooms core, server and store, without their
// tests. It travels in the binary, so that a server can show the code that it runs wherever it runs.
//
// It lies here because a package embeds only what lies below it. server/kxapi serves it, and cmd/kx reads it beside a
// capture; nobody else needs it.
package kx

import "embed"

// Source has the files under the names that journeys have them by: store/etcd3/update.go.
//
// Go embeds what matches, and can't be told what shall not. A name that does not end in test.go, as tests and their helpers
// do, has another letter in one of these places: [^t].go, [^s]t.go, [^e]st.go, [^t]est.go. A line is a depth. What lies below
// a testdata is left out by [^t]*, where a directory may be one: it may be another module, of which nothing can be embedded.
// A pattern must match something, so there are only those that do; a test tells when one is missing.
//
//go:embed [cs][eot]*/*[^t].go
//go:embed [cs][eot]*/*/*[^t].go [cs][eot]*/*/*[^s]t.go [cs][eot]*/*/*[^e]st.go [cs][eot]*/*/*[^t]est.go
//go:embed [cs][eot]*/[^t]*/*/*[^t].go [cs][eot]*/[^t]*/*/*[^s]t.go [cs][eot]*/[^t]*/*/*[^e]st.go
//go:embed [cs][eot]*/[^t]*/[^t]*/*/*[^t].go [cs][eot]*/[^t]*/[^t]*/*/*[^s]t.go
var Source embed.FS
