// Package send is the screen Send: it composes a request for one of the server's resources, sends it, and shows its
// answer.
//
// It owns the fields of the request, its body with templates and problems, the equivalent commands, the answers, the
// history of sent requests, and files of requests. It takes keys and answers of the server. It produces links to
// requests ([screen.ToRequest]), and files.
//
// # Invariants
//
//  1. The screen sends exactly the shown request: the fields that fit the verb, and the body in the editor.
//  2. Problems of a request are shown and do not prevent sending it, unless there is no path to send it to.
//  3. Every exchange runs in the background with a bounded buffer for its answer; the screen takes it in Drain.
//  4. The history is bounded in number and bytes: its oldest entries go first.
package send
