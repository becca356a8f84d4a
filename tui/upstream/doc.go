// Package upstream finds the function of the Kubernetes API server, or of etcd, that does the same as one of kx: where it is
// published, and its source if the module is on this machine.
//
// What comes in is a symbol, its file and its release, as steps have them. What goes out is a link and, from the module cache of
// Go, the file and the line at which the symbol is declared. Nothing is fetched.
package upstream
