// Package projects installs the custom resource definitions of well-known projects as they ship them, and uses each.
//
// It is a module of its own: it requires the projects, and reads the files where Go keeps its modules. Nothing of them is
// copied, and kx does not depend on them.
package projects
