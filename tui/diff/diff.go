package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"

	"github.com/kx-apiserver/kx/tui/draw"
)

// Line is a line of a diff.
type Line struct {
	Mark  byte // ' ' for unchanged, '+' for added, '-' for removed
	Depth int
	Text  string
	// Path is the place of the line's value: names, and numbers in lists. Unchanged lines have none.
	Path []string
}

// Options select the written part of a comparison.
type Options struct {
	// All writes unchanged values too; else a line counts them.
	All bool
	// Fold selects the fields that are only reported as changed, without their values. Nil folds none.
	Fold func(path []string) bool
}

// differ compares two JSON values field by field, and writes them as YAML is indented.
type differ struct {
	Options
	lines   []Line
	path    []string
	changed int
}

// diffMost bounds the lines of a diff.
const diffMost = 20_000

// Objects compares two objects given as JSON, and returns the number of changed fields. With all, it writes unchanged
// values too; else a line counts them.
func Objects(before, after []byte, all bool) (lines []Line, changed int, err error) {
	return Compare(before, after, Options{All: all})
}

// Compare is Objects with options.
func Compare(before, after []byte, o Options) (lines []Line, changed int, err error) {
	a, err := parse(before)
	if err != nil {
		return nil, 0, fmt.Errorf("the object before can't be read: %w", err)
	}
	b, err := parse(after)
	if err != nil {
		return nil, 0, fmt.Errorf("the object after can't be read: %w", err)
	}
	d := &differ{Options: o}
	d.value(0, "", a, b)
	return d.lines, d.changed, nil
}

func parse(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("something follows the object")
	}
	return v, nil
}

// write adds a line, as long as there is room.
func (d *differ) write(mark byte, depth int, text string) {
	switch {
	case len(d.lines) < diffMost:
		line := Line{Mark: mark, Depth: depth, Text: draw.Clean(text)}
		if mark != ' ' {
			line.Path = append([]string(nil), d.path...)
		}
		d.lines = append(d.lines, line)
	case len(d.lines) == diffMost:
		d.lines = append(d.lines, Line{Mark: ' ', Text: fmt.Sprintf("… cut after %d lines", diffMost)})
	}
}

// at runs do with part added to the path.
func (d *differ) at(part string, do func()) {
	d.path = append(d.path, part)
	do()
	d.path = d.path[:len(d.path)-1]
}

// value compares a and b, after a label.
func (d *differ) value(depth int, label string, a, b any) {
	if equal(a, b) {
		d.writeSame(depth, label, b)
		return
	}
	if d.Fold != nil && d.Fold(d.path) {
		d.changed++
		d.writeSize('-', depth, label, a)
		d.writeSize('+', depth, label, b)
		return
	}
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			depth = d.open(' ', depth, label)
			d.fields(depth, a, b)
			return
		}
	case []any:
		if b, ok := b.([]any); ok {
			depth = d.open(' ', depth, label)
			d.items(depth, a, b)
			return
		}
	}
	d.changed++
	d.whole('-', depth, label, a)
	d.whole('+', depth, label, b)
}

// writeSize writes the size of a value.
func (d *differ) writeSize(mark byte, depth int, label string, v any) {
	d.write(mark, depth, strings.TrimSpace(fmt.Sprintf("%s … %d lines", label, count(v))))
}

// open writes the label of a value that has parts, and returns the depth of the parts.
func (d *differ) open(mark byte, depth int, label string) int {
	if label == "" {
		return depth
	}
	d.write(mark, depth, label)
	return depth + 1
}

func (d *differ) fields(depth int, a, b map[string]any) {
	names := sorted(a)
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	for _, name := range names {
		x, inA := a[name]
		y, inB := b[name]
		d.at(name, func() {
			switch {
			case inA && inB:
				d.value(depth, name+":", x, y)
			case inA:
				d.changed++
				d.whole('-', depth, name+":", x)
			default:
				d.changed++
				d.whole('+', depth, name+":", y)
			}
		})
	}
}

// items compares the items between the common beginning and the common end, one by one.
func (d *differ) items(depth int, a, b []any) {
	first := 0
	for len(a) > 0 && len(b) > 0 && equal(a[0], b[0]) {
		d.writeSame(depth, "-", b[0])
		a, b = a[1:], b[1:]
		first++
	}
	end := 0
	for end < len(a) && end < len(b) && equal(a[len(a)-1-end], b[len(b)-1-end]) {
		end++
	}
	for i := range max(len(a), len(b)) - end {
		d.at(strconv.Itoa(first+i), func() {
			switch {
			case i < len(a)-end && i < len(b)-end:
				d.value(depth, "-", a[i], b[i])
			case i < len(a)-end:
				d.changed++
				d.whole('-', depth, "-", a[i])
			default:
				d.changed++
				d.whole('+', depth, "-", b[i])
			}
		})
	}
	for _, v := range b[len(b)-end:] {
		d.writeSame(depth, "-", v)
	}
}

// sameMost limits the lines of an unchanged value that are written without All.
const sameMost = 1

func (d *differ) writeSame(depth int, label string, v any) {
	if n := count(v); !d.All && n > sameMost {
		d.write(' ', depth, strings.TrimSpace(fmt.Sprintf("%s … %d lines the same", label, n)))
		return
	}
	d.whole(' ', depth, label, v)
}

// count counts the lines of a value's parts.
func count(v any) int {
	n := 0
	switch v := v.(type) {
	case map[string]any:
		for _, part := range v {
			n += 1 + count(part)
		}
	case []any:
		for _, part := range v {
			n += 1 + count(part)
		}
	}
	return n
}

// whole writes a value with one mark.
func (d *differ) whole(mark byte, depth int, label string, v any) {
	if mark != ' ' && d.Fold != nil && d.Fold(d.path) {
		d.writeSize(mark, depth, label, v)
		return
	}
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			d.write(mark, depth, label+" {}")
			return
		}
		depth = d.open(mark, depth, label)
		for _, name := range sorted(v) {
			d.at(name, func() { d.whole(mark, depth, name+":", v[name]) })
		}
	case []any:
		if len(v) == 0 {
			d.write(mark, depth, label+" []")
			return
		}
		depth = d.open(mark, depth, label)
		for i, item := range v {
			d.at(strconv.Itoa(i), func() { d.whole(mark, depth, "-", item) })
		}
	default:
		d.write(mark, depth, strings.TrimSpace(label+" "+scalar(v)))
	}
}

func sorted(m map[string]any) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func scalar(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		if v == "" || strings.ContainsAny(v, "\n\t:#\"'") || strings.TrimSpace(v) != v || looksOther(v) {
			data, _ := json.Marshal(v)
			return string(data)
		}
		return v
	}
	return fmt.Sprint(v)
}

// looksOther reports whether a string without quotes would be read as another type.
func looksOther(s string) bool {
	var v any
	return json.Unmarshal([]byte(s), &v) == nil
}

func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, x := range a {
			if y, ok := b[name]; !ok || !equal(x, y) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equal(a[i], b[i]) {
				return false
			}
		}
		return true
	}
	return a == b
}
