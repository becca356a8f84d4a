package export

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/core/escape/escapetest"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

var rewrite = flag.Bool("rewrite", false, "write the documents anew")

var saved = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// recorded are journeys of a real server, by name. The patch has objects.
func recorded(t *testing.T) map[string]*v1alpha1.Journey {
	t.Helper()
	byName := journeysOf(t, "../../../../core/story/testdata/journeys.json")
	for i := range byName["patch"].Status.Steps {
		if s := &byName["patch"].Status.Steps[i]; s.ID == "handler.apply-patch" {
			s.Before, s.After = object(`{"metadata":{"name":"demo"},"data":{"a":"1"}}`), object(`{"metadata":{"name":"demo","labels":{"a":"b"}},"data":{"a":"2"}}`)
		}
	}
	return byName
}

// journeysOf are the journeys of a file, by name.
func journeysOf(t *testing.T, file string) map[string]*v1alpha1.Journey {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list v1alpha1.JourneyList
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	byName := map[string]*v1alpha1.Journey{}
	for i := range list.Items {
		byName[list.Items[i].Name] = &list.Items[i]
	}
	return byName
}

func object(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }

// write is a document in a form.
func write(t *testing.T, as render.Format, d *Document) string {
	t.Helper()
	var b bytes.Buffer
	if err := d.Write(&b, as); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// golden compares a text with a file under testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || got != string(want) {
		t.Errorf("%s is another (-rewrite writes it): %v\n%s", name, err, got)
	}
}

// TestGolden writes a patch in each form: these three files are read by people. forms_test.go holds all journeys to what each form
// must have.
func TestGolden(t *testing.T) {
	for _, as := range forms {
		golden(t, "patch."+string(as), write(t, as, documentOf(recorded(t)["patch"])))
	}
}

// documentOf is a document of one journey, with code.
func documentOf(j *v1alpha1.Journey) *Document {
	return &Document{Server: "https://127.0.0.1:7443", Saved: saved, Journeys: []*v1alpha1.Journey{j}, Files: files}
}

// forms are all forms.
var forms = []render.Format{Markdown, HTML, SVG}

// files has one file, with the functions that get and write.
func files(file string) (string, error) {
	if !strings.HasSuffix(file, "etcd3/kv.go") {
		return "", fmt.Errorf("there is no <file> %s", file)
	}
	function := func(name string) string {
		return "func (k *kv) " + name + "(a <-chan int) {\n" + strings.Repeat("\tcall(`<b>`, \"&\")\n", 12) + "}\n"
	}
	return strings.Repeat("\n", 19) + function("get") + strings.Repeat("\n", 70) + function("commit"), nil
}

// words are what a text could be mistaken for, where it stands in a document.
var words = []string{
	"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</title></style></pre></details>", "--><b>", "]]><b>", "<!--", "&amp;&lt;", "`code`", "```", "~~~~",
	"| a | b |", "[a](javascript:alert(1))", "![a](https://example.com/a.png)", "*a* _b_ ~~c~~ $d$", "@somebody #7",
	":bug: a:+1:b:x_y:c GH-1 gh-2", "https://example.com www.example.com",
	"# title", "- item", "1. item", "===", "end", "%%{init: {}}%%", "a;b#c", "Note over client: x", "{{.}}", "\"'", "A->>B: x", `\`, "a\n```\n# b", "a\r\n\r\n    b",
}

// hostile has every text of a journey be one that means something in a document.
func hostile(text string) *v1alpha1.Journey {
	j := &v1alpha1.Journey{Status: v1alpha1.JourneyStatus{
		Steps: make([]v1alpha1.Step, 3), Marks: make([]v1alpha1.Mark, 1), Deliveries: make([]v1alpha1.Delivery, 1),
		Interventions: make([]v1alpha1.Intervention, 1), Held: make([]v1alpha1.HeldStep, 1), Touched: make([]string, 1),
	}}
	for i := range j.Status.Steps {
		j.Status.Steps[i] = v1alpha1.Step{Reason: &v1alpha1.Reason{Values: make([]v1alpha1.Attribute, 1)}, Attributes: make([]v1alpha1.Attribute, 1), Parent: int32(i) - 1, Line: 1}
	}
	j.Status.Interventions[0].Step = 1
	fill(reflect.ValueOf(j).Elem(), text)
	after, _ := json.Marshal(map[string]any{text: text, "list": []string{text}})
	j.Status.Steps[2].Before, j.Status.Steps[2].After = object("{}"), object(string(after))
	j.Status.Started = metav1.NewMicroTime(saved)
	j.Status.Phase, j.Status.Code = v1alpha1.JourneyComplete, 200
	j.Status.Steps[0].Layer, j.Status.Steps[1].Error = "filter", ""
	return j
}

// fill sets all strings.
func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Pointer:
		if !v.IsNil() {
			fill(v.Elem(), text)
		}
	case reflect.Slice:
		for i := range v.Len() {
			fill(v.Index(i), text)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), text)
			}
		}
	}
}

