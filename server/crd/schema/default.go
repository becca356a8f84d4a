package schema

import (
	"context"
	"encoding/json"
	"fmt"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/trace"
)

// Defaults may add storedFactor times as much to an object that is stored already: its schema may have had other defaults when
// it was written, and it should still be served if possible.
const storedFactor = 8

// Default sets the defaults of missing fields. It fails with a 413 if they would add more than Limits.Bytes, or when ctx ends.
// The object is incomplete then.
func (s *Schema) Default(ctx context.Context, obj map[string]any) (err error) {
	_, step := trace.Start(ctx, trace.CRDDefault, s.kind.Kind)
	defer step.End(&err)
	if step.Recording() {
		step.Before(&unstructured.Unstructured{Object: obj})
		s.sayDefaults(step, obj)
	}
	if err := s.giveDefaults(ctx, obj, s.limits.Bytes); err != nil {
		return err
	}
	if step.Recording() {
		step.After(&unstructured.Unstructured{Object: obj})
	}
	return nil
}

// DefaultStored is Default for an object from etcd. No journey shows it, since many requests may share the object.
func (s *Schema) DefaultStored(ctx context.Context, obj map[string]any) error {
	return s.giveDefaults(ctx, obj, storedFactor*s.limits.Bytes)
}

// Complete is Default for an object that should have its defaults already. No journey shows it.
func (s *Schema) Complete(ctx context.Context, obj map[string]any) error {
	return s.giveDefaults(ctx, obj, s.limits.Bytes)
}

func (s *Schema) giveDefaults(ctx context.Context, obj map[string]any, limit int64) error {
	if !s.uses.defaults {
		return nil
	}
	d := defaulting{ctx: ctx, limit: limit}
	d.fill(s.defaults(), obj)
	return d.result()
}

// sayDefaults tells step which defaults will be set.
func (s *Schema) sayDefaults(step *trace.Step, obj map[string]any) {
	if !s.uses.defaults {
		step.Why(trace.NoDefaults)
		return
	}
	if paths := missingDefaults(obj, s.structural); len(paths) > 0 {
		step.WhyText(trace.DefaultsSet, listed(paths), int64(len(paths)))
		return
	}
	step.Why(trace.NoDefaultNeeded)
}

// defaults is the tree of a schema's defaults. Places without any are left out.
type defaults struct {
	schema *structuralschema.Structural
	// size is the size of this place's default as JSON, 0 if there is none.
	size       int64
	properties map[string]*defaults
	additional *defaults
	items      *defaults
}

func newDefaults(s *structuralschema.Structural) *defaults {
	if s == nil {
		return nil
	}
	d := &defaults{schema: s, additional: newDefaults(additional(s)), items: newDefaults(s.Items)}
	for name, prop := range s.Properties {
		if child := newDefaults(&prop); child != nil {
			if d.properties == nil {
				d.properties = map[string]*defaults{}
			}
			d.properties[name] = child
		}
	}
	if s.Default.Object != nil {
		text, err := json.Marshal(s.Default.Object)
		if err != nil {
			panic(fmt.Sprintf("a default that was read from JSON can't be written: %v", err))
		}
		d.size = int64(len(text))
	}
	if d.size == 0 && d.properties == nil && d.additional == nil && d.items == nil {
		return nil
	}
	return d
}

// replaces says whether the default replaces a null, which it does where null is not allowed.
func (d *defaults) replaces(value any) bool { return value == nil && d.size > 0 && !d.schema.Nullable }

// defaulting is one run of Default.
type defaulting struct {
	ctx   context.Context
	limit int64
	// added counts the bytes of the defaults that were set, and of those for which there was no room.
	added int64
	taken int64
	err   error
}

func (d *defaulting) result() error {
	switch {
	case d.err != nil:
		return d.err
	case d.added > d.limit:
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
			"the defaults of the schema would add %d bytes to the object or more, the limit that --max-default-bytes sets is %d", d.added, d.limit))
	}
	return nil
}

// ended says whether the run must stop.
func (d *defaulting) ended() bool {
	if d.taken++; d.taken%stepsBetweenLooks == 0 && d.err == nil {
		d.err = d.ctx.Err()
	}
	return d.err != nil
}

// give returns a copy of a default if there is room for it.
func (d *defaulting) give(at *defaults) (value any, ok bool) {
	if d.added += at.size; d.added > d.limit {
		return nil, false
	}
	return runtime.DeepCopyJSONValue(at.schema.Default.Object), true
}

// fill sets the defaults in a value.
func (d *defaulting) fill(at *defaults, value any) {
	if at == nil || d.ended() {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		d.fillFields(at, value)
	case []any:
		if at.items == nil {
			return
		}
		for i := range value {
			if at.items.replaces(value[i]) {
				if given, ok := d.give(at.items); ok {
					value[i] = given
				}
			}
			d.fill(at.items, value[i])
		}
	}
}

func (d *defaulting) fillFields(at *defaults, fields map[string]any) {
	for name, prop := range at.properties {
		value, found := fields[name]
		if prop.size > 0 && !found || found && prop.replaces(value) {
			given, ok := d.give(prop)
			if !ok {
				continue
			}
			value, found = given, true
			fields[name] = given
			d.added += int64(len(name)) + 4
		}
		if found {
			d.fill(prop, value)
		}
	}
	if at.additional == nil {
		return
	}
	for name, value := range fields {
		if _, ok := at.schema.Properties[name]; ok {
			continue
		}
		if at.additional.replaces(value) {
			given, ok := d.give(at.additional)
			if !ok {
				continue
			}
			value, fields[name] = given, given
		}
		d.fill(at.additional, value)
	}
}
