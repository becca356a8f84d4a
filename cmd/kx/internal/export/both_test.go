package export

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/kx-apiserver/kx/core/escape/escapetest"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/story"
	"github.com/kx-apiserver/kx/tui/diff"
)

// twoReads are a read that etcd answers, and one from the cache.
func twoReads(t *testing.T, in lang.Language) *Document {
	t.Helper()
	gets := journeysOf(t, "../../../../core/story/testdata/gets.json")
	return &Document{Server: "https://127.0.0.1:7443", Saved: saved, Both: true, Language: in, Files: files,
		Journeys: []*v1alpha1.Journey{recorded(t)["get"], gets["cached"]}}
}

// forkIn are the two walks of a document beside each other.
func forkIn(d *Document) (walks [2]*story.Walk, fork *diff.Fork) {
	for i, j := range d.Journeys {
		walks[i] = story.WalkOf(d.Language.Journey(j), d.Language)
	}
	return walks, diff.ForkOf(walks[0], walks[1], d.Language)
}

// TestBoth says in each form and both languages, before the first journey, where two requests part, and which of them is A and which B.
func TestBoth(t *testing.T) {
	for _, in := range []lang.Language{lang.English, lang.Chinese} {
		d := twoReads(t, in)
		walks, fork := forkIn(d)
		why := fork.Text(fork.Part)
		if in == lang.English && !strings.HasPrefix(why, "They part in the box cacher. A: nobody had asked") {
			t.Fatal(why)
		}
		title := in.Phrase("Two requests, and where they part")
		tell := fork.Tell()
		written := write(t, Markdown, d)
		inOrder(t, written, "# "+title+"\n", "\n"+inMarkdown(why)+"\n\n- "+inMarkdown(tell[0])+"\n", "- "+inMarkdown(why)+"\n",
			"- "+inMarkdown(tell[len(tell)-1])+"\n", "\n## A  GET /", "\n## B  GET /")
		outline(t, written)
		drawn := html.UnescapeString(regexp.MustCompile(`<[^>]*>|\s`).ReplaceAllString(write(t, SVG, d), ""))
		inOrder(t, drawn, strings.ReplaceAll(title, " ", ""), strings.ReplaceAll(why, " ", ""), "AGET/api", "BGET/api")

		page := write(t, HTML, d)
		balanced(t, page)
		inOrder(t, page, "<h1>"+title, `class="sentence"`, `class="walk pair"`, "<h2>A  GET /", `class="walk"`, "<h2>B  GET /", `class="walk"`)
		checkPair(t, page, &walks, fork)
	}
}

// checkPair holds the two pictures of a page to the walks: a radio button for each place, of which that is chosen where the two part, and
// behind each button both stops, with labels that lead to the places beside it.
func checkPair(t *testing.T, page string, walks *[2]*story.Walk, fork *diff.Fork) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var pair *html.Node
	for _, n := range find(root, "div") {
		if attribute(n, "class") == "walk pair" {
			pair = n
		}
	}
	buttons, articles := find(pair, "input"), find(pair, "article")
	if len(buttons) != len(fork.Stops) || len(articles) != len(fork.Stops) {
		t.Fatalf("%d buttons and %d articles for %d places", len(buttons), len(articles), len(fork.Stops))
	}
	for at, stops := range fork.Stops {
		checked := slices.ContainsFunc(buttons[at].Attr, func(a html.Attribute) bool { return a.Key == "checked" })
		if checked != (at == fork.Part) || attribute(buttons[at], "name") != "both" {
			t.Errorf("the button of place %d has %v", at, buttons[at].Attr)
		}
		var leads, want []string
		for _, label := range find(articles[at], "label") {
			leads = append(leads, attribute(label, "for"))
		}
		for _, k := range []int{at - 1, at + 1} {
			if k >= 0 && k < len(buttons) {
				want = append(want, attribute(buttons[k], "id"))
			}
		}
		if !slices.Equal(leads, want) {
			t.Errorf("place %d leads to %q, want %q", at, leads, want)
		}
		shown, boxes := textOf(articles[at]), find(articles[at], "ol")
		if len(boxes) != 2 || at < fork.Part != strings.Contains(shown, fork.Text(at)) {
			t.Errorf("place %d has %d pictures: %s", at, len(boxes), shown)
		}
		for i, walk := range walks {
			stop := walk.Stops[stops[i]]
			mark := map[bool]string{true: "✗ "}[stop.Failed]
			if !strings.Contains(shown, sides[i]+" "+mark+strings.Join(strings.Fields(stop.Text), " ")) {
				t.Errorf("place %d lacks %q: %s", at, stop.Text, shown)
			}
			here := slices.IndexFunc(find(boxes[i], "li"), func(n *html.Node) bool { return strings.Contains(attribute(n, "class"), "here") })
			if here != int(stop.Box) {
				t.Errorf("at place %d, %s is in box %d, not %d", at, sides[i], here, stop.Box)
			}
		}
	}
}

