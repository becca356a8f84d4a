package traceview

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
)

// Change is a step that gave a field another value.
type Change struct {
	Who  string         `json:"who"`
	Step *v1alpha1.Step `json:"step"`
	// Before and After are JSON; empty where there was nothing.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// who are those who may change an object on its way, by the step in which they do.
var who = map[string]string{
	"handler.decode":         "the client, or a default of the version that it sent",
	"handler.apply-patch":    "the client, by its patch",
	"handler.apply":          "the client, by what it applied",
	"handler.mutate":         "mutating admission",
	"handler.managed-fields": "the bookkeeping of who manages which field",
	"handler.convert":        "conversion to another version",
	"crd.convert":            "conversion to another version",
	"crd.webhook":            "the conversion webhook",
	"crd.prune":              "pruning of what the schema does not have",
	"crd.default":            "a default of the schema",
	"store.before-create":    "the resource's strategy, before the create",
	"store.before-update":    "the resource's strategy, before the update",
	"etcd3.decode":           "what is stored",
}

// reads are the steps by which an object comes into a journey.
var reads = map[string]bool{"handler.decode": true}

// Blame finds the steps of a journey that changed the field at path, in their order. The error says if it can't be known.
func Blame(j *v1alpha1.Journey, path string) ([]Change, error) {
	where, err := parsePath(path)
	if err != nil {
		return nil, err
	}
	b := &blame{steps: j.Status.Steps, where: where, explained: map[int32]bool{}}
	if !b.objects() {
		return nil, fmt.Errorf("journey %s has no objects: make the request with --trace, or with the header Kx-Trace: objects, as an administrator", j.Name)
	}
	// A step is to blame if none of those that it called is: they are looked at first.
	for i := len(b.steps) - 1; i >= 0; i-- {
		if err := b.look(i); err != nil {
			return nil, err
		}
	}
	for i, k := 0, len(b.changes)-1; i < k; i, k = i+1, k-1 {
		b.changes[i], b.changes[k] = b.changes[k], b.changes[i]
	}
	return b.changes, nil
}

type blame struct {
	steps     []v1alpha1.Step
	where     []string
	explained map[int32]bool // steps below which one is to blame
	changes   []Change
}

func (b *blame) objects() bool {
	for i := range b.steps {
		if b.steps[i].Before != nil || b.steps[i].After != nil {
			return true
		}
	}
	return false
}

func (b *blame) look(i int) error {
	s := &b.steps[i]
	if s.After == nil || s.Before == nil && !reads[s.ID] {
		b.pass(i)
		return nil
	}
	after, err := valueOf(s.After.Raw, b.where)
	if err != nil {
		return fmt.Errorf("step %s: %w", s.ID, err)
	}
	before := ""
	if s.Before != nil {
		if before, err = valueOf(s.Before.Raw, b.where); err != nil {
			return fmt.Errorf("step %s: %w", s.ID, err)
		}
	}
	if before != after && !b.explained[int32(i)] {
		name := who[s.ID]
		if name == "" {
			name = s.Title
		}
		b.changes = append(b.changes, Change{Who: name, Step: s, Before: before, After: after})
		b.explained[int32(i)] = true
	}
	b.pass(i)
	return nil
}

// pass tells a step's caller that the change is explained.
func (b *blame) pass(i int) {
	if parent := b.steps[i].Parent; b.explained[int32(i)] && parent >= 0 {
		b.explained[parent] = true
	}
}

// WriteBlame writes what Blame found.
func WriteBlame(out io.Writer, j *v1alpha1.Journey, path string, changes []Change, p Paint) {
	fmt.Fprintln(out, head(j, p))
	if len(changes) == 0 {
		fmt.Fprintf(out, "  no step changed %s\n", draw.Clean(path))
		return
	}
	show := func(v string) string {
		if v == "" {
			return "nothing"
		}
		return draw.Clean(v)
	}
	for _, c := range changes {
		fmt.Fprintf(out, "  %s → %s  %s\n", p.bad(show(c.Before)), p.good(show(c.After)), p.bold(c.Who))
		fmt.Fprintf(out, "      %s %s (%s:%d)\n", p.layer(draw.Clean(c.Step.ID)), draw.Clean(c.Step.Function), draw.Clean(c.Step.File), c.Step.Line)
		if c.Step.Why != "" {
			fmt.Fprintf(out, "      %s\n", p.notes(draw.Clean(c.Step.Why)))
		}
	}
}

// parsePath reads a path such as spec.template.spec.containers[0].image or metadata.labels[app.kubernetes.io/name].
func parsePath(path string) ([]string, error) {
	var parts []string
	rest := strings.TrimPrefix(path, ".")
	for rest != "" {
		if rest[0] == '[' {
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				return nil, fmt.Errorf("the path %q has a [ without a ]", path)
			}
			parts = append(parts, strings.Trim(rest[1:end], `"'`))
			rest = strings.TrimPrefix(rest[end+1:], ".")
			continue
		}
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		parts = append(parts, rest[:end])
		rest = strings.TrimPrefix(rest[end:], ".")
	}
	for _, part := range parts {
		if part == "" {
			return nil, fmt.Errorf("the path %q has an empty part", path)
		}
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("the path is empty: give one such as spec.replicas")
	}
	return parts, nil
}

// valueOf is the value at a path of an object, as JSON; empty if there is none.
func valueOf(object []byte, where []string) (string, error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return "", fmt.Errorf("the object can't be read: %w", err)
	}
	for _, part := range where {
		switch container := v.(type) {
		case map[string]any:
			v = container[part]
		case []any:
			n, err := strconv.Atoi(part)
			if err != nil || n < 0 || n >= len(container) {
				return "", nil
			}
			v = container[n]
		default:
			return "", nil
		}
	}
	if v == nil {
		return "", nil
	}
	data, err := json.Marshal(v)
	return string(data), err
}
