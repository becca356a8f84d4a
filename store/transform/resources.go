package transform

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/store/transform/kms"
)

// anyResource is the rule "*.*".
var anyResource = schema.GroupResource{Group: "*", Resource: "*"}

// Resources has the transformers of all resources, by the configuration in force. A nil Resources encrypts nothing.
type Resources struct {
	metrics *Metrics
	current atomic.Pointer[state]
	// reloadable says that another configuration may replace this one.
	reloadable bool
	// changed is closed when values may have become readable that were not.
	changed atomic.Pointer[chan struct{}]

	mu sync.Mutex
	// following holds the transformers that were handed out, if another configuration may replace this one.
	following map[schema.GroupResource]*currentTransformer
	// ending holds replaced configurations until their plugins are closed. mu guards following, ending and closed.
	ending map[*configuration]*time.Timer
	closed bool
}

// state is the configuration in force, for all resources at once.
type state struct {
	*configuration
	// slots has the transformers of resources, in the order of their first use. Longer slices share its array.
	slots []Transformer
}

// maxSlots limits the resources whose transformer is looked up in advance. Definitions of resources come and go, and
// leave their slots.
const maxSlots = 4096

// configuration holds the contents of one file.
type configuration struct {
	rules map[schema.GroupResource]*prefixChain
	// prefixes has the prefix that each rule's transformer writes.
	prefixes map[schema.GroupResource]string
	plugins  []*kms.Envelope
	// waits is the longest time that calls of all plugins can take, one after the other.
	waits time.Duration
	// hash is that of the file.
	hash string

	metrics *Metrics
	mu      sync.Mutex
	// counting has those transformers that count their work, by resource. mu guards it.
	counting map[schema.GroupResource]*prefixChain
}

func newResources(first *configuration) *Resources {
	r := &Resources{following: map[schema.GroupResource]*currentTransformer{}, ending: map[*configuration]*time.Timer{}}
	r.current.Store(&state{configuration: first})
	changed := make(chan struct{})
	r.changed.Store(&changed)
	first.onOpened(r.tellChanged)
	return r
}

func (r *Resources) tellChanged() {
	changed := make(chan struct{})
	close(*r.changed.Swap(&changed))
}

// Measure makes metrics count the work of transformers. It must be called before ForResource.
func (r *Resources) Measure(m *Metrics) {
	r.metrics = m
	r.current.Load().measure(m)
}

// Reloadable has ForResource return transformers that work by the configuration that counts when they are used. It is
// called before.
func (r *Resources) Reloadable() { r.reloadable = true }

// Hash is that of the file that counts.
func (r *Resources) Hash() string { return r.current.Load().hash }

// Changed is closed when values may have become readable: another configuration is in force, or a KMS plugin opens
// sources that it did not open before.
func (r *Resources) Changed() <-chan struct{} {
	if r == nil {
		return nil
	}
	return *r.changed.Load()
}

// Check returns what is wrong with the KMS plugins in force.
func (r *Resources) Check(ctx context.Context) error {
	if r == nil {
		return nil
	}
	return r.current.Load().check(ctx)
}

// Plugins says whether values are encrypted with the keys of KMS plugins.
func (r *Resources) Plugins() bool { return r != nil && len(r.current.Load().plugins) > 0 }

// Reload puts another configuration in force, for all resources at once, if its plugins are healthy. Work that began
// with the old one can go on with it until the calls of its plugins must have ended. Reloads run one after the other.
// After an error nothing has changed.
func (r *Resources) Reload(ctx context.Context, data []byte) error {
	next, err := parse(data)
	if err != nil {
		return err
	}
	next.measure(r.metrics)
	next.onOpened(r.tellChanged)
	if err := next.check(ctx); err != nil {
		return errors.Join(err, next.close())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return next.close()
	}
	before := r.current.Load()
	after := &state{configuration: next, slots: make([]Transformer, len(before.slots))}
	for resource, f := range r.following {
		if f.slot < len(after.slots) {
			after.slots[f.slot] = next.forResource(resource)
		}
	}
	r.current.Store(after)
	r.tellChanged()
	if len(before.plugins) > 0 {
		r.ending[before.configuration] = time.AfterFunc(before.grace(), func() { r.end(before.configuration) })
	}
	return nil
}

