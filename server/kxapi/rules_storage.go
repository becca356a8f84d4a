package kxapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
)

const (
	// maxRules limits the breakpoints, and also the faults: every step checks each of them.
	maxRules = 64
	// maxDeleted limits the deletions that are kept for watches which start before them.
	maxDeleted = 256
)

// ruleKind holds the differences between breakpoints and faults.
type ruleKind[T groupObject] struct {
	// allows returns an error if the server refuses the object now, whatever it says.
	allows func(T) error
	// parse sets the object's defaults, and returns its rule and its lease. The lease is the time for which the object
	// stays after the last client tended the rules, 0 for ever.
	parse     func(T) (*trace.Rule, time.Duration, field.ErrorList)
	setStatus func(T, v1alpha1.RuleStatus)
	// setTime says that a lease is a time: it is over then, whoever tends the rules.
	setTime bool
	// ended, if set, is called after an object is gone.
	ended func()
}

// rules are the breakpoints or the faults of this process. They are only in its memory.
//
// Purpose: to be like any other resource to kubectl and informers, and never to delay a request that reports a hit.
//
//  1. A stored object never changes. Its status is looked up for each reader.
//  2. The version of an object grows when its rule is hit. Followers read, at their own pace, the objects with a newer
//     version than they have sent. So a rule with very many hits costs them no more than one with few.
//  3. The control's lock may be taken under mu, never mu under the control's.
//  4. mu guards the fields below it.
type rules struct {
	*anyResource
	ruleKind[groupObject]
	versions
	control *trace.Control

	mu       sync.Mutex
	last     uint64 // the version of the latest change
	entries  map[string]*ruleEntry
	deleted  []*ruleEntry  // the latest, the oldest first
	lost     uint64        // the version of the latest deletion that is not kept
	wake     chan struct{} // closed and replaced by each change
	watches  int
	tendedAt time.Time // when a client last tended the rules
}

// ruleEntry is one object. If it is deleted, its rule is removed.
type ruleEntry struct {
	object           groupObject // without status and version
	rule             *trace.Rule
	created, version uint64
	lease            time.Duration
	timer            *time.Timer // nil if it stays for ever
	kept             bool        // it can't be deleted
}

// ruleStorage is a watcher that can also create and delete.
type ruleStorage struct {
	watcher
	*rules
}

func newRules[T groupObject](r resource[T], kind ruleKind[T], control *trace.Control) ruleStorage {
	return rulesOf(declare(r), ruleKind[groupObject]{
		allows:    func(o groupObject) error { return kind.allows(o.(T)) },
		parse:     func(o groupObject) (*trace.Rule, time.Duration, field.ErrorList) { return kind.parse(o.(T)) },
		setStatus: func(o groupObject, status v1alpha1.RuleStatus) { kind.setStatus(o.(T), status) },
		setTime:   kind.setTime,
	}, control)
}

func rulesOf(r *anyResource, kind ruleKind[groupObject], control *trace.Control) ruleStorage {
	s := &rules{
		anyResource: r, ruleKind: kind, versions: newVersions(), control: control,
		entries: map[string]*ruleEntry{}, wake: make(chan struct{}),
	}
	r.get, r.list, r.watch, r.source.get = s.get, s.list, s.watch, s.get
	return ruleStorage{watcher{newLister(r)}, s}
}

// Destroy stops the timers of leases.
func (r *rules) Destroy() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.entries {
		if e.timer != nil {
			e.timer.Stop()
		}
	}
}

func copyOf(o groupObject) groupObject { return o.DeepCopyObject().(groupObject) }

// changed gives the entry a new version and wakes the followers. The caller holds mu.
func (r *rules) changed(e *ruleEntry) {
	r.last++
	e.version = r.last
	close(r.wake)
	r.wake = make(chan struct{})
}

func (r *rules) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc,
	options *metav1.CreateOptions) (runtime.Object, error) {
	object := copyOf(obj.(groupObject))
	generateName(object)
	if err := r.allows(object); err != nil {
		return nil, apierrors.NewForbidden(groupResource(r.plural), object.GetName(), err)
	}
	r.setStatus(object, v1alpha1.RuleStatus{})
	rule, lease, errs := r.parse(object)
	errs = append(errs, checkName(object)...)
	if len(errs) > 0 {
		return nil, apierrors.NewInvalid(r.kind().GroupKind(), object.GetName(), errs)
	}
	object.SetUID(uuid.NewUUID())
	object.SetCreationTimestamp(metav1.Now())
	if err := validate(ctx, copyOf(object)); err != nil {
		return nil, err
	}
	e := &ruleEntry{object: object, rule: rule, lease: lease}
	if err := r.add(e, len(options.DryRun) > 0); err != nil {
		return nil, err
	}
	return r.show(e), nil
}

// keep adds an object that clients can't delete, and that says what the server does anyway.
func (r *rules) keep(e *ruleEntry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.object.SetUID(uuid.NewUUID())
	e.kept = true
	r.entries[e.object.GetName()] = e
	r.changed(e)
	e.created = e.version
}

func (r *rules) add(e *ruleEntry, dryRun bool) error {
	name := e.object.GetName()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.entries[name] != nil:
		return apierrors.NewAlreadyExists(groupResource(r.plural), name)
	case len(r.entries) >= maxRules:
		return apierrors.NewForbidden(groupResource(r.plural), name,
			fmt.Errorf("there are %d %s already, and no more may be", maxRules, r.plural))
	case dryRun:
		return nil
	}
	e.rule.Changed = func() { r.hit(e) }
	r.entries[name] = e
	r.changed(e)
	e.created = e.version
	r.tendedAt = time.Now()
	if e.lease > 0 {
		e.timer = time.AfterFunc(e.lease, func() { r.expire(e) })
	}
	// The control calls Changed with no lock held, so calling it under this lock is safe.
	if err := r.control.Add(e.rule); err != nil {
		r.remove(e)
		return apierrors.NewServiceUnavailable(err.Error())
	}
	return nil
}

