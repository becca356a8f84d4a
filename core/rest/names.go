package rest

import "k8s.io/apimachinery/pkg/util/rand"

// A generated name fits into a DNS label, since many things are named after objects: pods' host names, for one.
const (
	maxNameLength    = 63
	randomNameLength = 5
)

// SimpleNameGenerator appends five random characters, from an alphabet without vowels so that they spell nothing.
var SimpleNameGenerator NameGenerator = simpleNameGenerator{}

type simpleNameGenerator struct{}

func (simpleNameGenerator) GenerateName(base string) string {
	return base[:min(len(base), maxNameLength-randomNameLength)] + rand.String(randomNameLength)
}
