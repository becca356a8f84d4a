// Package upstream checks objects by kx and by the Kubernetes API server's own strategies, and compares the errors and the
// warnings.
//
// It is a module of its own, so that kx does not depend on what it imports.
package upstream
