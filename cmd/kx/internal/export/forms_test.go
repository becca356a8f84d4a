package export

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/cmd/kx/internal/render/journey"
	"github.com/kx-apiserver/kx/core/escape/escapetest"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/refusal"
	"github.com/kx-apiserver/kx/core/story"
	"github.com/kx-apiserver/kx/tui/draw"
)

// each calls check with the document of every recorded journey in a form, which has no raw control characters.
func each(t *testing.T, as render.Format, check func(t *testing.T, j *v1alpha1.Journey, written string)) {
	t.Helper()
	for name, j := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			written := write(t, as, documentOf(j))
			if raw := escapetest.Find(written, "\n"); raw != "" {
				t.Errorf("the document has %s", raw)
			}
			check(t, j, written)
		})
	}
}

// inOrder fails the test unless a text has all parts, each behind the one before.
func inOrder(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Fatalf("%q is missing, or out of order, in\n%s", part, text)
		}
		rest = after
	}
}

// TestMarkdown has the title, every sentence of the story at its depth with a mark where something failed, and a diagram with an arrow
// for the request, for each call and return between layers, and for the answer.
func TestMarkdown(t *testing.T) {
	each(t, Markdown, func(t *testing.T, j *v1alpha1.Journey, written string) {
		outline(t, written)
		parts := []string{
			"# " + j.Spec.Method + " /", fmt.Sprintf(" — %d, ", j.Status.Code), "2026-01-02T03:04:05Z, from https", "Journey " + j.Name,
			"\n## Story\n\n",
		}
		for _, l := range story.Tell(j, lang.English).Lines() {
			mark := map[bool]string{true: "✗ "}[l.Failed]
			parts = append(parts, strings.Repeat("  ", l.Depth)+"- "+mark+inMarkdown(l.Text)+"\n")
		}
		inOrder(t, written, append(parts, "\n## Layers\n\n```mermaid\n", "```\n")...)
		_, diagram, _ := strings.Cut(written, "```mermaid\n")
		diagram, _, _ = strings.Cut(diagram, "```")
		sequence(t, j, diagram)
	})
}

// sequence holds a diagram to a journey.
func sequence(t *testing.T, j *v1alpha1.Journey, diagram string) {
	t.Helper()
	inOrder(t, diagram, "participant client as client", "participant filter as filters", "participant handler as handler",
		"client->>filter: "+j.Spec.Method, "filter->>filter: 14 filters let it pass")
	end := map[bool]string{true: "--x", false: "-->>"}
	for i := range j.Status.Steps {
		s := &j.Status.Steps[i]
		if s.Layer == "filter" || s.Parent < 0 {
			continue
		}
		from, to := laneOf(j.Status.Steps[s.Parent].Layer), laneOf(s.Layer)
		inOrder(t, diagram, fmt.Sprintf("  %s->>%s: %s", from, to, inMermaid(s.Title)))
		if from != to && s.Error == "" {
			inOrder(t, diagram, fmt.Sprintf("  %s%s%s: ", to, end[false], from))
		}
		if from != to && s.Error != "" {
			inOrder(t, diagram, fmt.Sprintf("  %s%s%s: %s", to, end[true], from, inMermaid(s.Error[:min(len(s.Error), 40)])))
		}
	}
	for _, d := range j.Status.Deliveries {
		inOrder(t, diagram, fmt.Sprintf("  cacher->>watcher: %s at revision %d to %s", d.Type, d.Revision, d.User))
	}
	inOrder(t, diagram, fmt.Sprintf("  filter%sclient: %d, ", end[j.Status.Code >= 400], j.Status.Code))
}

// seen is what a browser shows of a page, element by element: the text of each title, heading, paragraph, sentence, summary, line of a
// list, and line of a diff, behind the element's name.
func seen(t *testing.T, page string) (all []string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode || !slices.Contains(strings.Fields("title h1 h2 p li summary ins del"), n.Data) {
			continue
		}
		text := ""
		for child := range n.Descendants() {
			if child.Type == html.TextNode {
				text += child.Data
			}
		}
		all = append(all, n.Data+" "+strings.Join(strings.Fields(text), " "))
	}
	return all
}

// balanced fails the test unless each element of a page ends, and within the one that it began in: html.Parse repairs what is not so.
func balanced(t *testing.T, page string) {
	t.Helper()
	var open []string
	for z := html.NewTokenizer(strings.NewReader(page)); ; {
		kind := z.Next()
		name, _ := z.TagName()
		switch {
		case kind == html.ErrorToken && errors.Is(z.Err(), io.EOF):
			if len(open) > 0 {
				t.Errorf("%v never end", open)
			}
			return
		case kind == html.ErrorToken:
			t.Fatal(z.Err())
		case kind == html.StartTagToken && string(name) != "meta" && string(name) != "input":
			open = append(open, string(name))
		case kind == html.EndTagToken && (len(open) == 0 || open[len(open)-1] != string(name)):
			t.Fatalf("</%s> ends nothing within %v", name, open)
		case kind == html.EndTagToken:
			open = open[:len(open)-1]
		}
	}
}

