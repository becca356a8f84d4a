package request

import (
	_ "embed"
	"strings"
	"sync"
)

// Two files of YAML with a sample per document: those of the table of built-in resources, and those of other kinds.
var (
	//go:embed sample_builtin.yaml
	builtin string
	//go:embed sample_beside.yaml
	beside string
)

var samples = sync.OnceValue(func() map[Kind]string {
	all := map[Kind]string{}
	for _, doc := range strings.Split(builtin+separator+beside, separator) {
		apiVersion, doc, _ := strings.Cut(strings.TrimPrefix(doc, "apiVersion: "), "\nkind: ")
		kind, body, _ := strings.Cut(doc, "\n")
		group, version, grouped := strings.Cut(apiVersion, "/")
		if !grouped {
			group, version = "", apiVersion
		}
		all[Kind{Group: group, Version: version, Kind: kind}] = body
	}
	return all
})

const separator = "---\n"

// Sample is the sample of a kind, without apiVersion and kind. NAME and NAMESPACE are placeholders.
func Sample(kind Kind) (body string, known bool) {
	body, known = samples()[kind]
	return body, known
}
