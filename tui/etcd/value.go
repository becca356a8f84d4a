package etcd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/diff"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/screen"
)

// form is a notation for a value.
type form uint8

const (
	formYAML form = iota
	formJSON
	formHex
	formDiff
)

var forms = []string{"yaml", "json", "hex", "diff"}

func (f form) String() string { return forms[f] }

// value is a key's value at one revision. Its texts are made on first use.
type value struct {
	loading bool
	err     string
	key     v1alpha1.Key

	texts [formHex][]string // as YAML and as JSON
}

func valueOf(k v1alpha1.Key, err error) *value {
	v := &value{key: k}
	if err != nil {
		v.err = screen.Trouble(err)
	} else if k.Status.Value == nil {
		v.err = "the server sent no value"
	}
	return v
}

// document returns the value as JSON, even if it is no object; nil if it can't be shown.
func (v *value) document() []byte {
	switch w := v.key.Status.Value; {
	case w.Object != nil:
		return w.Object.Raw
	case w.Text != "":
		data, _ := json.Marshal(w.Text) // a string
		return data
	}
	return nil
}

// text returns the lines of the value in a textual form.
func (v *value) text(f form) []string {
	if v.texts[f] == nil {
		v.texts[f] = v.write(f)
	}
	return v.texts[f]
}

func (v *value) write(f form) []string {
	w := v.key.Status.Value
	if w.Object == nil && w.Text != "" {
		return strings.Split(strings.TrimRight(w.Text, "\n"), "\n")
	}
	data := v.document()
	if data == nil {
		switch {
		case w.Error != "":
			return []string{"! " + w.Error}
		case w.Masked:
			return []string{"(masked: it lies where Secrets are)"}
		}
		return []string{fmt.Sprintf("(%d bytes that are no object: %s shows them as hex)", v.key.Status.Bytes, keys.AnotherForm.Key())}
	}
	if f == formYAML {
		out, err := yaml.JSONToYAML(data)
		if err != nil { // it has characters that YAML does not have
			return append([]string{"# as JSON, for as YAML it can't be written: " + err.Error()}, v.text(formJSON)...)
		}
		return lines(out)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", "  "); err != nil {
		return []string{"! it can't be shown: " + err.Error()}
	}
	return lines(b.Bytes())
}

func lines(text []byte) []string {
	return strings.Split(strings.TrimRight(string(text), "\n"), "\n")
}

// hexBytes is the number of bytes in a line of hex.
const hexBytes = 16

// hexLine returns a line of hex in the format of hexdump.
func hexLine(raw []byte, i int) string {
	line := raw[i*hexBytes : min((i+1)*hexBytes, len(raw))]
	var codes, signs strings.Builder
	for j := range hexBytes {
		if j == hexBytes/2 {
			codes.WriteByte(' ')
		}
		if j >= len(line) {
			codes.WriteString("   ")
			continue
		}
		fmt.Fprintf(&codes, "%02x ", line[j])
		if c := line[j]; c >= ' ' && c < 0x7f {
			signs.WriteByte(c)
		} else {
			signs.WriteByte('.')
		}
	}
	return fmt.Sprintf("%08x  %s |%s|", i*hexBytes, codes.String(), signs.String())
}

// hexRows draws the value as bytes.
func (v *value) hexRows(c pane.Content) pane.Content {
	w := v.key.Status.Value
	if w.Masked && w.Raw == nil {
		c.Empty = []string{"", "  The bytes are masked: they hold a Secret that is not encrypted."}
		return c
	}
	c.Rows = (len(w.Raw) + hexBytes - 1) / hexBytes
	c.Row = func(i int) pane.Row { return pane.Row{Text: hexLine(w.Raw, i)} }
	c.Empty = []string{"", "  It has no bytes."}
	return c
}

// differences compares two values. nil stands for a key that did not exist.
func differences(before, after *value, all bool) (lines []diff.Line, changed int, err error) {
	a, b := []byte("null"), []byte("null")
	for v, to := range map[*value]*[]byte{before: &a, after: &b} {
		if v == nil {
			continue
		}
		if *to = v.document(); *to == nil {
			return nil, 0, fmt.Errorf("the value of revision %d is no object and no text: compare it as hex", v.key.Status.ModRevision)
		}
	}
	return diff.Objects(a, b, all)
}

// codec describes the encoding of a value.
func codec(w *v1alpha1.KeyValue) string {
	words := []string{}
	if w.Format != "" {
		words = append(words, w.Format)
	}
	if w.Encryption != "" {
		words = append(words, w.Encryption)
	}
	if w.Masked {
		words = append(words, "masked")
	}
	return draw.Clean(strings.Join(words, ", "))
}
