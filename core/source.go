// Package core embeds the source of its rooms, and nothing else.
package core

import "embed"

// Source is the source of the rooms below, without their tests, and the files that they embed.
//
// Patterns can only include, not exclude. A file is not a test or a test's helper if its name does not end in test.go,
// so one of its last letters differs: [^t].go, [^s]t.go, [^e]st.go, [^t]est.go. Each line is a depth. [^t]* leaves out
// testdata, which may be another module: that can't be embedded. A pattern must match something, so only those are here
// that do. A test of package server fails when one is missing.
//
//go:embed *[^t].go
//go:embed */*[^t].go */*[^s]t.go */*[^e]st.go */*[^t]est.go
//go:embed [^t]*/*/*[^t].go [^t]*/*/*[^s]t.go
//go:embed lang/zh request/*.yaml
var Source embed.FS
