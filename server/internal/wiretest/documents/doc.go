// Package documents compares what two servers tell about themselves: discovery and OpenAPI.
//
// One is a kube-apiserver, whose answers the module in server/testdata/upstream records; the other is kx, whose tests
// ask it the same. In come the [Ask]s of a topic: [Discovery] and [OpenAPI] find out what a server has and list what to
// ask for. Out goes a [Recording], and from an answer of each server a [Tally].
//
// Invariants:
//
//  1. Bodies are compared by content, whatever encodes them: JSON, YAML and protobuf become the same tree first.
//  2. What differs between two runs of the same server is not recorded: hashes, times, the server's own address.
//  3. A list of named things is compared thing by thing, and then by its order. One more thing is one difference.
package documents
