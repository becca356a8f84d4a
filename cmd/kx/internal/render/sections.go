package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/kx-apiserver/kx/core/escape"
)

// sections writes a JSON or YAML document of named parts. The rows of a part that is a list are added one by one.
type sections struct {
	out    io.Writer
	format Format
	parts  int
	rows   int
}

// newSections begins a document; Close ends it.
func newSections(out io.Writer, format Format) *sections { return &sections{out: out, format: format} }

// Value writes a part.
func (s *sections) Value(name string, value any) error {
	if s.format == YAML {
		data, err := asYAML(map[string]any{name: value})
		if err == nil && bytes.HasPrefix(data, []byte("{")) {
			data, err = encodeNested(name+":", value)
		}
		return s.yaml(data, err)
	}
	return s.json(s.next(name), value, "  ")
}

// row writes a row of a part that is a list. endRows must follow the last row.
func (s *sections) row(name string, value any) error {
	s.rows++
	if s.format == YAML {
		if s.rows == 1 {
			if err := s.write(name + ":\n"); err != nil {
				return err
			}
		}
		return s.yaml(asItem(value))
	}
	before := ",\n    "
	if s.rows == 1 {
		before = s.next(name) + "[\n    "
	}
	return s.json(before, value, "    ")
}

// endRows ends a part that is a list.
func (s *sections) endRows(name string) error {
	rows := s.rows
	s.rows = 0
	switch {
	case s.format == YAML && rows == 0:
		return s.write(name + ": []\n")
	case s.format == YAML:
		return nil
	case rows == 0:
		return s.write(s.next(name) + "[]")
	}
	return s.write("\n  ]")
}

// Close ends the document.
func (s *sections) Close() error {
	if s.format == YAML {
		return nil
	}
	return s.write("\n}\n")
}

func (s *sections) next(name string) string {
	s.parts++
	before := ",\n"
	if s.parts == 1 {
		before = "{\n"
	}
	return fmt.Sprintf("%s  %q: ", before, name)
}

func (s *sections) json(before string, value any, indent string) error {
	data, err := json.MarshalIndent(value, indent, "  ")
	if err != nil {
		return err
	}
	return s.write(before + string(escape.JSON(data)))
}

func (s *sections) yaml(data []byte, err error) error {
	if err != nil {
		return err
	}
	return s.write(string(data))
}

func (s *sections) write(text string) error {
	_, err := io.WriteString(s.out, text)
	return err
}