// TestBothHasCode shows the lines that decided in both requests, if the page has code.
func TestBothHasCode(t *testing.T) {
	d := twoReads(t, lang.English)
	d.Journeys = []*v1alpha1.Journey{recorded(t)["patch"], recorded(t)["create"]}
	for _, has := range []bool{true, false} {
		if !has {
			d.Files, d.NoFiles = nil, "its code is not known"
		}
		page := write(t, HTML, d)
		_, pair, _ := strings.Cut(page, `class="walk pair"`)
		pair, _, _ = strings.Cut(pair, `class="walk"`)
		if got := strings.Contains(pair, "etcd3/kv.go:") && strings.Contains(pair, "call(`&lt;b&gt;`") && strings.Contains(pair, `href="#code-`); got != has {
			t.Errorf("code at the stops: %v, want %v", got, has)
		}
		for _, link := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if strings.Count(page, `id="`+link[1]+`"`) != 1 {
				t.Errorf("the link %s leads nowhere, or to two places", link[1])
			}
		}
	}
}

// TestBothRefused refuses in one sentence what can't be compared.
func TestBothRefused(t *testing.T) {
	all := recorded(t)
	running := all["get"].DeepCopy()
	running.Status.Phase = v1alpha1.JourneyHeld
	for _, test := range []struct {
		a, b *v1alpha1.Journey
		want string
	}{
		{all["get"], all["watch"], "watch is a watch, which has no answer to come to"},
		{running, all["create"], "get has not ended (Held)"},
		{all["get"], all["get"], "get would be compared with itself"},
	} {
		for _, as := range forms {
			var b bytes.Buffer
			err := (&Document{Both: true, Journeys: []*v1alpha1.Journey{test.a, test.b}}).Write(&b, as)
			if err == nil || !strings.HasPrefix(err.Error(), test.want) || b.Len() > 0 {
				t.Errorf("%s: %v, want %q", as, err, test.want)
			}
		}
	}
	if err := (&Document{Both: true, Journeys: []*v1alpha1.Journey{running}}).Write(&bytes.Buffer{}, HTML); err == nil {
		t.Error("one request is compared")
	}
}

// TestHostileBoth has no text of two requests become an element, or markup.
func TestHostileBoth(t *testing.T) {
	two := func(text string) *Document {
		return &Document{Saved: saved, Both: true, Journeys: []*v1alpha1.Journey{hostile(text), hostile("b" + text)}}
	}
	want, shape := elements(t, write(t, HTML, two("a"))), outline(t, write(t, Markdown, two("a")))
	for _, text := range words {
		for _, as := range forms {
			written := write(t, as, two(text))
			if raw := escapetest.Find(written, "\n"); raw != "" {
				t.Errorf("%s of %q has %s", as, text, raw)
			}
			read[as](t, written)
			if as == HTML && elements(t, written) != want || as == Markdown && outline(t, written) != shape {
				t.Errorf("with %q the document has another structure", text)
			}
		}
	}
}

// TestBothLimit leaves out what there is no room for, and says so.
func TestBothLimit(t *testing.T) {
	d := twoReads(t, lang.English)
	d.Limit = reserve + 1
	for _, as := range forms {
		if written := write(t, as, d); len(written) > d.Limit || !strings.Contains(written, "Where the two part is left out") {
			t.Errorf("%s: %.2000s", as, written)
		}
	}
}
