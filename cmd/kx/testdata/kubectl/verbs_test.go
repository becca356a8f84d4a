package kubectl

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestVerbs runs kubectl's commands on kx, and compares with what they say on a kube-apiserver v1.37.1: testdata/verbs has that.
// A file has a server of its own, and an input a command a line.
//
//	KUBE_APISERVER=/tmp/kube-apiserver go test -run TestVerbs -rewrite
//
// records what they say.
func TestVerbs(t *testing.T) {
	kx := build(t)
	files, err := filepath.Glob(filepath.Join("testdata", "verbs", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			var m *machine
			if kube := kubeBinary(t); kube != "" {
				m = serveKube(t, kx, kube)
			} else {
				t.Parallel()
				m = serveKx(t, kx)
			}
			if err := os.CopyFS(m.home, os.DirFS(filepath.Join("testdata", "objects"))); err != nil {
				t.Fatal(err)
			}
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				var said strings.Builder
				for line := range strings.Lines(d.Input) {
					said.WriteString(m.say(t, line))
				}
				return said.String()
			})
		})
	}
}

// serveKx starts a kx for the user that the kube-apiserver had when it was recorded, and without controllers and most plugins, as that was.
func serveKx(t *testing.T, kx string) *machine {
	t.Helper()
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(tokens, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	m := serve(t, kx, "--token-auth-file", tokens, "--controllers=-*", "--disable-admission-plugins="+unasked)
	m.use(t, m.url)
	return m
}

// uid in a command stands for that of an object.
var uid = regexp.MustCompile(`\{uid:([^}]+)\}`)

// say is what kubectl does with a command, without what depends on the time and the machine.
func (m *machine) say(t *testing.T, line string) string {
	t.Helper()
	line = uid.ReplaceAllStringFunc(line, func(found string) string {
		return m.kubectl(t, "get", uid.FindStringSubmatch(found)[1], "-o=jsonpath={.metadata.uid}").out
	})
	a := m.kubectl(t, words(line)...)
	text := a.out + a.err
	if a.code != 0 {
		text += fmt.Sprintf("exit code %d\n", a.code)
	}
	for _, r := range replacements {
		text = r.found.ReplaceAllString(text, r.shown)
	}
	return text
}

// quoted is a word of a command: parts of it may be in single quotes.
var quoted = regexp.MustCompile(`([^\s']|'[^']*')+`)

func words(line string) (all []string) {
	for _, word := range quoted.FindAllString(strings.TrimSpace(line), -1) {
		all = append(all, strings.ReplaceAll(word, "'", ""))
	}
	return all
}

// replacements are for what differs between two runs on one server, and the width of columns that comes of it.
var replacements = []struct {
	found *regexp.Regexp
	shown string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<uid>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "<time>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000 UTC`), "<time>"},
	{regexp.MustCompile(`(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}`), "<time>"},
	{regexp.MustCompile(`(?i)(resource ?version"?: *"?)[1-9]\d*`), "$1<revision>"},
	{regexp.MustCompile(`https://127\.0\.0\.1:\d+`), "<server>"},
	{regexp.MustCompile(`\b10\.(9[6-9]|10\d|11[01])\.\d+\.\d+\b`), "<address>"},
	{regexp.MustCompile(`(targetPort"?: )\d{5}`), "$1<port>"},
	{regexp.MustCompile(`\b3[0-2]\d{3}(/TCP)`), "<port>$1"},
	{regexp.MustCompile(`\b((1[01])?\d{1,2}s|[1-9]m(\d+s)?)(\s)`), "<age>$4"},
	{regexp.MustCompile(`<invalid>`), "<age>"},         // a machine's clock is in whole seconds, an object's time is not
	{regexp.MustCompile(`(?m)^.*\bkx\.dev\b.*\n`), ""}, // kx has a group of its own
	{regexp.MustCompile(`(\S) {2,}`), "$1  "},
	{regexp.MustCompile(`(?m)[ \t]+$`), ""},
	{regexp.MustCompile(`\n{2,}`), "\n"},
}
