// Package docs holds kx's documents, embedded so that help and lessons travel in the binary.
//
// What goes out is [Files]. The tests here hold the documents against the code: the files and functions that they name
// exist, and so do the flags.
package docs

import "embed"

// Files are the documents.
//
//go:embed *.md learn
var Files embed.FS
