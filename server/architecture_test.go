package server_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/steps"
)

const architectureFile = "../docs/architecture.md"

var mapOfFunctions = regexp.MustCompile(`(?s)(<!-- functions: [^\n]* -->\n).*?(<!-- end -->)`)

// stepInDocument is a name that only a step can have.
var stepInDocument = regexp.MustCompile("`((?:filter|handler|rest|store|dryrun|cacher|etcd3|transform|etcd|crd)\\.[a-z][a-z0-9-]*)`")

// TestArchitecture makes the map of functions in architecture.md: of each step the function that takes it here, and upstream's.
func TestArchitecture(t *testing.T) {
	data, err := os.ReadFile(architectureFile)
	if err != nil {
		t.Fatal(err)
	}
	have := string(data)
	if !mapOfFunctions.MatchString(have) {
		t.Fatal("architecture.md has no place for the map of functions")
	}
	functions := functionTables(t)
	want := mapOfFunctions.ReplaceAllStringFunc(have, func(old string) string {
		m := mapOfFunctions.FindStringSubmatch(old)
		return m[1] + functions + m[2]
	})
	for _, m := range stepInDocument.FindAllStringSubmatch(want, -1) {
		if _, ok := steps.Lookup(m[1]); !ok {
			t.Errorf("architecture.md names the step %s, which there is not", m[1])
		}
	}
	if flag.Lookup("rewrite").Value.String() == "true" {
		if err := os.WriteFile(architectureFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have != want {
		t.Error("architecture.md has other functions than the code: go test ./server -run TestArchitecture -rewrite")
	}
}

// functionTables are the way from our functions to upstream's, layer by layer, and the way back, by upstream's files.
func functionTables(t *testing.T) string {
	sites := sitesOf(t)
	var ours, theirs strings.Builder
	var back []string
	rows := map[steps.Layer]string{}
	for _, id := range steps.All() {
		info, at := id.Info(), sites[id]
		if at.function == "" {
			t.Errorf("%s is taken nowhere", id)
		}
		symbol, file := "–", "–"
		if info.Upstream.Symbol != "" {
			symbol, file = "`"+info.Upstream.Symbol+"`", strings.TrimPrefix(info.Upstream.File, "staging/src/k8s.io/")
			back = append(back, fmt.Sprintf("| %s | `%s` | `%s` | %s |\n", file, info.Upstream.Symbol, at.function, at.file))
		}
		rows[info.Layer] += fmt.Sprintf("| `%s` | `%s` | %s | %s | %s |\n", id, at.function, at.file, symbol, file)
	}
	for _, layer := range slices.Sorted(maps.Keys(rows)) {
		fmt.Fprintf(&ours, "\n### The layer %s\n\n| step | here | file | upstream | file |\n| --- | --- | --- | --- | --- |\n%s", layer, rows[layer])
	}
	slices.Sort(back)
	for _, row := range slices.Compact(back) {
		theirs.WriteString(row)
	}
	return ours.String() + "\n### And back\n\n| upstream's file | function | here | file |\n| --- | --- | --- | --- |\n" + theirs.String() + "\n"
}
