package check

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// jsonReader reads a JSON value into the nodes that the YAML library would make of it. That library can't read all of
// JSON: escapes of two halves for one character, for example.
type jsonReader struct {
	data    []byte
	decoder *json.Decoder
	// offset, line and column are where the last node begins. Lines and columns count from 1, columns in characters.
	offset, line, column int
}

// readJSON returns the nodes of a value that has no syntax error.
func readJSON(data []byte) (*yaml.Node, error) {
	r := &jsonReader{data: data, decoder: json.NewDecoder(bytes.NewReader(data)), line: 1, column: 1}
	r.decoder.UseNumber()
	return r.value()
}

func (r *jsonReader) value() (*yaml.Node, error) {
	r.skip(int(r.decoder.InputOffset()))
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: r.line, Column: r.column}
	token, err := r.decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Delim:
		n.Kind, n.Tag, n.Style = yaml.SequenceNode, "!!seq", yaml.FlowStyle
		if token == '{' {
			n.Kind, n.Tag = yaml.MappingNode, "!!map"
		}
		for r.decoder.More() {
			item, err := r.value() // a key or a value of an object, or an item of an array
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, item)
		}
		_, err = r.decoder.Token()
	case string:
		n.Tag, n.Value, n.Style = "!!str", token, yaml.DoubleQuotedStyle
	case json.Number:
		n.Tag, n.Value = "!!int", token.String()
		if strings.ContainsAny(n.Value, ".eE") {
			n.Tag = "!!float"
		}
	case bool:
		n.Tag, n.Value = "!!bool", "false"
		if token {
			n.Value = "true"
		}
	default:
		n.Tag, n.Value = "!!null", "null"
	}
	return n, err
}

// skip moves to the first byte of the next token after an offset.
func (r *jsonReader) skip(to int) {
	for ; r.offset < to || r.offset < len(r.data) && strings.IndexByte(" \t\r\n,:", r.data[r.offset]) >= 0; r.offset++ {
		switch b := r.data[r.offset]; {
		case b == '\n':
			r.line, r.column = r.line+1, 1
		case utf8.RuneStart(b):
			r.column++
		}
	}
}
