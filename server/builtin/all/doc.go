// Package all is the table of built-in resources.
//
// It owns which groups, versions and resources there are, and in which order they are discovered. What comes in is what
// a few of them need of the server; what goes out is a list of builtin.Groups. Schemes, storages and what
// --runtime-config knows are made from it (server/builtin/scheme, server/builtin/rest).
//
// A new resource is a variable in the package of its group, and a line here.
//
// What code below the API must know of resources is made from the table too: go generate writes the samples of
// core/sample.
package all

//go:generate go test -run TestSamplesAreFresh . -rewrite
