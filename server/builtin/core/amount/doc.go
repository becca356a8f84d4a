// Package amount classifies the names of computing resources, such as cpu and requests.storage, and validates amounts
// of them.
//
// Pods, nodes, quotas, limits and claims share this validation. Lists of amounts are checked in the order of their
// names, so that equal objects get equal answers.
package amount
