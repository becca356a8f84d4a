// Package send is the screen Send: a request is put together from what the server has, sent, and its answer looked at.
//
// It owns the fields of the request, its body with templates and what is wrong with it, the commands that send the same,
// the answers, the history of what was sent, and files of requests. What comes in are keys and answers of the server; what
// goes out are requests that one can be led to ([screen.ToRequest]), and files.
//
// # Invariants
//
//  1. What is sent is what is shown: the fields that fit the verb, and the body as it stands in the editor.
//  2. What is wrong with a request is said and stops nobody, unless there is no path to send it to.
//  3. Every exchange runs in the background with a bounded place for its answer; the screen takes it in Drain.
//  4. Of the history the oldest go first, by number and by bytes.
package send