// TestPage has the title, every sentence of the story, every step with why it went so and where its code is, here and upstream, and the
// capture itself.
func TestPage(t *testing.T) {
	each(t, HTML, func(t *testing.T, j *v1alpha1.Journey, written string) {
		balanced(t, written)
		readBack(t, j.Name, written, []*v1alpha1.Journey{j})
		all := strings.Join(seen(t, written), "\n") + "\n"
		title := fmt.Sprintf("%s %s — %d, ", j.Spec.Method, j.Spec.URI, j.Status.Code)
		origin := "p kx wrote this at 2026-01-02T03:04:05Z, from https://127.0.0.1:7443."
		parts := []string{"title " + title, "h1 " + title, origin, "p Journey " + j.Name}
		for _, part := range story.Tell(j, lang.English).Parts {
			if part.Folds() {
				parts = append(parts, "summary "+strings.Join(strings.Fields(part.Short[0].Text), " ")+"\n")
				part.Short = append(slices.Clone(part.Whole), part.Short[1:]...)
			}
			for _, l := range part.Short {
				parts = append(parts, "li "+strings.Join(strings.Fields(l.Text), " ")+"\n")
			}
		}
		parts = append(parts, "summary filter 14 let it pass\n")
		for i := range j.Status.Steps {
			s := &j.Status.Steps[i]
			parts = append(parts, s.Title, s.Subject, s.Why, s.Error, "\nsummary "+s.Function+"\n",
				fmt.Sprintf("p %s in %s:%d, ", s.ID, s.File, s.Line), fmt.Sprintf("; upstream %s in %s %s\n", s.Upstream, s.UpstreamFile, s.UpstreamRelease))
			for _, a := range s.Attributes {
				parts = append(parts, "li "+a.Name+": "+a.Value+"\n")
			}
		}
		inOrder(t, all, parts...)
		if failed := strings.Contains(written, `<li style="margin-left: 0em" class="failed">`); failed != (j.Status.Code >= 400) {
			t.Errorf("a failure is marked: %v", failed)
		}
	})
}

// TestChanges shows what a step changed in the object, in the forms that have room for it.
func TestChanges(t *testing.T) {
	patch := documentOf(recorded(t)["patch"])
	inOrder(t, write(t, Markdown, patch), "Changed by handler.apply-patch", "```diff\n", "\n-   a: \"1\"\n+   a: \"2\"\n",
		"\n+   labels:\n+     a: b\n", "```\n")
	all := strings.Join(seen(t, write(t, HTML, patch)), "\n")
	inOrder(t, all, "p handler.apply-patch in", "What it changed in the object", `del - a: "1"`, `ins + a: "2"`, "ins + labels:", "ins + a: b")
}

// TestDrawing has a row for each step, as a terminal shows the tree: all of its text, within the picture, each part behind the one before.
// A failure and a success have their colours.
func TestDrawing(t *testing.T) {
	each(t, SVG, func(t *testing.T, j *v1alpha1.Journey, written string) {
		var tree bytes.Buffer
		journey.Tree(&tree, j, nil, journey.Plain.WithWidth(cellsMost))
		want := strings.Split(strings.TrimSuffix(tree.String(), "\n"), "\n")
		var svg struct {
			Width  int    `xml:"width,attr"`
			Height int    `xml:"height,attr"`
			Title  string `xml:"title"`
			Rows   []struct {
				Y     int `xml:"y,attr"`
				Spans []struct {
					X      int    `xml:"x,attr"`
					Length int    `xml:"textLength,attr"`
					Class  string `xml:"class,attr"`
					Text   string `xml:",chardata"`
				} `xml:"tspan"`
			} `xml:"g>text"`
		}
		if err := xml.Unmarshal([]byte(written), &svg); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(svg.Title, j.Spec.Method+" "+j.Spec.URI) || len(svg.Rows) != len(want) {
			t.Fatalf("%q has %d rows, want %d", svg.Title, len(svg.Rows), len(want))
		}
		classes := map[string]bool{}
		for i, row := range svg.Rows {
			text, end := "", 0
			for _, span := range row.Spans {
				if span.X < end || span.Length != draw.Width(span.Text)*draw.CellWidth {
					t.Errorf("row %d: %q of %d at %d, the part before ends at %d", i, span.Text, span.Length, span.X, end)
				}
				text, end = text+" "+span.Text, span.X+span.Length
				classes[span.Class] = true
			}
			if !slices.Equal(strings.Fields(text), strings.Fields(want[i])) || end > svg.Width || row.Y > svg.Height-draw.PictureBorder {
				t.Errorf("row %d to %dx%d of %dx%d: %s\nwant %s", i, end, row.Y, svg.Width, svg.Height, text, want[i])
			}
		}
		if failed := j.Status.Code >= 400; classes["bad"] != failed || classes["good"] == failed || !classes["layer"] || !classes["dim"] {
			t.Errorf("the classes are %v", classes)
		}
	})
}

