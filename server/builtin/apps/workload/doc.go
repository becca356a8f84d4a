// Package workload has what resources that make pods from a template share.
//
// It owns the rules for a selector and the template that it must select, for counts in a status, for names that pods'
// names begin with, and the cells of kubectl's columns about containers. Resources import it, and never each other.
package workload
