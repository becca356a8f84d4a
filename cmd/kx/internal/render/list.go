package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/tui/draw"
)

// Format is how a list is written.
type Format string

// The formats of lists.
const (
	Table Format = "table"
	JSON  Format = "json"
	YAML  Format = "yaml"
)

// ParseFormat reads a format of those that are allowed.
func ParseFormat(text string, allowed ...Format) (Format, error) {
	if f := Format(text); slices.Contains(allowed, f) {
		return f, nil
	}
	names := make([]string, 0, len(allowed))
	for _, f := range allowed {
		names = append(names, string(f))
	}
	return "", fmt.Errorf("output %q is unknown: use %s", text, strings.Join(names, ", "))
}

// Column is one of a table.
type Column[T any] struct {
	Title string
	// Right aligns numbers.
	Right bool
	Text  func(T) string
}

// widthRows are looked at before the first is written, to know how wide the columns are. Later rows that need more get it.
const widthRows = 200

// List writes rows as they come.
type List[T any] struct {
	out     io.Writer
	format  Format
	columns []Column[T]
	// Lines writes each row as a line or document of its own, for lists that have no end.
	Lines bool

	rows   int
	held   [][]string
	widths []int
}

// NewList begins a list; Close ends it.
func NewList[T any](out io.Writer, format Format, columns ...Column[T]) *List[T] {
	return &List[T]{out: out, format: format, columns: columns}
}

// Add writes a row.
func (l *List[T]) Add(row T) error {
	l.rows++
	switch l.format {
	case JSON:
		return l.json(row)
	case YAML:
		return l.yaml(row)
	}
	cells := make([]string, 0, len(l.columns))
	for _, c := range l.columns {
		cells = append(cells, draw.Clean(c.Text(row)))
	}
	if l.widths != nil {
		return l.line(cells)
	}
	if l.held = append(l.held, cells); len(l.held) < widthRows && !l.Lines {
		return nil
	}
	return l.flush()
}

// Close writes what is still held.
func (l *List[T]) Close() error {
	switch {
	case l.format == Table:
		return l.flush()
	case l.Lines:
		return nil
	case l.rows == 0:
		return l.write("[]\n")
	case l.format == JSON:
		return l.write("\n]\n")
	}
	return nil
}

func (l *List[T]) write(text string) error {
	_, err := io.WriteString(l.out, text)
	return err
}

func (l *List[T]) json(row T) error {
	if l.Lines {
		data, err := json.Marshal(row)
		if err != nil {
			return err
		}
		return l.write(string(escape.JSON(data)) + "\n")
	}
	data, err := json.MarshalIndent(row, "  ", "  ")
	if err != nil {
		return err
	}
	before := ",\n  "
	if l.rows == 1 {
		before = "[\n  "
	}
	return l.write(before + string(escape.JSON(data)))
}

func (l *List[T]) yaml(row T) error {
	if l.Lines {
		data, err := asYAML(row)
		if err != nil {
			return err
		}
		return l.write("---\n" + string(data))
	}
	data, err := asYAML([]T{row})
	if err != nil {
		return err
	}
	if bytes.HasPrefix(data, []byte("[")) { // hostile characters made it JSON: a document of its own can't be one of a list
		item, err := asYAML(row)
		if err != nil {
			return err
		}
		data = append([]byte("- "), bytes.ReplaceAll(item, []byte("\n"), []byte("\n  "))...)
		data = append(bytes.TrimRight(data, " \n"), '\n')
	}
	_, err = l.out.Write(data)
	return err
}

// asYAML is a value as YAML that can be shown.
func asYAML(value any) ([]byte, error) {
	data, err := json.MarshalIndent(value, "", "  ")
	return escape.YAML(data, yaml.JSONToYAML), err
}

// flush writes the titles and the held rows. A table without rows has no titles.
func (l *List[T]) flush() error {
	if l.widths != nil || len(l.held) == 0 {
		return nil
	}
	titles := make([]string, 0, len(l.columns))
	for _, c := range l.columns {
		titles = append(titles, c.Title)
	}
	l.widths = make([]int, len(l.columns))
	for _, row := range append([][]string{titles}, l.held...) {
		for i, cell := range row {
			l.widths[i] = max(l.widths[i], draw.Width(cell))
		}
	}
	if err := l.line(titles); err != nil {
		return err
	}
	for _, row := range l.held {
		if err := l.line(row); err != nil {
			return err
		}
	}
	l.held = nil
	return nil
}

func (l *List[T]) line(cells []string) error {
	var b bytes.Buffer
	for i, cell := range cells {
		pad := strings.Repeat(" ", max(l.widths[i]-draw.Width(cell), 0))
		switch {
		case l.columns[i].Right:
			b.WriteString(pad + cell)
		case i == len(cells)-1:
			b.WriteString(cell)
		default:
			b.WriteString(cell + pad)
		}
		if i < len(cells)-1 {
			b.WriteString("  ")
		}
	}
	return l.write(strings.TrimRight(b.String(), " ") + "\n")
}

// One writes a single value as JSON or YAML.
func One(out io.Writer, format Format, value any) error {
	var data []byte
	var err error
	if format == YAML {
		data, err = asYAML(value)
	} else {
		data, err = json.MarshalIndent(value, "", "  ")
		data = append(escape.JSON(data), '\n')
	}
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	return err
}

// JSONLine writes a single value as JSON on one line.
func JSONLine(out io.Writer, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = out.Write(append(escape.JSON(data), '\n'))
	return err
}

// Bytes is a size for people.
func Bytes(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	size, unit := float64(n), 0
	for size >= 1024 && unit < len(units)-1 {
		size /= 1024
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", size, units[unit])
}

// Count is a number for people.
func Count(n int64) string {
	s := fmt.Sprint(n)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}
