// Package check finds out what an API server says about manifests, without a server that runs already.
//
// In come files, directories, kustomizations and standard input. [Run] starts a server that keeps nothing, creates
// every object of them in it, and passes on a [Result] for each document: whether the server accepted it, its warnings,
// and the place in the file of each field that the server names. A [Summary] says what was missing.
//
// source.go and kustomize.go read, parse.go splits files into documents, json.go reads those in JSON, position.go finds
// fields in them, and misread.go values that are refused without their field. order.go decides what is created first.
// client.go talks to the server, server.go starts it. against.go creates what is there before the set, and cluster.go
// reads that from a cluster, or from a server over what was stored. submit.go creates one object, prepare.go makes what
// objects need beside the set, and finding.go reads the answers.
//
// table.go reads rows of expectations, row.go sends them and compares the answers, write.go writes answers into their
// files, and coverage.go counts what expressions came to.
//
// # Invariants
//
//  1. Nothing listens outside of the process, no webhook is called, and nothing stays on disk but the answers that
//     [Config].Update has written into rows. A cluster that is checked against is only read.
//  2. Results come in the order of the documents. Every document has one, whatever became of the others.
//  3. Documents of the same object, Services, and all of a namespace with a quota are created one after the other, in
//     the order of the documents. So which of them is refused does not depend on chance.
//  4. A row is a dry run. Its old object is in etcd while the row runs, and no other row of that object runs then.
//  5. Evaluations count if a document or a row caused them. Those for requests of the check itself do not.
//  6. A verdict is the server's own. What can't be asked of it is Unchecked, not Accepted.
package check
