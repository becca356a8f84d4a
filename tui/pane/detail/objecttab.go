package detail

import (
	"bytes"
	"encoding/json"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
)

// form is a notation for an object.
type form uint8

const (
	asYAML form = iota
	asJSON
	asRaw
)

var formNames = [...]string{"YAML", "JSON", "raw"}

// suffixes holds the file endings of the forms.
var suffixes = [...]string{".yaml", ".json", ".json"}

// objectMost limits the lines of an object.
const objectMost = 20_000

// snapshot is the state of an object at a step.
type snapshot struct {
	raw  []byte
	what string
	step int
}

// objectAt returns the object at a step: its input or output, or else the output of the last step before it that had
// an object.
func objectAt(j *v1alpha1.Journey, i int, before bool) (snapshot, bool) {
	steps := j.Status.Steps
	if s := &steps[i]; s.Before != nil && (before || s.After == nil) {
		return snapshot{s.Before.Raw, "what went into %s, as %s", i}, true
	}
	if s := &steps[i]; s.After != nil && !before {
		return snapshot{s.After.Raw, "what came out of %s, as %s", i}, true
	}
	for n := i - 1; n >= 0; n-- {
		s := &steps[n]
		switch {
		case s.After != nil && s.TookNanos >= 0 && !within(steps, i, n):
			return snapshot{s.After.Raw, "no object here; the last before it came out of %s, as %s", n}, true
		case s.Before != nil:
			return snapshot{s.Before.Raw, "no object here; the last before it went into %s, as %s", n}, true
		}
	}
	return snapshot{}, false
}

// within reports whether the i-th step was called by the n-th, directly or not. If so, the output of the n-th is
// later.
func within(steps []v1alpha1.Step, i, n int) bool {
	for k := i; k >= 0; {
		if k == n {
			return true
		}
		parent := int(steps[k].Parent)
		if parent >= k {
			return false
		}
		k = parent
	}
	return false
}

// encode returns the object in a form.
func (f form) encode(raw []byte) (string, error) {
	switch f {
	case asYAML:
		text, err := yaml.JSONToYAML(raw)
		return string(text), err
	case asJSON:
		var b bytes.Buffer
		err := json.Indent(&b, raw, "", "  ")
		return b.String(), err
	}
	return string(raw), nil
}

// visible returns the object in a form, with terminal control characters escaped: it may be pasted into a terminal.
func (f form) visible(raw []byte) (string, error) {
	if f == asYAML {
		return string(escape.YAML(raw, yaml.JSONToYAML)), nil
	}
	return f.encode(escape.JSON(raw))
}

// object shows the object at a step.
func (b *builder) object(p *Pane) {
	at, ok := objectAt(p.journey, p.step, p.before)
	if !ok {
		b.add(label, "no step up to here had an object")
		return
	}
	first := len(b.lines)
	b.add(label, b.words.Phrase(at.what, number(p.journey, at.step), formNames[p.form]))
	if at.step != p.step {
		b.lead(first, toStep(at.step))
	}
	written, err := p.form.encode(at.raw)
	if err != nil {
		b.add(bad, draw.Clean(b.words.Phrase("can't be written as %s: %s", formNames[p.form], err.Error())))
		if written, err = asJSON.encode(at.raw); err != nil {
			written = string(at.raw)
		}
	}
	for i, line := range strings.Split(strings.TrimRight(written, "\n"), "\n") {
		if i == objectMost {
			b.add(bad, "… cut: the rest is not shown")
			return
		}
		for _, part := range draw.Wrap(draw.Clean(line), b.w) {
			b.lines = append(b.lines, text{text: part})
		}
	}
}
