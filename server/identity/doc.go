// Package identity owns what makes a kx process itself: its data directory and the lock on it, its certificate
// authority, its serving certificate and its administrator's kubeconfig.
//
// What comes in is a directory and the addresses to serve on; what goes out is a TLS configuration, the pool of
// authorities whose client certificates are believed, and a kubeconfig file.
//
// Invariants: keys are ECDSA P-256, are never in a file that others can read, and are made once: a second start on the
// same directory finds the first one's authority, so that kubeconfigs handed out stay good. One process at a time owns
// a directory.
package identity
