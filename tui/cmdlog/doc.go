// Package cmdlog lists what the screen sent for the user, as commands that send the same.
//
// It takes the requests that tui/api reports, and shows for each the kubectl command, or where kubectl has none the kx
// command, with its body and the user it was sent as. A request of the screen's own, such as one for the list of
// requests, is not in it.
//
// # Invariants
//
//  1. A Log has at most 500 requests with at most 64 KiB of body each; what is older is counted.
//  2. Package mask takes secrets out of a request before anything else sees it. A body that can't be masked as a whole
//     is left out: an edit of a held request, or several YAML documents.
package cmdlog
