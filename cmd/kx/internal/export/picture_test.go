package export

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/story"
)

// find returns the elements of a name below a node, in their order.
func find(n *html.Node, name string) (all []*html.Node) {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && d.Data == name {
			all = append(all, d)
		}
	}
	return all
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func textOf(n *html.Node) string {
	text := ""
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			text += d.Data
		}
	}
	return strings.Join(strings.Fields(text), " ")
}

// walks returns the pictures of a page.
func walks(t *testing.T, page string) (all []*html.Node) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range find(root, "div") {
		if attribute(d, "class") == "walk" {
			all = append(all, d)
		}
	}
	return all
}

// TestPicture begins a page with the walk: a radio button for each stop, of which the first is chosen and each has a name for screen
// readers, and behind each button its stop, with labels that lead to the stops beside it.
func TestPicture(t *testing.T) {
	for _, in := range []lang.Language{lang.English, lang.Chinese} {
		each(t, HTML, func(t *testing.T, j *v1alpha1.Journey, _ string) {
			d := documentOf(j)
			d.Language = in
			page := write(t, HTML, d)
			inOrder(t, page, `class="walk"`, `<ul class="story">`, `class="step"`)
			all := walks(t, page)
			if len(all) != 1 {
				t.Fatalf("there are %d pictures", len(all))
			}
			stops := story.WalkOf(j, in).Stops
			buttons, articles := find(all[0], "input"), find(all[0], "article")
			if len(buttons) != len(stops) || len(articles) != len(stops) {
				t.Fatalf("%d buttons and %d articles for %d stops", len(buttons), len(articles), len(stops))
			}
			for i, stop := range stops {
				checkStop(t, i, &stop, buttons, articles[i], in)
			}
		})
	}
}

// checkStop compares a stop of a page with that of the walk.
func checkStop(t *testing.T, i int, stop *story.Stop, buttons []*html.Node, article *html.Node, in lang.Language) {
	t.Helper()
	button := buttons[i]
	checked := slices.ContainsFunc(button.Attr, func(a html.Attribute) bool { return a.Key == "checked" })
	if attribute(button, "type") != "radio" || checked != (i == 0) || !strings.Contains(attribute(button, "aria-label"), stop.Box.Name(in)) {
		t.Errorf("the button of stop %d has %v", i, button.Attr)
	}
	var leads []string
	for _, label := range find(article, "label") {
		leads = append(leads, attribute(label, "for"))
	}
	var want []string
	for k := max(i-1, 0); k < min(i+2, len(buttons)); k++ {
		if k != i {
			want = append(want, attribute(buttons[k], "id"))
		}
	}
	if !slices.Equal(leads, want) {
		t.Errorf("stop %d leads to %q, want %q", i, leads, want)
	}
	shown := textOf(article)
	for _, text := range []string{stop.Text, stop.Carried, stop.Back} {
		if !strings.Contains(shown, strings.Join(strings.Fields(text), " ")) {
			t.Errorf("stop %d lacks %q: %s", i, text, shown)
		}
	}
	for _, box := range find(article, "li") {
		if here := strings.Contains(attribute(box, "class"), "here"); here && !strings.HasPrefix(textOf(box), stop.Box.Name(in)) {
			t.Errorf("stop %d is in the box %q", i, textOf(box))
		}
	}
}

// TestPicturesApart has the pictures of one page walk on their own: no two buttons have one ID, nor two pictures one name.
func TestPicturesApart(t *testing.T) {
	all := recorded(t)
	page := write(t, HTML, &Document{Saved: saved, Journeys: []*v1alpha1.Journey{all["get"], all["conflict"], all["get"]}, Files: files})
	ids, names := map[string]bool{}, map[string]bool{}
	for _, walk := range walks(t, page) {
		name := attribute(find(walk, "input")[0], "name")
		if names[name] {
			t.Errorf("two pictures have the name %s", name)
		}
		names[name] = true
		for _, button := range find(walk, "input") {
			if id := attribute(button, "id"); ids[id] || attribute(button, "name") != name {
				t.Errorf("the button %v", button.Attr)
			}
			ids[attribute(button, "id")] = true
		}
	}
	if len(names) != 3 {
		t.Errorf("there are the pictures %v", names)
	}
}

// TestPictureHasCode shows the few lines of which one decided, if the page has code.
func TestPictureHasCode(t *testing.T) {
	j := recorded(t)["patch"]
	page := write(t, HTML, documentOf(j))
	walk := walks(t, page)[0]
	if !strings.Contains(textOf(walk), "etcd3/kv.go:") || !strings.Contains(textOf(walk), "=> ") || !strings.Contains(textOf(walk), "call(`<b>`") {
		t.Errorf("no code at the stops: %s", textOf(walk))
	}
	without := documentOf(j)
	without.Files, without.NoFiles = nil, "its code is not known"
	if walk := walks(t, write(t, HTML, without))[0]; len(find(walk, "pre")) > 0 {
		t.Errorf("code at a stop: %s", textOf(walk))
	}
}

// TestAboveTheStory has a refusal's card and the change of the object stand above the story, each field with the step that set it.
func TestAboveTheStory(t *testing.T) {
	inOrder(t, write(t, HTML, conflict(t, lang.English)), `class="walk"`, `<section class="card">`, "409 Conflict", "you sent", "revision 57",
		"etcd has", "revision 58", "moved by", "<dt>do</dt>", `<ul class="story">`)
	for _, j := range journeysOf(t, "../../../../tui/testdata/pictures.json") {
		if j.Spec.Method != "PATCH" {
			continue
		}
		page := write(t, HTML, documentOf(j))
		inOrder(t, page, `class="walk"`, `class="change"`, fmt.Sprintf("to revision %d", j.Status.Revision), "<del>", "<ins>", `class="who">`, `<ul class="story">`)
	}
	if page := write(t, HTML, documentOf(recorded(t)["get"])); strings.Contains(page, `class="change"`) || strings.Contains(page, `class="card"`) {
		t.Error("a GET changed something, or was refused")
	}
}
