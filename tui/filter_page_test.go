package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/subject"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/tui/internal/tuitest"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
)

// TestFilterPage holds the table of fields against the language. With -rewrite it writes the table.
func TestFilterPage(t *testing.T) {
	file := filepath.Join(docs, "filter.md")
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const end = "<!-- end -->"
	head, rest, ok := strings.Cut(string(page), "<!-- fields: ")
	mark, rest, ok2 := strings.Cut(rest, "\n")
	_, tail, ok3 := strings.Cut(rest, end)
	if !ok || !ok2 || !ok3 {
		t.Fatal("the page has no place for the table")
	}
	var b strings.Builder
	b.WriteString(head + "<!-- fields: " + mark + "\n| field | holds | what it is | example |\n| --- | --- | --- | --- |\n")
	for _, f := range filter.Fields() {
		names := "`" + strings.Join(append([]string{f.Name}, f.Aliases...), "`, `") + "`"
		fmt.Fprintf(&b, "| %s | %s | %s | `%s` |\n", names, f.Kind, f.Help, f.Example)
	}
	screentest.Golden(t, file, b.String()+end+tail)
}

// found are the recorded requests that the examples of the page find.
var found = map[string]string{
	"verb:update,patch code>=400":                                    "rec-8 rec-17",
	"resource:configmaps name:h* !verb:get":                          "rec-15 rec-16 rec-17",
	"dur>1ms | steps>40":                                             "rec-1 rec-7 rec-8 rec-9 rec-10 rec-11 rec-12 rec-13 rec-16 rec-17 rec-18 rec-19",
	`why:"so has the cache"`:                                         "rec-3 rec-10 rec-11 rec-18 rec-19",
	`step(etcd.txn why:"nothing was written")`:                       "rec-16",
	`step(store.try-update "attempt 2") -> step(etcd.txn why:still)`: "rec-16",
	"steps(etcd.txn)>1":                                              "rec-16",
	"touched:spec.replicas after:rec-18":                             "rec-19",
	"delivered:Go-http-client verb:patch":                            "rec-9",
	"layer:cacher !layer:etcd code:200":                              "rec-2 rec-4",
}

// TestFilterExamples looks for what the page says with each of its examples, in recorded requests.
func TestFilterExamples(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(docs, "filter.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, examples, _ := strings.Cut(string(page), "## Examples")
	rows := regexp.MustCompile("(?m)^\\| `(.*)` \\|").FindAllStringSubmatch(examples, -1)
	if len(rows) != len(found) {
		t.Errorf("the page has %d examples, want %d", len(rows), len(found))
	}
	recorded := tuitest.Recorded(t, "pane/testdata/journeys.json")
	for _, row := range rows {
		text := strings.ReplaceAll(row[1], `\|`, "|")
		f, err := filter.Parse(text, trace.Names)
		if err != nil {
			t.Error(err)
			continue
		}
		selected, err := subject.Select(recorded, f)
		if err != nil {
			t.Error(err)
		}
		var names []string
		for _, j := range selected {
			names = append(names, j.Name)
		}
		if got := strings.Join(names, " "); got != found[text] || got == "" {
			t.Errorf("%q: %q,", text, got)
		}
	}
}
