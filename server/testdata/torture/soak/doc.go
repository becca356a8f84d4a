// Package soak runs a kx for hours under steady work and measures whether anything in it grows.
//
//	go test ./soak                                            # the short form: that everybody works, and is measured
//	go test ./soak -v -timeout 0 -soak.for=2h                 # the long one
//
// What comes in is the program. The crowd (crowd.go, operator.go, visitors.go) is what a server meets in a day: operators with
// informers, watches that end and watches that are left, lists in every form, definitions and namespaces that come and go, tokens,
// backups. It keeps the number of objects the same, so that what a server needs must stay the same too. What goes out is a line
// through each measure (levels.go): how much it grows in an hour, and how sure that is.
//
// docs/reliability.md has the figures.
package soak
