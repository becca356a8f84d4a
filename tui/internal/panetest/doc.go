// Package panetest is what the tests of panes have in common: recorded journeys, golden frames, and a sweep of sizes.
package panetest
