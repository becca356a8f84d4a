package export

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/kx-apiserver/kx/core/capture"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// TestHostilePage has no text of a journey become an element or an attribute: browsers see what they see with harmless texts.
func TestHostilePage(t *testing.T) {
	harmless := &Document{Server: "x", Saved: saved, Journeys: []*v1alpha1.Journey{hostile("a"), hostile("b")}, NoFiles: "x"}
	want := elements(t, write(t, HTML, harmless))
	if strings.Count(want, "<script") != 1 || strings.Count(want, "<details") < 8 {
		t.Fatalf("the page has the elements\n%s", want)
	}
	hostileDocuments(t, HTML, func(t *testing.T, text, written string) {
		if got := elements(t, written); got != want {
			t.Errorf("with %q the page has the elements\n%s\nwant\n%s", text, got, want)
		}
		readBack(t, text, written, []*v1alpha1.Journey{hostile(text), hostile("b" + text)})
	})
}

// TestHostileCode escapes code too.
func TestHostileCode(t *testing.T) {
	for _, text := range words {
		d := &Document{Saved: saved, Journeys: []*v1alpha1.Journey{hostile(text)}, Files: func(string) (string, error) { return strings.ReplaceAll(text, "\n", "") + "\n", nil }}
		want := &Document{Saved: saved, Journeys: []*v1alpha1.Journey{hostile("a")}, Files: func(string) (string, error) { return "a\n", nil }}
		if got, want := elements(t, write(t, HTML, d)), elements(t, write(t, HTML, want)); got != want || !strings.Contains(got, "href") {
			t.Errorf("with %q the page has the elements\n%s\nwant\n%s", text, got, want)
		}
	}
}

// elements are the elements of a page with their attributes, as a browser sees them.
func elements(t *testing.T, text string) string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for n := range root.Descendants() {
		switch n.Type {
		case html.ElementNode:
			fmt.Fprintf(&b, "<%s %v>", n.Data, n.Attr)
		case html.CommentNode:
			fmt.Fprintf(&b, "<!-- %s -->", n.Data)
		}
	}
	return b.String()
}

// readBack reads the capture of a page.
func readBack(t *testing.T, text, written string, want []*v1alpha1.Journey) {
	t.Helper()
	r, err := capture.NewReader(strings.NewReader(written))
	if err != nil {
		t.Fatalf("with %q: %v", text, err)
	}
	for _, j := range want {
		got, err := r.Next()
		if err != nil {
			t.Fatalf("with %q: %v", text, err)
		}
		if a, b := plain(t, got), plain(t, j); a != b {
			t.Errorf("with %q: read %s\nwant %s", text, a, b)
		}
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("with %q: %v behind the last journey", text, err)
	}
}

// plain is a journey as JSON. Objects within it have the escapes of whoever wrote them, so that all is decoded first.
func plain(t *testing.T, j *v1alpha1.Journey) string {
	t.Helper()
	data, err := json.Marshal(j)
	var v any
	if err := errors.Join(err, json.Unmarshal(data, &v)); err != nil {
		t.Fatal(err)
	}
	data, _ = json.Marshal(v)
	return string(data)
}

// TestPageInert finds nothing in a page that runs or loads something.
func TestPageInert(t *testing.T) {
	all := recorded(t)
	written := write(t, HTML, &Document{Saved: saved, Journeys: []*v1alpha1.Journey{all["patch"], all["custom"]}, Files: files})
	_, shown, _ := strings.Cut(written, capture.PageEnd)
	if found := regexp.MustCompile(`(?i)<(script|link|img|iframe|object|form|base)|\son\w+=|url\(|@import|src=|href="[^#]`).FindString(shown); found != "" {
		t.Errorf("the page has %q", found)
	}
	for _, link := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(shown, -1) {
		if strings.Count(shown, `id="`+link[1]+`"`) != 1 {
			t.Errorf("the link %s leads nowhere, or to two places", link[1])
		}
	}
	if !strings.Contains(shown, `href="#code-0-110"`) || !strings.Contains(shown, "call(`&lt;b&gt;`") {
		t.Errorf("there is no code in\n%s", shown)
	}
}

// TestHostileDrawing has no text of a journey become an element: what is drawn is well-formed, and of text alone.
func TestHostileDrawing(t *testing.T) {
	elements := []string{"svg", "title", "style", "rect", "g", "text", "tspan"}
	attributes := []string{"xmlns", "width", "height", "viewBox", "space", "role", "transform", "x", "y", "class", "textLength"}
	harmless := regexp.MustCompile(`^[\w ().,:/%-]*$`)
	hostileDocuments(t, SVG, func(t *testing.T, text, written string) {
		spans := 0
		for d := xml.NewDecoder(strings.NewReader(written)); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("with %q: %v in %s", text, err, written)
			}
			e, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			spans++
			if !slices.Contains(elements, e.Name.Local) {
				t.Errorf("with %q there is an element %s", text, e.Name.Local)
			}
			for _, a := range e.Attr {
				if !slices.Contains(attributes, a.Name.Local) || !harmless.MatchString(a.Value) {
					t.Errorf("with %q there is an attribute %s=%q", text, a.Name.Local, a.Value)
				}
			}
		}
		if spans < 30 {
			t.Errorf("with %q there are %d elements", text, spans)
		}
	})
}
