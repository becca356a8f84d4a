// Package backup writes archives from which an API server can be served again, and reads them.
//
// An archive is a tar file. It holds the files that make clients and tokens believe the server, a snapshot of etcd, a
// manifest that describes them, and the SHA-256 of each. tar lists and unpacks it, and sha256sum -c SHA256SUMS checks
// what was unpacked.
//
// In comes a running etcd ([Save]), or an archive from anywhere ([Open], [Archive.Restore]). Out goes an archive, or
// the data directory of a server.
//
// Invariants:
//
//  1. A file gets the name of an archive when it is complete, on the disk, and was read back.
//  2. Only bytes that Save could have written are an archive: one with a changed bit is refused, and so is any other
//     tar file.
//  3. No name in an archive becomes a path but those that [Save] may write. No size in it makes the reader hold more
//     than 1 MiB.
//  4. A restore writes to a new directory only, after the whole archive was verified. A restore that fails leaves no
//     file there.
//  5. No key of an encryption configuration is in an archive, only its name.
package backup
