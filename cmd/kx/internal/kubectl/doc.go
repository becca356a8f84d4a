// Package kubectl provides kubectl's commands as commands of kx, with the same flags, outputs, exit codes and
// completion. They use the server that join finds.
//
// [NewCommands] takes a data directory and the streams, and returns cobra commands in the order of a table. All share
// one wiring, which finds the server and handles each request.
//
// # What kx adds
//
//   - --trace on every command: requests ask for journeys with objects. After the command's own output, their journeys
//     are fetched and shown on stderr.
//   - --at on get: reads are made at a revision.
//   - --explain-conflicts on apply: it names the owners of the fields in conflict.
//   - On a terminal, a command reports a late answer, and whether the server is ready. It gives up a read if the
//     server keeps reporting that etcd does not answer. It reports when client-go repeats a request at the server's
//     demand.
//   - If a command fails because the server lacks a resource, it names the resource and the command that lists all.
//   - The server of a data directory is a kx, which validates fields. kubectl's code would read the server's OpenAPI
//     to learn that.
//   - apply and diff parse only the part of the server's OpenAPI that patches need, because they parse it for each
//     object.
//   - apply --prune checks only kinds that the server has. kubectl's stops at the first missing kind.
//
// # How a command ends
//
// kubectl's code calls os.Exit when it fails, through cmdutil.BehaviorOnFatal. Here the command runs on a goroutine of
// its own. A failure ends that goroutine with an exit code, so that finish still runs. Where kubectl bypasses the hook
// (an interrupted watch), the process ends. Package join therefore never starts a server in it.
package kubectl
