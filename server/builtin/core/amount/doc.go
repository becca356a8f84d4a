// Package amount has the names of computing resources, such as cpu and requests.storage, and the rules for amounts of
// them.
//
// It owns which names mean what, and the validation of names and amounts that pods, nodes, quotas, limits and claims
// share. Lists of amounts are checked in the order of their names, so that equal objects get equal answers.
package amount
