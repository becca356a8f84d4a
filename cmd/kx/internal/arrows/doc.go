// Package arrows holds the test of the module's imports: which package may import which, and which libraries no package
// may import. It has no other code.
package arrows
