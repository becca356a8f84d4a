// Package workload has what resources that make pods from a template share.
//
// It owns the rules for selectors and their templates, for counts in a status, for names that become prefixes of pods'
// names, and the cells of kubectl's columns about containers. Resources import it, and never each other.
package workload
