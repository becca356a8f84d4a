// Package crdtest tries definitions on a server and shows what it says of them, for tests.
//
// It is for the tests of kx, and for the module that asks upstream's server the same: both read the transcripts in
// server/crd/definition/testdata. What comes in is a command and edits of [Definition], one a line; what goes out is the
// answer's status code, the fields it complains of and its warnings.
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
