// Package docs holds kx's documents, embedded so that help and lessons travel in the binary.
//
// [Files] exports them. The tests here check the documents against the code: named files, functions and flags exist.
package docs

import "embed"

// Files holds the documents.
//
//go:embed *.md learn
var Files embed.FS