// hit gives an object a new version. It runs on the goroutine of a request.
func (r *rules) hit(e *ruleEntry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entries[e.object.GetName()] == e {
		r.changed(e)
	}
}

// show returns the object for clients, with status and version.
func (r *rules) show(e *ruleEntry) groupObject {
	object := copyOf(e.object)
	r.mu.Lock()
	version := e.version
	r.mu.Unlock()
	if version > 0 {
		object.SetResourceVersion(r.text(version))
	}
	r.setStatus(object, statusOf(r.control.Counts(e.rule)))
	return object
}

func statusOf(n trace.Counts) v1alpha1.RuleStatus {
	status := v1alpha1.RuleStatus{Matches: n.Matches, Hits: n.Hits, Missed: n.Missed, Held: int32(n.Held)}
	if n.Hits > 0 {
		status.LastHit = &v1alpha1.RuleHit{Journey: n.Last.Journey, Step: n.Last.Step, Time: metav1.NewMicroTime(n.Last.At)}
	}
	return status
}

func (r *rules) find(name string) (*ruleEntry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.entries[name]; e != nil {
		return e, nil
	}
	return nil, apierrors.NewNotFound(groupResource(r.plural), name)
}

func (r *rules) get(_ context.Context, name string) (groupObject, error) {
	e, err := r.find(name)
	if err != nil {
		return nil, err
	}
	return r.show(e), nil
}

// selectEntries returns the entries that the selectors match, sorted by name, and the version of this state.
func (r *rules) selectEntries(options *metainternalversion.ListOptions) ([]*ruleEntry, uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*ruleEntry
	for _, e := range r.entries {
		if r.selects(options, e.object) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b *ruleEntry) int { return cmp.Compare(a.object.GetName(), b.object.GetName()) })
	return list, r.last
}

func (r *rules) list(_ context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	if err := r.refusePages(options); err != nil {
		return nil, err
	}
	entries, last := r.selectEntries(options)
	if version := options.ResourceVersion; version != "" && version != "0" {
		if _, err := r.number(version, last); err != nil {
			return nil, err
		}
	}
	items := make([]groupObject, 0, len(entries))
	for _, e := range entries {
		items = append(items, r.show(e))
	}
	return r.listOf(items, options, r.text(last))
}

func (r *rules) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc,
	options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	e, err := r.find(name)
	if err != nil {
		return nil, false, err
	}
	if e.kept {
		return nil, false, apierrors.NewForbidden(groupResource(r.plural), name,
			errors.New("it says what the flags of kx serve allow, and stays"))
	}
	shown := r.show(e)
	if err := validate(ctx, copyOf(shown)); err != nil {
		return nil, false, err
	}
	if err := checkUID(groupResource(r.plural), e.object, options); err != nil {
		return nil, false, err
	}
	if options != nil && len(options.DryRun) > 0 {
		return shown, true, nil
	}
	r.end(e)
	return shown, true, nil
}

func (r *rules) DeleteCollection(ctx context.Context, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions,
	selected *metainternalversion.ListOptions) (runtime.Object, error) {
	entries, _ := r.selectEntries(selected)
	var items []groupObject
	for _, e := range entries {
		if e.kept {
			continue
		}
		deleted, _, err := r.Delete(ctx, e.object.GetName(), validate, options)
		if apierrors.IsNotFound(err) {
			continue // another client deleted it meanwhile
		}
		if err != nil {
			return nil, err
		}
		items = append(items, deleted.(groupObject))
	}
	return r.listOf(items, selected, "")
}

// end deletes an object, unless it is deleted already, and releases the requests that it holds.
func (r *rules) end(e *ruleEntry) {
	r.mu.Lock()
	r.remove(e)
	r.mu.Unlock()
	r.control.Remove(e.rule)
	if r.ended != nil {
		r.ended()
	}
}

// clear deletes all objects.
func (r *rules) clear() {
	entries, _ := r.selectEntries(nil)
	for _, e := range entries {
		r.end(e)
	}
}

// remove removes an object. The caller holds mu.
func (r *rules) remove(e *ruleEntry) {
	name := e.object.GetName()
	if r.entries[name] != e {
		return
	}
	delete(r.entries, name)
	if e.timer != nil {
		e.timer.Stop()
	}
	r.changed(e)
	r.deleted = append(r.deleted, e)
	if len(r.deleted) > maxDeleted {
		r.lost = r.deleted[0].version
		r.deleted[0] = nil
		r.deleted = r.deleted[1:]
	}
}

// tend notes that a client still uses the rules.
func (r *rules) tend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tendedAt = time.Now()
}

// expire deletes an object whose lease is over, because no client has tended the rules for that long.
func (r *rules) expire(e *ruleEntry) {
	r.mu.Lock()
	if r.entries[e.object.GetName()] != e {
		r.mu.Unlock()
		return
	}
	left := e.lease - time.Since(r.tendedAt)
	if r.watches > 0 {
		left = e.lease
	}
	if r.setTime {
		left = 0
	}
	if left > 0 {
		e.timer.Reset(left)
		r.mu.Unlock()
		return
	}
	r.mu.Unlock()
	r.end(e)
}
