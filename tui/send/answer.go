package send

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/send/exchange"
	"github.com/kx-apiserver/kx/tui/theme"
)

// tab is a view of an answer.
type tab int

const (
	bodyTab tab = iota
	headerTab
	rawTab
	tabs
)

func (t tab) title(watch bool) string {
	if t == bodyTab && watch {
		return "Events"
	}
	return [tabs]string{"Body", "Headers", "Raw"}[t]
}

// Limits of the shown part of an answer, beyond those of the kept part.
const (
	yamlBytesMost = 1 << 20
	lineBytesMost = 8 << 10
)

// answerPane shows an answer.
type answerPane struct {
	tab  tab
	view pane.View
	w, h int

	text  []string // the lines of the tab
	lines []string // for display: long lines of Raw are wrapped
	of    answerKey
}

// answerKey holds the inputs of the lines.
type answerKey struct {
	entry *entry
	tab   tab
	w     int
	bytes int64
	ended bool
	zone  *time.Location
}

// handle runs a motion. It reports whether id is one.
func (p *answerPane) handle(id keys.ID) bool {
	switch id {
	case keys.Left:
		p.tab = max(p.tab-1, 0)
	case keys.Right:
		p.tab = min(p.tab+1, tabs-1)
	default:
		return p.view.Move(id, len(p.lines), p.room())
	}
	p.view.Top = 0
	return true
}

const headLines = 3 // above the answer's own lines

func (p *answerPane) room() int { return max(p.h-headLines, 1) }

// update makes the lines of an entry's answer, unless they are up to date. For a watch, a window at the end stays
// there.
func (p *answerPane) update(e *entry, zone *time.Location) {
	now := answerKey{entry: e, tab: p.tab, w: p.w, zone: zone}
	if e != nil {
		now.bytes, now.ended = e.answer.Bytes, e.answer.Ended
	}
	if now == p.of {
		return
	}
	atEnd := p.of.entry == e && p.of.tab == p.tab && p.view.Top >= len(p.lines)-p.room()
	if p.of.entry != e {
		p.view.Top = 0
	}
	p.of, p.text, p.lines = now, nil, nil
	if e == nil {
		return
	}
	a := &e.answer
	switch {
	case p.tab == headerTab:
		p.lines = headerLines(a.Header)
	case a.Watch:
		p.lines = eventLines(a, p.tab == rawTab, zone)
		if atEnd {
			p.view.Top = len(p.lines)
		}
	default:
		p.lines = bodyLines(a, p.tab == rawTab, e.forgotten)
	}
	if a.Err != nil && len(p.lines) == 0 {
		p.lines = draw.Wrap(draw.Clean(a.Err.Error()), p.w)
	}
	p.text = p.lines
	if p.tab == rawTab {
		p.lines = wrapLines(p.lines, p.w)
	}
	p.view.Clamp(len(p.lines), p.room())
}

func wrapLines(lines []string, w int) []string {
	var all []string
	for _, l := range lines {
		all = append(all, draw.Wrap(draw.Clean(l), w)...)
	}
	return all
}

func headerLines(h http.Header) []string {
	var all []string
	for _, name := range sorted(h) {
		for _, v := range h[name] {
			all = append(all, name+": "+v)
		}
	}
	return all
}

func eventLines(a *exchange.Answer, raw bool, zone *time.Location) []string {
	var all []string
	if a.EventsDropped > 0 {
		all = append(all, fmt.Sprintf("(%d earlier events are no longer kept)", a.EventsDropped))
	}
	for i := range a.Events {
		e := &a.Events[i]
		if raw {
			all = append(all, cutLine(string(e.Raw)))
			continue
		}
		name := e.Name
		if e.Namespace != "" {
			name = e.Namespace + "/" + name
		}
		all = append(all, fmt.Sprintf("%s  %-8s  %s %s  rv %s", e.At.In(zone).Format("15:04:05.000"),
			e.Type, e.Kind, name, orDash(e.ResourceVersion)))
	}
	return all
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// bodyLines formats a body: as YAML if it is JSON that is not too long, else unchanged.
func bodyLines(a *exchange.Answer, raw, forgotten bool) []string {
	if forgotten {
		return []string{"(the body is no longer kept: there were many since)"}
	}
	var all []string
	text, note := string(a.Body), ""
	if int64(len(a.Body)) < a.Bytes {
		note = fmt.Sprintf("(the first %s of %s)", size(int64(len(a.Body))), size(a.Bytes))
	} else if converted, hidden, ok := readable(a.Body); !raw && ok {
		text = converted
		if hidden {
			note = "(without metadata.managedFields, which Raw has)"
		}
	} else if !raw && len(a.Body) > yamlBytesMost {
		note = "(as it was sent: it is too long to be written as YAML)"
	}
	if note != "" {
		all = append(all, note)
	}
	if !utf8.ValidString(text) {
		return append(all, fmt.Sprintf("(%s of no text)", size(a.Bytes)))
	}
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return all
	}
	for _, l := range strings.Split(text, "\n") {
		all = append(all, cutLine(l))
	}
	return all
}

