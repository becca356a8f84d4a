// Package discovery declares endpoint slices.
package discovery
