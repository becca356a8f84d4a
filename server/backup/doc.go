// Package backup makes archives of a server, by itself while it runs, and says which files go into them.
//
// In come the options of the server, its data directory and its etcd. Out go archives in a directory (store/backup has
// their format), metrics, and a reason for /readyz when backups fail. A [Record] is a file in the data directory by
// which a command in another process knows how the server was started.
//
// Invariants:
//
//  1. Only files that this server made are deleted: their names have its mark, which no other data directory has.
//  2. The oldest archive is deleted after a new one was made and read back, never before.
//  3. An archive has all files that [Parts] lists, or is not made.
//  4. When [Keeper.Run] returns, no half archive is left.
package backup
