// Package reload applies configuration files again when they change.
//
// In comes a file, a pair or a directory, and a function that applies its content. Out go a loop that checks it every
// two seconds, the reason if the content could not be applied (for /readyz), and metrics under Kubernetes'
// names.
//
// Invariants:
//
//  1. A file that could not be read or applied changes nothing: the earlier configuration stays.
//  2. It is retried at each check, so a problem outside the file may be solved, too. Each error is logged and
//     counted once.
//  3. Only a hash of the content is kept: files may contain keys.
package reload
