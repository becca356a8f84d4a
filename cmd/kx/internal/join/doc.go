// Package join finds the server that a command talks to, and starts one for it if none runs.
//
// What comes in is a data directory. What goes out is a [Place]: a kubeconfig and the address of a server that answers,
// or the exit code of the command, if a server had to be started for it.
//
// # How commands share a server
//
// The lock of the data directory (server/identity) says whose it is: a process and its address. Beside it lies
// kx.users. Who uses the server of a directory holds a shared lock on kx.users as long as it runs. Who started a server
// for one command takes that lock alone before it stops: it waits for the others, and none can come while it stops.
// Locks end with their processes, however these end, so nothing is ever stale. What is written in kx.users, a line for
// each who came, tells people who they are, and decides nothing.
//
// A command for which no server runs becomes the owner: it starts a server in its own process, and the command itself
// as a second process, a user like any other. So the server stops in good order whatever the command's code does: it
// may call os.Exit, be interrupted, or crash. The second process starts up while the server does.
//
// # Invariants
//
//  1. A place that is handed out answers, with a certificate that the directory's kubeconfig trusts.
//  2. An owner releases the directory before it releases kx.users: who waits for kx.users finds the directory free.
//  3. The process that an owner starts never becomes an owner.
//  4. kx serve and kx tui are joined, and never wait for users: they are told when to stop.
package join
