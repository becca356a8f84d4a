// Package upstream finds the function of the Kubernetes API server, or of etcd, that corresponds to one of kx: its
// public URL, and its source if the module is on this machine.
//
// It takes a symbol, its file and its release, in the form that steps have. It returns a link and, from Go's module
// cache, the file and the line of the declaration. It downloads nothing.
package upstream
