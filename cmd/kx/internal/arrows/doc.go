// Package arrows holds the test that keeps the house's arrows pointing down: which package may import which, and which
// imports are not ours to make. It has no code of its own.
package arrows