// TestDrawingIsWhole wraps a reason that is wider than the drawing, below itself and beside the rails: nothing of it is cut.
func TestDrawingIsWhole(t *testing.T) {
	j := recorded(t)["get"].DeepCopy()
	at := slices.IndexFunc(j.Status.Steps, func(s v1alpha1.Step) bool { return s.ID == "store.get" })
	j.Status.Steps[at].Reason, j.Status.Steps[at].Why = nil, strings.Repeat("one more word ", 60)+"of "+strings.Repeat("/a-long-key", 30)
	written := write(t, SVG, documentOf(j))
	if strings.Contains(written, "…") || letters(written) == "" || !strings.Contains(letters(written), letters(j.Status.Steps[at].Why)) {
		t.Errorf("the reason is cut in\n%s", written)
	}
	for _, x := range regexp.MustCompile(`<tspan x="(\d+)" textLength="(\d+)"`).FindAllStringSubmatch(written, -1) {
		from, _ := strconv.Atoi(x[1])
		length, _ := strconv.Atoi(x[2])
		if from+length > 2*draw.PictureBorder+cellsMost*draw.CellWidth {
			t.Errorf("a text of %d begins at %d", length, from)
		}
	}
}

var (
	tags      = regexp.MustCompile(`(?s)<style>.*?</style>|<svg[^>]*>|</?[a-zA-Z!][^>]*>`)
	character = regexp.MustCompile(`#(\d+);`)
)

// letters are the letters and digits that the reader of a document sees, whatever its form.
func letters(text string) string {
	text = html.UnescapeString(tags.ReplaceAllString(text, ""))
	text = character.ReplaceAllStringFunc(text, func(s string) string {
		n, _ := strconv.Atoi(s[1 : len(s)-1])
		return string(rune(n))
	})
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text)
}

// conflict is a document of an update that another request overtook, in a language.
func conflict(t *testing.T, in lang.Language) *Document {
	t.Helper()
	all := journeysOf(t, "../../../../tui/testdata/pictures.json")
	for _, j := range all {
		if j.Status.Code == 409 {
			return &Document{Saved: saved, Journeys: []*v1alpha1.Journey{j}, Language: in,
				Others: map[string][]*v1alpha1.Journey{j.Name: refusal.RelatedRequests(j, maps.Values(all))}}
		}
	}
	t.Fatal("no update was refused")
	return nil
}

// TestConflict has each form, and the diagram alone, say the same of an update that was refused: both revisions, who moved the object,
// what both changed, and what can be done.
func TestConflict(t *testing.T) {
	for _, in := range []lang.Language{lang.English, lang.Chinese} {
		d := conflict(t, in)
		said := map[string]string{"mermaid": d.sequence(d.Journeys[0])}
		for _, as := range forms {
			said[string(as)] = write(t, as, d)
		}
		card := refusal.Explain(d.Journeys[0], d.Others[d.Journeys[0].Name], in)
		facts := []string{"409", card.Next}
		for _, f := range card.Facts {
			facts = append(facts, f.Text)
		}
		whole := strings.Join(facts, "\n")
		for _, want := range []string{"57", "58", "data."} {
			if !strings.Contains(whole, want) {
				t.Errorf("the card lacks %q:\n%s", want, whole)
			}
		}
		for form, text := range said {
			for _, fact := range facts {
				if !strings.Contains(letters(text), letters(fact)) {
					t.Errorf("%s in %s does not say %q:\n%s", form, in, fact, text)
				}
			}
		}
	}
}

// TestTwo writes two journeys in one document, one after the other below a heading that counts them, and says why there is no code.
func TestTwo(t *testing.T) {
	all := recorded(t)
	two := &Document{Saved: saved, Journeys: []*v1alpha1.Journey{all["get"], all["conflict"]}, NoFiles: "its code is not known"}
	inOrder(t, write(t, Markdown, two), "# 2 journeys\n", "\n## GET /", "Journey get,", "\n### Story\n", "\n### Layers\n",
		"\n## PUT /", "Journey conflict,", "\n### Story\n", "\n### Layers\n")
	page := write(t, HTML, two)
	balanced(t, page)
	readBack(t, "two", page, two.Journeys)
	inOrder(t, strings.Join(seen(t, page), "\n"), "title 2 journeys\n", "h1 2 journeys\n",
		"p The code is left out: its code is not known.\n", "h2 GET /", "h2 PUT /")
	inOrder(t, write(t, SVG, two), "<title>2 journeys</title>", ">GET /", ">PUT /")
}
