package export

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
)

const (
	// diagramMost limits the bytes of the arrows: Mermaid refuses text of more than 50,000 characters.
	diagramMost = 45_000
	// messageMost limits the characters of an arrow's text.
	messageMost = 80
	// noteWidth is the width at which the lines of a note are wrapped.
	noteWidth = 60
)

// lanes lists the participants of a diagram from left to right.
var lanes = []struct{ id, name string }{
	{"client", "client"}, {"filter", "filters"}, {"handler", "handler"}, {"rest", "REST"}, {"store", "Store"}, {"dryrun", "dry run"},
	{"cacher", "cacher"}, {"etcd3", "etcd3"}, {"transform", "transform"}, {"etcd", "etcd"}, {"other", "other"}, {"watcher", "watchers"},
}

// diagram is a sequence diagram in the making.
type diagram struct {
	*Document
	used     map[string]bool
	messages []string
	bytes    int // of the messages
	left     int // messages that did not fit
}

// sequence returns a journey as a sequence diagram of Mermaid: the calls between the layers.
func (doc *Document) sequence(j *v1alpha1.Journey) string {
	d := &diagram{Document: doc, used: map[string]bool{}}
	j = d.Language.Journey(j)
	d.roots(j)
	for _, m := range j.Status.Marks {
		lane := laneOf(m.Layer)
		d.arrow(lane, "->>", lane, d.Language.Phrase("%s at revision %d", m.Title, m.Revision))
	}
	for _, e := range j.Status.Deliveries {
		d.arrow("cacher", "->>", "watcher", d.Language.Phrase("%s at revision %d to %s", e.Type, e.Revision, e.User))
	}
	var b strings.Builder
	b.WriteString("sequenceDiagram\n")
	for _, l := range lanes {
		if d.used[l.id] {
			fmt.Fprintf(&b, "  participant %s as %s\n", l.id, l.name)
		}
	}
	for _, m := range d.messages {
		b.WriteString("  " + m + "\n")
	}
	if d.left > 0 {
		fmt.Fprintf(&b, "  Note over client: %s\n", d.Language.Phrase("%d more arrows left out", d.left))
	}
	return b.String()
}

// roots draws the request, the steps that no step called, and the answer.
func (d *diagram) roots(j *v1alpha1.Journey) {
	roots := nodes(j)
	door := "handler"
	if len(roots) > 0 {
		door = laneOf(roots[0].Layer)
	}
	d.arrow("client", "->>", door, j.Spec.Method+" "+j.Spec.URI)
	passed := 0
	for _, n := range roots {
		if n.passed() {
			passed++
		}
	}
	if passed > 0 {
		d.arrow("filter", "->>", "filter", d.passed(passed))
	}
	for _, n := range roots {
		if !n.passed() {
			d.step(door, n)
		}
	}
	end := "-->>"
	if j.Status.Code >= 400 || j.Status.WatchError != 0 {
		end = "--x"
	}
	d.arrow(door, end, "client", d.answer(j))
	d.note(j)
}

// note draws why the request was refused, and what can be done.
func (d *diagram) note(j *v1alpha1.Journey) {
	card := d.card(j)
	if card == nil {
		return
	}
	var lines []string
	for _, fact := range d.cardLines(card) {
		for _, line := range draw.Wrap(escape.Line(fact), noteWidth) {
			lines = append(lines, inMermaid(line))
		}
	}
	d.message("Note over client: "+strings.Join(lines, "<br/>"), "client")
}

// passed returns the text for n filters that let the request pass.
func (d *diagram) passed(n int) string {
	if n == 1 {
		return d.Language.Phrase("1 filter let it pass")
	}
	return d.Language.Phrase("%d filters let it pass", n)
}

// step draws a call and the calls below it. It draws the return only if the call goes to another layer.
func (d *diagram) step(from string, n *node) {
	to := laneOf(n.Layer)
	what := strings.TrimSpace(n.Title + " " + n.Subject)
	if to == from && n.Error != "" {
		what += ": " + n.Error
	}
	d.arrow(from, "->>", to, what)
	for _, called := range n.Calls {
		d.step(to, called)
	}
	if to == from {
		return
	}
	result, end := n.Why, "-->>"
	if n.Error != "" {
		result, end = n.Error, "--x"
	}
	if took := n.took(); took != "" {
		result = strings.TrimSpace(short(escape.Line(result), messageMost-20) + " (" + took + ")")
	}
	d.arrow(to, end, from, result)
}

// arrow adds a message.
func (d *diagram) arrow(from, arrow, to, text string) {
	d.message(fmt.Sprintf("%s%s%s: %s", from, arrow, to, inMermaid(text)), from, to)
}

// message adds a line of the diagram that is about some participants, if there is room.
func (d *diagram) message(text string, about ...string) {
	if d.left > 0 || d.bytes+len(text) > diagramMost {
		d.left++
		return
	}
	d.bytes += len(text)
	for _, lane := range about {
		d.used[lane] = true
	}
	d.messages = append(d.messages, text)
}

// laneOf returns the participant for a layer. A capture may contain layers that this kx does not know.
func laneOf(layer string) string {
	for _, l := range lanes {
		if l.id == layer {
			return layer
		}
	}
	return "other"
}

// inMermaid escapes a message. Mermaid reads #N; as the character N, and gives a meaning to most characters other
// than letters and digits.
func inMermaid(text string) string {
	var b strings.Builder
	if text = strings.TrimSpace(escape.Line(text)); text == "" {
		text = "done" // Mermaid requires a text
	}
	for _, r := range short(text, messageMost) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" /._,=?()+-'…—", r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}
