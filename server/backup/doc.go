// Package backup makes archives of a running server at intervals, and selects the files in them.
//
// In come the options of the server, its data directory and its etcd. Out go archives in a directory
// (store/backup has their format), metrics, and a reason for /readyz when backups fail. A [Record] is a file in
// the data directory that tells a command in another process how the server was started.
//
// Invariants:
//
//  1. Only this server's own archives are deleted: their names have its mark, which no other data directory
//     has.
//  2. The oldest archive is deleted after a new one was written and read back, never before.
//  3. An archive has all files that [Parts] lists, or is not written.
//  4. When [Keeper.Run] returns, no partial archive is left.
package backup
