// Package reload keeps the server as its files say, while they change.
//
// In comes a file or a directory, and a function that takes over what it says. Out go a loop that looks at it every two
// seconds, why it could not be taken over (for /readyz), and counts under the names of Kubernetes.
//
// Invariants:
//
//  1. What could not be read or taken over changes nothing: all stays as it was.
//  2. It is tried again at each look, so whatever was wrong beside the file may be mended too. Each error is logged and
//     counted once.
//  3. Of what was read only a hash is kept: files may have keys in them.
package reload
