// Package all is the table of built-in resources.
//
// The table lists groups, versions and resources in the order of discovery. [Groups] takes [Needs], the parts of the
// server that a few resources use, and returns builtin.Groups. The scheme (server/builtin/scheme), the storages and
// the keys of --runtime-config (server/builtin/rest) are made from it.
//
// A new resource is a variable in the package of its group, and a line here.
//
// Code below the API gets its knowledge of resources from the table too: go generate writes
// core/request/sample_builtin.yaml.
package all

//go:generate go test -run TestSamplesAreFresh . -rewrite
