// Package workload holds the common code of resources that make pods from a template.
//
// It validates selectors with their templates, counts in a status, and names that become prefixes of pods' names. It
// also makes the cells of kubectl's columns about containers. Resources import it, and never each other.
package workload
