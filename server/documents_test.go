package server_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/server/internal/wiretest/documents"
	"github.com/kx-apiserver/kx/server/options"
)

// divergence is a difference from a kube-apiserver that is meant.
type divergence struct {
	// at matches the places of the differences.
	at     *regexp.Regexp
	reason string
}

// divergences are all differences that stay. The test fails where one is none any more.
var divergences = []divergence{
	{regexp.MustCompile(`kx\.dev|dev\.kx|kx-apiserver`), "kx has a group of its own"},
	{regexp.MustCompile(`^/openapi/v2.* \| io\.k8s\.apimachinery\.pkg\.apis\.meta\.v1\.Duration$`), "kx's own group has durations"},
	{regexp.MustCompile(`apps/v1beta[12]|apps\.v1beta[12]|apps \| versions \| v1beta[12]`),
		"kx serves versions of deployments that Kubernetes has given up, if api/beta=true asks for them"},
	{regexp.MustCompile(`\| (Accept-Ranges|Last-Modified)$`), "kx makes a document while it sends it: nobody can ask for a part. The tag says whether it has changed"},
	{regexp.MustCompile(`^/openapi/v3.* \| Vary$`), "kx compresses the documents of v3 too"},
	{regexp.MustCompile(`^/openapi/v3( as text/plain)? \| (Content-Type|Etag)$`), "kx's index of v3 has the type of its content, and a tag"},
	{regexp.MustCompile(`^/openapi/v3/(\.well-known|openid)/.* \| components \| schemas$`), "kx writes the list of schemas also where it is empty"},
	{regexp.MustCompile(`/v1beta2/devicetaintrules/\{name\} \| delete \| responses`), "kx answers the deletion of a rule with a Status in all versions, as v1 does"},
}

// documentTopics are what is compared, at which flags.
var documentTopics = []struct{ name, flags, title string }{
	{"discovery", "default", "discovery, at default flags"},
	{"discovery", "beta", "discovery, with `--runtime-config=api/beta=true`"},
	{"openapi", "default", "OpenAPI v2 and v3, at default flags"},
	{"openapi", "beta", "OpenAPI v2 and v3, with `--runtime-config=api/beta=true`"},
}

// documentTally is what a topic has come to, in values.
type documentTally struct{ answers, values, meant, different int }

// TestDocumentsAsUpstream asks kx what a kube-apiserver was asked about itself, and compares the answers value by value: all of
// discovery and OpenAPI. docs/compatibility.md has the result; -rewrite writes it anew.
func TestDocumentsAsUpstream(t *testing.T) {
	if !*whole {
		t.Skip("the documents are long: -whole compares them")
	}
	used := map[string]bool{}
	results := make([]*documentTally, len(documentTopics))
	for i, topic := range documentTopics {
		t.Run(topic.name+"/"+topic.flags, func(t *testing.T) {
			results[i] = asUpstream(t, topic.name, topic.flags, used)
		})
		if results[i] == nil {
			return // not all were asked for, or one could not be compared
		}
	}
	for _, e := range divergences {
		if !used[e.reason] {
			t.Errorf("there is no difference any more of which is said that %s", e.reason)
		}
	}
	var rows strings.Builder
	rows.WriteString(documentsHead)
	for i, r := range results {
		equal := r.values - r.meant - r.different
		fmt.Fprintf(&rows, "| %s | %d | %d | %.1f %% | %d |\n", documentTopics[i].title, r.answers, r.values, 100*float64(equal)/float64(r.values), r.meant+r.different)
	}
	rows.WriteString("\nWhat differs, and stays:\n\n")
	for _, e := range divergences {
		fmt.Fprintf(&rows, "- %s.\n", e.reason)
	}
	comparePart(t, rows.String(), "TestDocumentsAsUpstream", true)
}

func asUpstream(t *testing.T, topic, flags string, used map[string]bool) *documentTally {
	r := start(t, func(o *options.Options) {
		if flags == "beta" {
			o.RuntimeConfig = map[string]string{"api/beta": "true"}
		}
	})
	kx := documents.Server{URL: r.URL, Client: r.httpClient(t)}
	tally := &documents.Tally{}
	must(t, documents.Read(filepath.Join("testdata", "documents", topic+"."+flags+documents.Ending), func(kube documents.Answer) error {
		return kx.Answers(t.Context(), []documents.Ask{kube.Ask}, func(a documents.Answer) error {
			tally.Compare(kube, a)
			return nil
		})
	}))
	c := &documentTally{answers: tally.Answers, values: tally.Values}
	for _, d := range tally.Differences {
		switch reason := whyDiverges(d); {
		case reason != "":
			used[reason] = true
			c.meant += d.Values
		default:
			c.different += d.Values
			t.Error(d)
		}
	}
	t.Logf("%+v", *c)
	return c
}

func whyDiverges(d documents.Difference) string {
	for _, e := range divergences {
		if e.at.MatchString(d.At) {
			return e.reason
		}
	}
	return ""
}

const documentsTitle = "\n## Discovery and OpenAPI\n"

const documentsHead = documentsTitle + `
server/testdata/documents has what a kube-apiserver v1.37.1 says about itself: every page of discovery, plain and aggregated, in
JSON, YAML and protobuf, and every document of OpenAPI, with their headers. kx is asked the same, and the answers are compared
value by value, whatever encodes them.

| what | answers | values | equal | different |
| --- | ---: | ---: | ---: | ---: |
`

// comparePart compares a part of docs/compatibility.md with what a test says: what is before documentsTitle, or the rest.
func comparePart(t *testing.T, text, test string, last bool) {
	file := filepath.Join("..", "docs", "compatibility.md")
	data, err := os.ReadFile(file)
	must(t, err)
	parts := [2]string{string(data)}
	if i := strings.Index(parts[0], documentsTitle); i >= 0 {
		parts = [2]string{parts[0][:i], parts[0][i:]}
	}
	i := 0
	if last {
		i = 1
	}
	written := parts[i]
	parts[i] = text
	if flag.Lookup("rewrite").Value.String() == "true" {
		must(t, os.WriteFile(file, []byte(parts[0]+parts[1]), 0o644))
		return
	}
	if written != text {
		t.Errorf("docs/compatibility.md is not what the test says: go test ./server -run %s -rewrite", test)
	}
}
