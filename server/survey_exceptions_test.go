package server_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/server/wiretest/survey"
)

// exception is a finding in which kx is different, and why it stays so. testdata/survey/exceptions.yaml lists those with a
// reason.
type exception struct {
	Resource   string `json:"resource"`
	APIVersion string `json:"apiVersion"`
	Field      string `json:"field"`
	Cause      string `json:"cause"`
	Reason     string `json:"reason"`
}

// unexplained is the reason of a difference that the file does not name.
const unexplained = "not explained yet"

// namedDifferences gives a tally's differences their reasons. Those that only cases show which are held back stay unseen.
// The file may not name what has become equal.
func namedDifferences(t *testing.T, source survey.Source, tally survey.Tally) []exception {
	var known []exception
	data, err := os.ReadFile(filepath.Join(surveyDir, "exceptions.yaml"))
	must(t, err)
	must(t, yaml.UnmarshalStrict(data, &known))
	var shown []exception
	for _, d := range tally.Differences {
		if d.HeldBack() {
			continue
		}
		for _, f := range d.Findings {
			e := exception{source.String(), f.APIVersion, f.Field, f.Cause, unexplained}
			if i := slices.IndexFunc(known, func(k exception) bool { return k.names(e) }); i >= 0 {
				e.Reason = known[i].Reason
			}
			if !slices.Contains(shown, e) {
				shown = append(shown, e)
			}
		}
	}
	for _, k := range known {
		if k.Resource == source.String() && !slices.ContainsFunc(shown, k.names) {
			t.Errorf("this is equal now, take it out of exceptions.yaml: %+v", k)
		}
	}
	slices.SortFunc(shown, func(a, b exception) int {
		return cmp.Or(cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Cause, b.Cause))
	})
	return shown
}

// names says whether e is the exception that the file has as k.
func (k exception) names(e exception) bool {
	k.Reason, e.Reason = "", ""
	return k == e
}

// writeExceptions writes the table of what is different.
func writeExceptions(out *strings.Builder, results []*result) {
	const head = `
## What is different

The first column is the resource, the second the field of which a case changed the value, the third what the kube-apiserver said or,
after "not:", what kx said alone. A tenth of all cases is held back: kx is compared in them too, but what they show is not listed.

`
	cell := func(text string) string { return strings.ReplaceAll(text, "|", "\\|") }
	rows := ""
	for _, r := range results {
		for _, e := range r.Exceptions {
			rows += fmt.Sprintf("| %s %s | %s | %s | %s |\n", e.Resource, e.APIVersion, cell(e.Field), cell(e.Cause), cell(e.Reason))
		}
	}
	if rows == "" {
		out.WriteString("\n## What is different\n\nNothing that a case shows which is not held back.\n")
		return
	}
	out.WriteString(head + "| resource | field | cause | why |\n| --- | --- | --- | --- |\n" + rows)
}
