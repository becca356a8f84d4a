// Package identity owns the identity of a kx process: its data directory and the lock on it, its certificate authority,
// its serving certificate, its administrator's kubeconfig, and the key that signs tokens of service accounts.
//
// In come a directory and the addresses to serve on. Out go a TLS configuration, the pool of authorities whose client
// certificates are accepted, a kubeconfig file, and the keys of tokens for package serviceaccount.
//
// Invariants: Keys that are made here are ECDSA P-256, and other users can read no file with a key. A key is made once.
// The authority's key stays when its certificate is renewed, so that kubeconfigs remain valid. One process at a time
// owns a directory, and no other user can write to it. No write follows a link.
package identity