// end closes the plugins of a configuration that counted before.
func (r *Resources) end(c *configuration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, open := r.ending[c]; open {
		delete(r.ending, c)
		_ = c.close() // it only fails if it was closed before
	}
}

// Close ends the connections to the KMS plugins. Nothing that a plugin encrypted can be read or written then.
func (r *Resources) Close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	errs := []error{r.current.Load().close()}
	for c, timer := range r.ending {
		timer.Stop()
		errs = append(errs, c.close())
	}
	clear(r.ending)
	return errors.Join(errs...)
}

// Prefix returns the prefix with which values of a resource are written, such as "k8s:enc:aescbc:v1:key1:". It is empty
// for values in the clear.
func (r *Resources) Prefix(resource schema.GroupResource) string {
	if r == nil {
		return ""
	}
	c := r.current.Load().configuration
	if rule, ok := c.ruleFor(resource); ok {
		return c.prefixes[rule]
	}
	return ""
}

// ForResource returns the transformer of a resource: that of the rule for the resource, for its group, or for
// everything, or else the identity. Metrics count the work of a rule's transformer for the resource.
func (r *Resources) ForResource(resource schema.GroupResource) Transformer {
	switch {
	case r == nil:
		return NewIdentity()
	case !r.reloadable:
		return r.current.Load().forResource(resource)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.following[resource]; f != nil {
		return f
	}
	now := r.current.Load()
	f := &currentTransformer{resources: r, resource: resource, slot: len(now.slots)}
	if f.slot == maxSlots {
		return f // it looks its transformer up each time
	}
	r.following[resource] = f
	// A reader with the shorter slice does not see the new element.
	r.current.Store(&state{configuration: now.configuration, slots: append(now.slots, now.forResource(resource))})
	return f
}

// currentTransformer is the transformer of a resource by the configuration that counts when it is used. Finding it
// takes one atomic load.
type currentTransformer struct {
	resources *Resources
	resource  schema.GroupResource
	slot      int
}

func (f *currentTransformer) current() Transformer {
	s := f.resources.current.Load()
	if f.slot < len(s.slots) {
		return s.slots[f.slot]
	}
	return s.forResource(f.resource)
}

func (f *currentTransformer) TransformFromStorage(ctx context.Context, data []byte, dataCtx Context) ([]byte, bool, error) {
	return f.current().TransformFromStorage(ctx, data, dataCtx)
}

func (f *currentTransformer) TransformToStorage(ctx context.Context, data []byte, dataCtx Context) ([]byte, error) {
	return f.current().TransformToStorage(ctx, data, dataCtx)
}

func (c *configuration) measure(m *Metrics) {
	if m == nil {
		return
	}
	c.metrics = m
	for _, p := range c.plugins {
		p.Observe(m)
	}
}

func (c *configuration) onOpened(tell func()) {
	for _, p := range c.plugins {
		p.OnOpened(tell)
	}
}

func (c *configuration) check(ctx context.Context) error {
	var errs []error
	for _, p := range c.plugins {
		errs = append(errs, p.Check(ctx))
	}
	return errors.Join(errs...)
}

func (c *configuration) close() error {
	var errs []error
	for _, p := range c.plugins {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// grace limits the time for work that began with the old plugins. A caller that waits for the two calls of another
// caller makes one of its own then.
func (c *configuration) grace() time.Duration { return max(10*time.Second, 4*c.waits) }

// forResource returns the transformer of a resource.
func (c *configuration) forResource(resource schema.GroupResource) Transformer {
	rule, ok := c.ruleFor(resource)
	switch {
	case !ok:
		return NewIdentity()
	case c.metrics == nil:
		return c.rules[rule]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.counting[resource]
	if out == nil {
		out = c.rules[rule].withMetrics(resource.String(), c.metrics)
		if len(c.counting) < maxSlots {
			c.counting[resource] = out
		}
	}
	return out
}

// ruleFor returns the rule that applies to a resource.
func (c *configuration) ruleFor(resource schema.GroupResource) (rule schema.GroupResource, ok bool) {
	for _, rule := range []schema.GroupResource{resource, {Group: resource.Group, Resource: "*"}, anyResource} {
		if _, ok := c.rules[rule]; ok {
			return rule, true
		}
	}
	return rule, false
}
