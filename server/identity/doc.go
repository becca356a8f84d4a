// Package identity owns what makes a kx process itself: its data directory and the lock on it, its certificate
// authority, its serving certificate and its administrator's kubeconfig.
//
// What comes in is a directory and the addresses to serve on; what goes out is a TLS configuration, the pool of
// authorities whose client certificates are believed, and a kubeconfig file.
//
// Invariants: keys are ECDSA P-256 and never in a file that others can read. The authority's key is made once: a second
// start on the same directory finds it, and its certificate is renewed with it, so that kubeconfigs handed out stay good.
// One process at a time owns a directory, and nobody else can write to it. Nothing is written through a link.
package identity
