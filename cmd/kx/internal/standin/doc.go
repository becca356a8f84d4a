// Package standin reads the command lines of the programs that kx is called as by tools for tests, such as envtest:
// kube-apiserver and etcd.
//
//	apiserver.go   kube-apiserver's command line, as options of kx serve
//	flags.go       the table of kube-apiserver's flags
//	etcd.go        etcd's command line, for the etcd that is linked into kx
//
// In come the arguments. Out go options, what to print instead of serving, or an error.
//
// Invariants:
//
//  1. A flag that the program does not have is an error that names the nearest flag.
//  2. A flag that it has is never an error by its name alone. Those without a meaning in kx are named in one warning,
//     unless their value asks for what kx does anyway.
//  3. A flag that is not given means what it means to that program, and not what it means to kx serve.
package standin