// hostileDocuments calls check with a document of each hostile text, alone and beside others.
func hostileDocuments(t *testing.T, as render.Format, check func(t *testing.T, text, written string)) {
	t.Helper()
	texts := words
	for _, h := range escapetest.Texts {
		texts = append(texts, h.Raw)
	}
	for _, text := range append(texts, strings.Join(texts, " ")) {
		d := &Document{Server: text, Saved: saved, Journeys: []*v1alpha1.Journey{hostile(text), hostile("b" + text)}, NoFiles: text}
		written := write(t, as, d)
		if raw := escapetest.Find(written, "\n"); raw != "" {
			t.Errorf("%s of %q has %s", as, text, raw)
		}
		check(t, text, written)
	}
}

// TestHostileMarkdown has no text of a journey begin or end anything: the structure is that of harmless texts.
func TestHostileMarkdown(t *testing.T) {
	harmless := &Document{Server: "x", Saved: saved, Journeys: []*v1alpha1.Journey{hostile("a"), hostile("b")}}
	want := outline(t, write(t, Markdown, harmless))
	hostileDocuments(t, Markdown, func(t *testing.T, text, written string) {
		if got := outline(t, written); got != want {
			t.Errorf("with %q the document has another structure:\n%s\nwant\n%s", text, got, want)
		}
	})
}

var (
	inSequence = regexp.MustCompile(`^(sequenceDiagram|  Note over client: ([^#;:<>{}%\x60|]|#\d+;|<br/>)+|` +
		`  participant \w+ as [\w ]+|  \w+(->>|-->>|--x)\w+: (([^#;:<>{}%\x60|]|#\d+;)+))$`)
	markup  = regexp.MustCompile("[^\\\\]([`*\\[\\]|~$]|[<>]|&(#|lt;|gt;|amp;)?|://|www\\.)")
	allowed = map[string]bool{"&lt;": true, "&gt;": true, "&amp;": true}
)

// outline is the structure of a Markdown document: what each line is.
func outline(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	fence, language := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case fence != "" && line == fence:
			fence = ""
		case fence != "" && language == "diff":
			if line == "" || !strings.ContainsRune(" +-", rune(line[0])) {
				t.Errorf("a line of a diff without mark: %q", line)
			}
		case fence != "" && !inSequence.MatchString(line):
			t.Errorf("a line that Mermaid takes for something else: %q", line)
		case fence != "":
		case strings.HasPrefix(line, "```"):
			language = strings.TrimLeft(line, "`")
			fence = strings.TrimSuffix(line, language)
			b.WriteString(language + "\n")
		default:
			shape(t, &b, line)
		}
	}
	return b.String()
}

// shape writes what a line outside of fences is, and looks for markup in it.
func shape(t *testing.T, b *strings.Builder, line string) {
	t.Helper()
	rest := strings.TrimLeft(line, " #-")
	fmt.Fprintf(b, "%q\n", line[:len(line)-len(rest)])
	plain := strings.ReplaceAll(strings.ReplaceAll(" "+rest, `\\`, ""), "<!-- -->", "")
	for _, m := range markup.FindAllStringSubmatch(plain, -1) {
		if !allowed[m[1]] {
			t.Errorf("markup %q in the line %q", m[1], line)
		}
	}
	if regexp.MustCompile(`[@#]($|[^<])`).MatchString(strings.ReplaceAll(rest, "&#", "")) {
		t.Errorf("a mention in the line %q", line)
	}
	if found := regexp.MustCompile(`(?i):(\w+[a-z+-]|[+-]1):|gh-\d`).FindString(strings.ReplaceAll(rest, `\_`, "_")); found != "" {
		t.Errorf("the emoji or issue %q in the line %q", found, line)
	}
	if regexp.MustCompile(`^(\d+[.)]|[+=])`).MatchString(rest) {
		t.Errorf("the line %q begins something", line)
	}
}

// TestLimit leaves out what there is no room for, and says so.
func TestLimit(t *testing.T) {
	for _, as := range forms {
		for _, limit := range []int{reserve + 1000, reserve + 60_000} {
			d := &Document{Saved: saved, Limit: limit}
			for range 100 {
				j := hostile("a")
				j.Status.Steps[2].After = object(`{"k":"` + strings.Repeat("x", 10_000) + `"}`)
				j.Status.Steps[1].Why = strings.Repeat("why ", 500)
				d.Journeys = append(d.Journeys, j)
			}
			written := write(t, as, d)
			if len(written) > limit || !strings.Contains(written, "left out") || !strings.Contains(written, fmt.Sprintf("more than %d bytes", limit)) {
				t.Errorf("%s of at most %d bytes has %d: %.2000s", as, limit, len(written), written)
			}
		}
	}
}

// TestUnknownForm refuses what there is not.
func TestUnknownForm(t *testing.T) {
	if err := (&Document{}).Write(&bytes.Buffer{}, "pdf"); err == nil || !strings.Contains(err.Error(), `"pdf"`) {
		t.Errorf("%v", err)
	}
}
