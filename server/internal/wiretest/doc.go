// Package wiretest sends the requests that stand in transcripts, and shows what comes back so that it can be compared.
//
// It is for the tests of the whole server, and for the module that asks upstream's library the same: both read the
// transcripts in server/testdata/wire. What comes in is a request as HTTP writes it, what goes out is the answer with a
// name in the place of whatever differs from run to run.
package wiretest
