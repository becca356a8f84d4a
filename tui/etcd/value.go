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
	"github.com/kx-apiserver/kx/tui/pane/rows"
	"github.com/kx-apiserver/kx/tui/screen"
)

// form is how a value is shown.
type form uint8

const (
	formYAML form = iota
	formJSON
	formHex
	formDiff
)

var forms = []string{"yaml", "json", "hex", "diff"}

func (f form) String() string { return forms[f] }

// value is a key's value at one revision. What is shown of it is made once, when it is looked at.
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

// document is the value as JSON, also if it is no object; nil if there is nothing to be shown.
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

// text is the value in one of the forms that are text.
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

// hexBytes is how many bytes a line of hex has.
const hexBytes = 16

// hexLine is a line of hex, as hexdump writes it.
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

// hexRows is the value as bytes.
func (v *value) hexRows(c rows.Content) rows.Content {
	w := v.key.Status.Value
	if w.Masked && w.Raw == nil {
		c.Empty = []string{"", "  The bytes are masked: they hold a Secret that is not encrypted."}
		return c
	}
	c.Rows = (len(w.Raw) + hexBytes - 1) / hexBytes
	c.Row = func(i int) rows.Row { return rows.Row{Text: hexLine(w.Raw, i)} }
	c.Empty = []string{"", "  It has no bytes."}
	return c
}

// differences are what two values differ in; either may be nil, for what was not there.
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

// codec is how a value is encoded, in words.
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
