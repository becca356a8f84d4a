package server_test

import (
	"fmt"
	"strings"
)

const exceptionsHead = `
## What is different

The first column is the resource, the second the field of which a case changed the value, the third what the kube-apiserver said or,
after "not:", what only kx said. A hash picked a tenth of the cases, at which nobody looked while the rules were written. A
difference without a reason fails the test, and so does a reason without a difference.

`

// writeExceptions writes the table of what is different.
func writeExceptions(out *strings.Builder, results []*result) {
	cell := func(text string) string { return strings.ReplaceAll(text, "|", "\\|") }
	rows := ""
	for _, r := range results {
		for _, f := range r.Sorted() {
			rows += fmt.Sprintf("| %s %s | %s | %s | %s |\n", r.Source, f.APIVersion, cell(f.Field), cell(f.Cause), cell(r.exceptions.Reason(r.Source, f)))
		}
	}
	if rows == "" {
		out.WriteString("\n## What is different\n\nNothing.\n")
		return
	}
	out.WriteString(exceptionsHead + "| resource | field | cause | why |\n| --- | --- | --- | --- |\n" + rows)
}
