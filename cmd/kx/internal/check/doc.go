// Package check finds out what an API server says about manifests, without a server that runs already.
//
// In come files, directories, kustomizations and standard input. [Run] starts a server that keeps nothing, creates
// every object of them in it, and passes on a [Result] for each document: whether the server accepted it, its warnings,
// and the place in the file of each field that the server names. A [Summary] says what was missing.
//
// source.go and kustomize.go read, parse.go splits files into documents, json.go reads those in JSON, and position.go
// finds fields in them. order.go decides what is created first. client.go talks to the server, server.go starts it.
// against.go creates what is there before the set, and cluster.go reads that from a cluster. submit.go creates one
// object, prepare.go makes what objects need beside the set, and finding.go reads the answers.
//
// # Invariants
//
//  1. Nothing listens outside of the process, nothing stays on disk, and no webhook is called. A cluster that is checked
//     against is only read.
//  2. Results come in the order of the documents. Every document has one, whatever became of the others.
//  3. Documents of the same object, Services, and all of a namespace with a quota are created one after the other, in
//     the order of the documents. So which of them is refused does not depend on chance.
//  4. A verdict is the server's own. What can't be asked of it is Unchecked, not Accepted.
package check
