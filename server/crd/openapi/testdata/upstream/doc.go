// Package upstream describes definitions by kx and by the Kubernetes API server's own library, and compares the documents.
//
// It is a module of its own, so that kx does not depend on what it imports. The definitions are those in testdata, made to
// use all that a schema can say, and those that well-known projects ship, which are read where Go keeps its modules.
package upstream