// readable formats JSON as YAML, without managedFields, which are only noise here. ok is false if the body is not a
// JSON object, or too long.
func readable(body []byte) (text string, hidden, ok bool) {
	if len(body) > yamlBytesMost {
		return "", false, false
	}
	var object map[string]any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber() // numbers stay as they are
	if d.Decode(&object) != nil || d.More() {
		return "", false, false
	}
	hidden = hideManaged(object)
	items, _ := object["items"].([]any)
	for _, item := range items {
		if o, ok := item.(map[string]any); ok {
			hidden = hideManaged(o) || hidden
		}
	}
	data, err := json.Marshal(object)
	if err == nil {
		data, err = yaml.JSONToYAML(data)
	}
	return string(data), hidden, err == nil
}

// hideManaged removes metadata.managedFields. It reports whether there were any.
func hideManaged(object map[string]any) bool {
	m, _ := object["metadata"].(map[string]any)
	_, there := m["managedFields"]
	delete(m, "managedFields")
	return there
}

// cutLine cuts a line to its visible part: a body may be one line of megabytes.
func cutLine(l string) string {
	if len(l) <= lineBytesMost {
		return l
	}
	return strings.ToValidUTF8(l[:lineBytesMost], "") + fmt.Sprintf(" (%s in all)", size(int64(len(l))))
}

func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// status describes the answer in a few words, for the edge of the pane.
func (e *entry) status() string {
	a := &e.answer
	switch {
	case e.at.IsZero():
		return notSent
	case a.Code != 0 && a.Ended && a.Err == nil || a.Code != 0 && !a.Watch:
		return fmt.Sprintf("%d %s", a.Code, http.StatusText(a.Code))
	case a.Watch && a.Ended:
		return "watch ended"
	case a.Watch:
		return "watching"
	case a.Err != nil:
		return "no answer"
	case a.HeldAt != "":
		return "held"
	}
	return "waiting"
}

// mark returns the status in three cells.
func (e *entry) mark() string {
	a := &e.answer
	switch {
	case a.Code != 0:
		return fmt.Sprintf("%3d", a.Code)
	case a.Ended:
		return "ERR"
	case a.HeldAt != "":
		return " ||"
	}
	return "..."
}

// head draws the lines above the answer.
func (p *answerPane) head(e *entry, look theme.Theme) []string {
	a := &e.answer
	status := look.Words.Text(e.status())
	switch {
	case a.Code >= 400 || a.Err != nil:
		status = look.Bad("! " + status)
	case a.Code != 0:
		status = look.Good(status)
	default:
		status = look.Notice(status)
	}
	parts := []string{status}
	if a.Code != 0 {
		parts = append(parts, draw.Duration(a.First), size(a.Bytes))
	}
	if a.Watch {
		parts = append(parts, look.Words.Phrase("%d events", len(a.Events)+a.EventsDropped))
	}
	if ct := a.Header.Get("Content-Type"); ct != "" {
		parts = append(parts, look.Dim(draw.Clean(ct)))
	}
	second := look.Dim(look.Words.Phrase("the answer names no journey"))
	switch {
	case a.Err != nil:
		second = look.Bad("! " + draw.Clean(a.Err.Error()))
	case a.HeldAt != "" && a.Code == 0 && !a.Ended:
		second = look.Notice("|| "+look.Words.Phrase("held at %s", draw.Clean(a.HeldAt))) + "  " +
			look.Words.Phrase("journey %s", draw.Clean(a.Journey)) + look.Dim("  "+look.Words.Phrase("(enter: step it)"))
	case a.Journey != "":
		second = look.Words.Phrase("journey %s", draw.Clean(a.Journey)) + look.Dim("  "+look.Words.Phrase("(enter: see its steps)"))
	case e.at.IsZero():
		second = look.Dim(look.Words.Phrase("%s sends it", keys.Send.Key()))
	case !a.Ended:
		second = look.Dim(draw.Clean(e.request.Title()))
	}
	return []string{strings.Join(parts, "  "), second, p.tabLine(a.Watch, look)}
}

func (p *answerPane) tabLine(watch bool, look theme.Theme) string {
	var all []string
	for t := range tabs {
		title := look.Words.Text(t.title(watch))
		if t == p.tab {
			all = append(all, look.Tab("["+title+"]"))
		} else {
			all = append(all, look.Dim(" "+title+" "))
		}
	}
	return strings.Join(all, " ")
}

// render draws the pane's inside.
func (p *answerPane) render(e *entry, look theme.Theme) []string {
	if e == nil {
		var lines []string
		for _, l := range draw.Wrap(look.Words.Phrase("Nothing was sent yet: %s sends the request, %s holds it at its first step.",
			keys.Send.Key(), keys.SendHeld.Key()), p.w) {
			lines = append(lines, look.Dim(l))
		}
		return draw.Block(lines, p.w, p.h)
	}
	lines := p.head(e, look)
	p.view.Clamp(len(p.lines), p.room())
	for i := p.view.Top; i < len(p.lines) && len(lines) < p.h; i++ {
		lines = append(lines, draw.Clean(p.lines[i]))
	}
	return draw.Block(lines, p.w, p.h)
}
