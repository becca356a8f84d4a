// Package join finds the server that a command talks to, and starts one for it if none runs.
//
// [Find] takes a data directory. It returns a [Place], which holds a kubeconfig and the address of a server that
// answers. If it had to start a server for the command, it returns the command's exit code instead.
//
// # How commands share a server
//
// The lock of the data directory (server/identity) names the owner of the directory: a process and its address. Next
// to it is the file kx.users. Each user of the server, a process, holds a shared lock on kx.users as long as it runs.
// The owner of a server for one command takes the lock exclusively before it stops: it waits for the users, and no
// new user can come while it stops. Locks end with their processes, however these end, so no lock is ever stale. The
// content of kx.users, a line for each user, only serves messages.
//
// A command that finds no server becomes the owner: it starts a server in its own process, and the command itself in
// a second process, which is a user like any other. So the server shuts down cleanly even if the command's code calls
// os.Exit, is interrupted, or crashes. The second process starts while the server does.
//
// # Invariants
//
//  1. The server of a returned place answers, with a certificate that the directory's kubeconfig trusts.
//  2. An owner releases the directory before it releases kx.users: a process that waits for kx.users finds the
//     directory free.
//  3. The process that an owner starts never becomes an owner.
//  4. Commands also join the servers of kx serve and kx tui. These stop at the user's command, without waiting for
//     other users.
package join
