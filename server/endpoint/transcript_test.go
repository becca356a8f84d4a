package endpoint_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestTranscripts sends the requests in testdata and compares what comes back. -rewrite accepts what comes back.
//
// A request is written as HTTP writes it: a line with method and path, headers, an empty line, the body. Of the response
// the status, the headers that matter and the body are shown, JSON indented. What differs from run to run is named
// instead: <uid>, <time>, and resourceVersions in the order in which they are first seen.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := newServer(t, withAdmission(&plugin{}), withAuthorizer(onlyAnn{}))
		m := &masks{versions: map[string]string{}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "http" {
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			return m.show(t, s.send(t, d.Input))
		})
	})
}

// send sends a request as it stands in a transcript.
func (s *testServer) send(t testing.TB, text string) *http.Response {
	t.Helper()
	head, body, _ := strings.Cut(text, "\n\n")
	lines := bufio.NewScanner(strings.NewReader(head))
	lines.Scan()
	method, path, _ := strings.Cut(lines.Text(), " ")
	req, err := http.NewRequest(method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	// Go would say that it is a Go client and that it reads gzip.
	req.Header.Set("User-Agent", "test")
	req.Header.Set("Accept-Encoding", "identity")
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

var shownHeaders = []string{"Content-Type", "Content-Encoding", "Allow", "Retry-After", "Vary", "Warning"}

// masks give what differs from run to run a name.
type masks struct{ versions map[string]string }

func (m *masks) show(t testing.TB, res *http.Response) string {
	t.Helper()
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	fmt.Fprintln(&out, res.Status)
	for _, name := range shownHeaders {
		for _, value := range res.Header.Values(name) {
			fmt.Fprintf(&out, "%s: %s\n", name, value)
		}
	}
	if len(body) > 0 {
		out.WriteByte('\n')
		out.Write(bytes.TrimRight(indent(body), "\n"))
		out.WriteByte('\n')
	}
	return m.hide(out.String())
}

func indent(body []byte) []byte {
	var out bytes.Buffer
	if json.Indent(&out, body, "", " ") != nil {
		return body
	}
	return out.Bytes()
}

var (
	uidPattern     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	timePattern    = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	versionPattern = regexp.MustCompile(`(resourceVersion"?: ?"?)(\d+)`)
	agePattern     = regexp.MustCompile(`"\d+s"|- \d+s`)
	// otherPatterns are numbers and tokens that depend on what else is in etcd.
	otherPatterns = []struct {
		found *regexp.Regexp
		shown string
	}{
		{regexp.MustCompile(`current: \d+`), "current: <revision>"},
		{regexp.MustCompile(`in record \(\d+\)`), "in record (<revision>)"},
		{regexp.MustCompile(`/registry-\d+/`), "/registry/"},
		{regexp.MustCompile(`"continue": "[^"]+"`), `"continue": "<token>"`},
	}
)

func (m *masks) hide(text string) string {
	text = uidPattern.ReplaceAllString(text, "<uid>")
	text = timePattern.ReplaceAllString(text, "<time>")
	text = agePattern.ReplaceAllString(text, `"<age>"`)
	for _, p := range otherPatterns {
		text = p.found.ReplaceAllString(text, p.shown)
	}
	return versionPattern.ReplaceAllStringFunc(text, func(found string) string {
		parts := versionPattern.FindStringSubmatch(found)
		if m.versions[parts[2]] == "" {
			m.versions[parts[2]] = fmt.Sprintf("r%d", len(m.versions)+1)
		}
		return parts[1] + m.versions[parts[2]]
	})
}
