package server_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// drawing is how one command's journeys are drawn.
type drawing struct {
	filters bool  // are shown one by one
	start   int64 // the revision at which the server began
}

// show draws the journey of an answer.
func (d drawing) show(a *answer) string {
	t := tree{drawing: d, numbers: a.numbers, steps: a.journey.Record().Steps, children: map[int][]int{}}
	for i, s := range t.steps {
		t.children[s.Parent] = append(t.children[s.Parent], i)
	}
	fmt.Fprintf(&t, "%d\n", a.code)
	top := t.children[-1]
	if !d.filters {
		top = t.foldFilters(top)
	}
	for _, i := range top {
		t.draw(i, 0)
	}
	return t.String()
}

type tree struct {
	strings.Builder
	drawing
	numbers  bool // there are revisions in the body
	steps    []trace.StepRecord
	children map[int][]int
}

// foldFilters counts the filters, and returns the steps that are to be drawn: those that failed, and what is not a
// filter.
func (d *tree) foldFilters(top []int) (rest []int) {
	passed := 0
	for _, i := range top {
		if s := d.steps[i]; s.ID.Info().Layer == steps.LayerFilter && s.Error == "" {
			passed++
		} else {
			rest = append(rest, i)
		}
	}
	fmt.Fprintf(d, "%d filters\n", passed)
	return rest
}

func (d *tree) draw(i, depth int) {
	s := d.steps[i]
	indent := strings.Repeat("  ", depth)
	function := trace.SiteOfStep(s.ID).Function
	function = function[strings.LastIndexByte(function, '/')+1:]
	d.WriteString(strings.TrimRight(fmt.Sprintf("%s%s  %s  %s", indent, s.ID, function, d.mask(s.Subject)), " ") + "\n")
	indent += "  | "
	var attrs []string
	for _, a := range s.Attrs {
		if text := d.attr(s.ID, a); text != "" {
			attrs = append(attrs, a.Name+"="+text)
		}
	}
	if len(attrs) > 0 {
		fmt.Fprintf(d, "%s%s\n", indent, strings.Join(attrs, ", "))
	}
	for _, field := range d.changes(s.Before, s.After) {
		fmt.Fprintf(d, "%s%s\n", indent, field)
	}
	if s.Why != "" {
		fmt.Fprintf(d, "%swhy: %s\n", indent, d.mask(s.Why))
	}
	if s.Error != "" {
		fmt.Fprintf(d, "%serror: %s\n", indent, d.mask(s.Error))
	}
	for _, child := range d.children[i] {
		d.draw(child, depth+1)
	}
}

// attr is an attribute's value, unless it differs from run to run.
func (d *tree) attr(id steps.ID, a trace.Attr) string {
	switch {
	case a.Name == "taken":
		return "<n>" // a request before this one may not have left its seat
	case a.Name == "bytes" && (id == steps.HandlerWatchEvent || id == steps.HandlerDecode && d.numbers):
		return "<n>" // there are revisions in them
	case a.Name == "connection", a.Name == "url":
		return "" // the port is another one each time
	case a.Name == "requestBytes":
		return "<n>" // there are times and revisions in it
	case a.Name == "storage":
		return lineNumber.ReplaceAllString(a.Text, ".go")
	case a.Name == "lease" || a.Name == "continue":
		return "<id>"
	case isRevision[a.Name] && a.IsInt:
		return d.revision(a.Int)
	case isRevision[a.Name]:
		return d.revisionText(a.Text)
	}
	if a.IsInt {
		return strconv.FormatInt(a.Int, 10)
	}
	return d.mask(a.Text)
}

// lineNumber is where a place in the code has one: every edit above it would change it.
var lineNumber = regexp.MustCompile(`\.go:\d+$`)

var isRevision = map[string]bool{
	"revision": true, "modRevision": true, "atRevision": true, "fromRevision": true, "sent": true,
	"resourceVersion": true, "precondition.resourceVersion": true,
}

// few is how many fields of an object are shown if the step says nothing of a change.
const few = 12

