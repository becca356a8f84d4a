// Package panetest holds the common code of the panes' tests: recorded journeys, golden frames, and a sweep of sizes.
package panetest
