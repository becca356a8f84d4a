package schema

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// storedFactor multiplies the limit for objects that are already stored. The schema may have got larger defaults since
// the object was written, and the object should still be served.
const storedFactor = 8

// Default sets the defaults of missing fields. It fails with a 413 if they would add more than Limits.Bytes, or
// when ctx ends. The object is incomplete then.
func (s *Schema) Default(ctx context.Context, obj map[string]any) (err error) {
	_, step := trace.Start(ctx, steps.CRDDefault, s.kind.Kind)
	defer step.End(&err)
	if step.Objects() {
		step.Before(&unstructured.Unstructured{Object: obj})
	}
	given := step.NewList()
	if err := s.giveDefaults(ctx, obj, s.limits.Bytes, given); err != nil {
		return err
	}
	if step.Recording() {
		s.sayDefaults(step, given)
		step.After(&unstructured.Unstructured{Object: obj})
	}
	return nil
}

// DefaultStored is Default for an object from etcd. No journey shows it, since many requests may share the object.
func (s *Schema) DefaultStored(ctx context.Context, obj map[string]any) error {
	return s.giveDefaults(ctx, obj, storedFactor*s.limits.Bytes, nil)
}

// Complete is Default for an object that should have its defaults already. No journey shows it.
func (s *Schema) Complete(ctx context.Context, obj map[string]any) error {
	return s.giveDefaults(ctx, obj, s.limits.Bytes, nil)
}

// giveDefaults sets defaults. given (optional) lists the fields that get one.
func (s *Schema) giveDefaults(ctx context.Context, obj map[string]any, limit int64, given *trace.List) error {
	if !s.uses.defaults {
		return nil
	}
	d := defaulting{ctx: ctx, limit: limit, list: given}
	d.fill(s.defaults(), obj, nil)
	return d.result()
}

var (
	noDefaults = trace.Because("no-defaults",
		"no default is set: the schema has none",
		"没有填充默认值：schema 没有定义")
	noDefaultNeeded = trace.Because("no-default-needed",
		"no default is set: every field that has one is there",
		"没有填充默认值：有默认值的字段都已存在")
	defaultsSet = trace.Because("defaults-set",
		"defaults set, in all {count}: {fields:quote}",
		"填充了 {count} 个默认值：{fields:quote}")
)

// sayDefaults records in step which defaults were set.
func (s *Schema) sayDefaults(step *trace.Step, given *trace.List) {
	switch {
	case !s.uses.defaults:
		step.Why(noDefaults)
	case given.Count() == 0:
		step.Why(noDefaultNeeded)
	default:
		step.WhyText(defaultsSet, given.String(), int64(given.Count()))
	}
}

// defaults is the tree of a schema's defaults. Places without defaults are left out.
type defaults struct {
	schema *structuralschema.Structural
	// size is the size of this place's default as JSON, 0 if there is none.
	size       int64
	properties map[string]*defaults
	names      []string // of properties, sorted: a step names the first fields that get a default
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
	d.names = slices.Sorted(maps.Keys(d.properties))
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

// replaces reports whether the default replaces a value: a null does not count where null is not allowed.
func (d *defaults) replaces(value any) bool { return value == nil && d.size > 0 && !d.schema.Nullable }

// defaulting is one run of Default.
type defaulting struct {
	ctx   context.Context
	limit int64
	// list (optional) lists the fields that get a default. A default's own fields are part of it.
	list *trace.List
	// added counts the bytes of the defaults, including those that exceeded the limit.
	added int64
	// visits counts the visited values, so that ctx is checked from time to time only.
	visits int64
	err    error
}

func (d *defaulting) result() error {
	switch {
	case d.err != nil:
		return d.err
	case d.added > d.limit:
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
			"the defaults of the schema would add %d bytes to the object or more, the limit that --max-default-bytes sets is %d",
			d.added, d.limit))
	}
	return nil
}

// ended reports whether the run must stop.
func (d *defaulting) ended() bool {
	if d.visits++; d.visits%stepsBetweenLooks == 0 && d.err == nil {
		d.err = d.ctx.Err()
	}
	return d.err != nil || d.added > d.limit
}

// give returns a copy of a default if it fits the limit.
func (d *defaulting) give(at *defaults) (value any, ok bool) {
	if d.added += at.size; d.added > d.limit {
		return nil, false
	}
	return runtime.DeepCopyJSONValue(at.schema.Default.Object), true
}

// fillChild calls fill for a field or an item. given means that the value is a default itself: it is listed, and the
// fields in it are not. A path is built only while the list has room.
func (d *defaulting) fillChild(at *defaults, value any, here spot, given bool) {
	var place *spot
	if !d.list.Full() {
		place = here.clone()
	}
	if !given {
		d.fill(at, value, place)
		return
	}
	if place != nil {
		d.list.Add(place.String())
	} else {
		d.list.Skip(1)
	}
	list := d.list
	d.list = nil
	d.fill(at, value, nil)
	d.list = list
}

// fill sets the defaults within a value at the place here, which is nil at the root and once the list is full.
func (d *defaulting) fill(at *defaults, value any, here *spot) {
	if at == nil || d.ended() {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		d.fillFields(at, value, here)
		d.fillAdditional(at, value, here)
	case []any:
		if at.items == nil {
			return
		}
		for i := range value {
			given := false
			if at.items.replaces(value[i]) {
				if value[i], given = d.give(at.items); !given {
					return
				}
			}
			d.fillChild(at.items, value[i], here.atIndex(i), given)
		}
	}
}

func (d *defaulting) fillFields(at *defaults, fields map[string]any, here *spot) {
	for _, name := range at.names {
		prop := at.properties[name]
		value, found := fields[name]
		given := false
		if prop.size > 0 && !found || found && prop.replaces(value) {
			if value, given = d.give(prop); !given {
				return
			}
			fields[name] = value
			d.added += int64(len(name)) + 4
		}
		if found || given {
			d.fillChild(prop, value, here.field(name), given)
		}
	}
}

// fillAdditional fills the fields that are not properties, in order while they can still be listed.
func (d *defaulting) fillAdditional(at *defaults, fields map[string]any, here *spot) {
	switch {
	case at.additional == nil:
	case d.list.Full():
		for name, value := range fields {
			d.fillKey(at, fields, name, value, here)
		}
	default:
		for _, name := range namesOf(fields) {
			d.fillKey(at, fields, name, fields[name], here)
		}
	}
}

func (d *defaulting) fillKey(at *defaults, fields map[string]any, name string, value any, here *spot) {
	if _, ok := at.schema.Properties[name]; ok {
		return
	}
	given := false
	if at.additional.replaces(value) {
		if value, given = d.give(at.additional); !given {
			return
		}
		fields[name] = value
	}
	d.fillChild(at.additional, value, here.field(name), given)
}

// lacking reports whether a value lacks a default. It stops at the first one.
func (d *defaults) lacking(value any) bool {
	if d == nil {
		return false
	}
	switch value := value.(type) {
	case map[string]any:
		for name, prop := range d.properties {
			v, found := value[name]
			if prop.size > 0 && !found || found && (prop.replaces(v) || prop.lacking(v)) {
				return true
			}
		}
		if d.additional == nil {
			return false
		}
		for name, v := range value {
			if _, ok := d.schema.Properties[name]; !ok && (d.additional.replaces(v) || d.additional.lacking(v)) {
				return true
			}
		}
	case []any:
		for _, v := range value {
			if d.items != nil && (d.items.replaces(v) || d.items.lacking(v)) {
				return true
			}
		}
	}
	return false
}