// changes are the fields that differ, with what they were and are; all fields, if they are few and the step shows but
// one object.
func (d drawing) changes(before, after []byte) (lines []string) {
	was, is := leaves(before), leaves(after)
	fields := slices.Collect(maps.Keys(was))
	for field := range is {
		if _, ok := was[field]; !ok {
			fields = append(fields, field)
		}
	}
	slices.Sort(fields)
	if (before == nil || after == nil) && len(fields) > few {
		return []string{fmt.Sprintf("  an object with %d fields", len(fields))}
	}
	show := func(field, v string) string {
		if strings.HasSuffix(field, ".resourceVersion") {
			return d.revisionText(v)
		}
		return d.mask(v)
	}
	for _, field := range fields {
		a, had := was[field]
		b, has := is[field]
		switch {
		case before == nil || after == nil: // the step says nothing of a change
			lines = append(lines, fmt.Sprintf("  %s: %s", field, show(field, a+b)))
		case !had:
			lines = append(lines, fmt.Sprintf("+ %s: %s", field, show(field, b)))
		case !has:
			lines = append(lines, fmt.Sprintf("- %s: %s", field, show(field, a)))
		case show(field, a) != show(field, b): // whether a time moves depends on when a second ends
			lines = append(lines, fmt.Sprintf("~ %s: %s -> %s", field, show(field, a), show(field, b)))
		}
	}
	return lines
}

// leaves are the fields of an object that hold no further fields, by path.
func leaves(data []byte) map[string]string {
	out := map[string]string{}
	if data == nil {
		return out
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		out[""] = string(data)
		return out
	}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, field := range v {
				walk(path+"."+k, field)
			}
		case []any:
			for i, item := range v {
				walk(fmt.Sprintf("%s[%d]", path, i), item)
			}
		case string:
			if plain, err := base64.StdEncoding.DecodeString(v); err == nil && strings.HasPrefix(string(plain), "masked, ") {
				v = string(plain)
			}
			out[path] = v
		case nil:
		default:
			out[path] = fmt.Sprint(v)
		}
	}
	walk("", v)
	return out
}

// revision names a revision by its distance from the one at which the server began.
func (d drawing) revision(n int64) string {
	switch {
	case n == 0:
		return "0"
	case n < d.start:
		return "<earlier>"
	case n == d.start:
		return "r"
	}
	return fmt.Sprintf("r+%d", n-d.start)
}

func (d drawing) revisionText(v string) string {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return v
	}
	return d.revision(n)
}

var revisionName = regexp.MustCompile(`\{r(\+\d+)?\}`)

// insertRevisions puts numbers in the place of names.
func (d drawing) insertRevisions(text string) string {
	return revisionName.ReplaceAllStringFunc(text, func(name string) string {
		n, _ := strconv.ParseInt(strings.Trim(name, "{r+}"), 10, 64) // nothing is 0
		return strconv.FormatInt(d.start+n, 10)
	})
}

// masks are of what differs from run to run.
var masks = []struct {
	found *regexp.Regexp
	shown string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<uid>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "<time>"},
	{regexp.MustCompile(`(\blease[ =])[0-9a-f]+`), "${1}<id>"},
	{regexp.MustCompile(`(generated-)[a-z0-9]{5}\b`), "${1}<id>"},
	{regexp.MustCompile(`(built it in )[0-9.]+[mµ]?s`), "${1}<duration>"},
	{regexp.MustCompile(`(request )[0-9a-f]+-\d+`), "${1}<id>"},
	{regexp.MustCompile(`(signed with the key )[\w-]{43}`), "${1}<id>"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "<address>"},
}

// revisionInText is where sentences have a revision.
var revisionInText = regexp.MustCompile(`(revision "?|version: |at |\) = |not |current: |\()(\d+)\b`)

func (d drawing) mask(text string) string {
	for _, m := range masks {
		text = m.found.ReplaceAllString(text, m.shown)
	}
	return revisionInText.ReplaceAllStringFunc(text, func(found string) string {
		parts := revisionInText.FindStringSubmatch(found)
		return parts[1] + d.revisionText(parts[2])
	})
}
