// Package kubectl makes kubectl's own commands kx's: the same flags, outputs, exit codes and completion, on the server
// that join finds.
//
// What comes in is a data directory and the streams; what goes out are cobra commands, in the order of a table. All of
// them share one [wiring]: where the server is, and what is done with each request on its way there.
//
// # What kx adds
//
//   - --trace on every command: the requests ask for journeys with objects, and when the command's own output is
//     complete, their journeys are fetched and shown on stderr.
//   - --at on get: reads are made as of a revision.
//   - --explain-conflicts on apply: who owns the fields that a server-side apply could not have.
//   - On a terminal, a command whose answer is late says so and what the server says of itself. A read is given up when
//     the server goes on saying that its etcd does not answer.
//   - Where a command fails since the server has no such resource, it is said which, and what lists those that it has.
//   - The server of a data directory is a kx and validates fields: kubectl's code reads its OpenAPI to find that out.
//   - apply and diff parse of the server's OpenAPI only what they make patches by: it is parsed for each object.
//   - apply --prune looks at the kinds that the server has: kubectl's gives up where one of its list is missing.
//
// # How a command ends
//
// kubectl's code calls os.Exit where it fails, through cmdutil.BehaviorOnFatal. Here the command runs on a goroutine of
// its own: a failure ends that goroutine and leaves an exit code, and what must happen at the end happens. What is beyond
// that hook (an interrupted watch) ends the process; package join sees to it that no server is in it.
package kubectl
