package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/tui/draw"
)

// Format is the format of a result.
type Format string

// The formats. Each command has some of them.
const (
	Text  Format = ""
	Table Format = "table"
	Wide  Format = "wide"
	JSON  Format = "json"
	YAML  Format = "yaml"
	Raw   Format = "raw"
	Hex   Format = "hex"
)

// Columns holds the titles of a table, and a function for the cells of a row.
type Columns[T any] struct {
	titles []string
	cells  func(T) []any
	least  []int // minimum widths of columns; nil for none
}

// columns reads titles, which two spaces separate. Numbers and their titles are aligned right.
func columns[T any](titles string, cells func(T) []any) Columns[T] {
	return Columns[T]{titles: strings.Split(titles, "  "), cells: cells}
}

// right is text that is aligned right, like numbers.
type right string

// cell formats a value. It shows an empty text as a dash, except at the end of a row.
func cell(value any, last bool) (text string, number bool) {
	switch v := value.(type) {
	case string:
		if v == "" && !last {
			return "-", false
		}
		return draw.Clean(v), false
	case bool:
		return fmt.Sprint(v), false
	case right:
		return draw.Clean(string(v)), true
	}
	return fmt.Sprint(value), true
}

// widthRows is the number of rows that are held to measure the columns before the first is written. Wider rows after
// them are not cut.
const widthRows = 200

// List writes rows as they are added.
type List[T any] struct {
	out     io.Writer
	format  Format
	columns Columns[T]
	// Lines writes each row as a separate line or document, for endless lists.
	Lines bool

	rows   int
	held   [][]string
	widths []int
	right  []bool // the columns of numbers
}

// NewList begins a list; Close ends it.
func NewList[T any](out io.Writer, format Format, columns Columns[T]) *List[T] {
	return &List[T]{out: out, format: format, columns: columns, right: make([]bool, len(columns.titles))}
}

// All writes a list of rows in memory.
func All[T any](out io.Writer, format Format, columns Columns[T], rows ...T) error {
	l := NewList(out, format, columns)
	for _, row := range rows {
		if err := l.Add(row); err != nil {
			return err
		}
	}
	return l.Close()
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
	values := l.columns.cells(row)
	cells := make([]string, len(values))
	for i, value := range values {
		cells[i], l.right[i] = cell(value, i == len(values)-1)
	}
	if l.widths != nil {
		return l.line(cells)
	}
	if l.held = append(l.held, cells); len(l.held) < widthRows && !l.Lines {
		return nil
	}
	return l.flush()
}

// Close writes the held rows.
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
	data, err := asItem(row)
	if err != nil {
		return err
	}
	return l.write(string(data))
}

// asItem encodes a value as an item of a YAML list.
func asItem(value any) ([]byte, error) {
	data, err := asYAML([]any{value})
	if err != nil || !bytes.HasPrefix(data, []byte("[")) {
		return data, err
	}
	return encodeNested("-", value)
}

// encodeNested encodes a value in the line of its key or its dash: hostile characters made it JSON, and that must not
// begin a line.
func encodeNested(before string, value any) ([]byte, error) {
	data, err := asYAML(value)
	if err != nil {
		return nil, err
	}
	return append([]byte(before+" "), append(bytes.ReplaceAll(bytes.TrimSpace(data), []byte("\n"), []byte("\n  ")), '\n')...), nil
}

// asYAML encodes a value as YAML with hostile characters escaped.
func asYAML(value any) ([]byte, error) {
	data, err := json.MarshalIndent(value, "", "  ")
	return escape.YAML(data, yaml.JSONToYAML), err
}

// flush writes the titles and the held rows. A table without rows has no titles.
func (l *List[T]) flush() error {
	if l.widths != nil || len(l.held) == 0 {
		return nil
	}
	l.widths = make([]int, len(l.columns.titles))
	copy(l.widths, l.columns.least)
	held := append([][]string{l.columns.titles}, l.held...)
	for _, row := range held {
		for i, cell := range row {
			l.widths[i] = max(l.widths[i], draw.Width(cell))
		}
	}
	for _, row := range held {
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
		case l.right[i]:
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

// WriteOne writes a single value as JSON or YAML.
func WriteOne(out io.Writer, format Format, value any) error {
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

// Bytes is a size, shown in the largest unit that it reaches.
type Bytes int64

func (n Bytes) String() string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	size, unit := float64(n), 0
	for size >= 1024 && unit < len(units)-1 {
		size /= 1024
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", int64(n))
	}
	return fmt.Sprintf("%.1f %s", size, units[unit])
}

// Count is a number, shown with commas.
type Count int64

func (n Count) String() string {
	s := fmt.Sprint(int64(n))
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}
