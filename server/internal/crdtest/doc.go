// Package crdtest sends definitions to a server and prints its answers, for tests.
//
// kx's tests use it, and so does the module that asks upstream's server the same: both read the transcripts in
// server/crd/definition/testdata. In come a command and edits of [Definition], one a line. Out go the status code of
// the answer, the fields with errors, and the warnings.
//
//	create                      send it, as a dry run
//	update                      create it, then replace it, as a dry run
//	status                      create it, then replace its status, as a dry run
//
//	add PATH JSON               edits, by JSON Patch
//	replace PATH JSON
//	remove PATH
//	established                 (update, status) from here on its names are accepted, and it is served
//	then                        (update, status) what follows changes what was created
package crdtest
