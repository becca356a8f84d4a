package sample

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/kx-apiserver/kx/core/request"
)

// Two files of YAML with a sample per document: those of the table of built-in resources, and those of other kinds.
var (
	//go:embed builtin.yaml
	builtin string
	//go:embed beside.yaml
	beside string
)

var samples = sync.OnceValue(func() map[request.Kind]string {
	all := map[request.Kind]string{}
	for _, doc := range strings.Split(builtin+separator+beside, separator) {
		apiVersion, doc, _ := strings.Cut(strings.TrimPrefix(doc, "apiVersion: "), "\nkind: ")
		kind, body, _ := strings.Cut(doc, "\n")
		group, version, grouped := strings.Cut(apiVersion, "/")
		if !grouped {
			group, version = "", apiVersion
		}
		all[request.Kind{Group: group, Version: version, Kind: kind}] = body
	}
	return all
})

const separator = "---\n"

// Of is the sample of a kind, without apiVersion and kind. NAME and NAMESPACE are placeholders.
func Of(kind request.Kind) (body string, known bool) {
	body, known = samples()[kind]
	return body, known
}

// Join makes one file of samples.
func Join(manifests []string) string { return strings.Join(manifests, separator) }

// Builtin is the file of built-in resources.
func Builtin() string { return builtin }
