// Package assets makes kx the binaries of tools for tests: kube-apiserver, etcd and kubectl, which are kx by the name
// that it is called by.
//
//	directory.go   a directory of links to this kx, for KUBEBUILDER_ASSETS
//	archive.go     an archive of a kx, and the index of archives, in the format of setup-envtest
//
// In comes the path of a kx. Out goes a directory, or an archive and its entry in the index.
//
// Invariants:
//
//  1. A name in a directory is complete as soon as it exists. Any number of processes may make the same directory, or
//     write to the same index, at once.
//  2. Another kx has another directory. What a test started from a directory stays the kx that it was.
//  3. The same kx makes the same archive, byte by byte.
package assets
