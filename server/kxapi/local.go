package kxapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
)

const (
	// maxRules bounds how many breakpoints there are, and how many faults: each is asked at every step.
	maxRules = 64
	// maxDeleted is how many deletions watches can begin before.
	maxDeleted = 256
)

// ruleObject is a Breakpoint or a Fault.
type ruleObject interface {
	runtime.Object
	metav1.Object
}

// ruleKind is what breakpoints and faults differ in.
type ruleKind[T ruleObject] struct {
	resource, kind, singular string
	shortNames               []string
	// flag lets a server have them.
	flag    string
	newOne  func() T
	newList func(items []T) runtime.Object
	// rule makes the object's rule, and how long it stays while nobody cares; 0 is for ever.
	rule func(T) (*trace.Rule, time.Duration, field.ErrorList)
	// counts puts into the object how often the rule was met.
	counts func(T, v1alpha1.RuleStatus)
	copy   func(T) T
}

// RuleREST is the storage of breakpoints or faults: those of this process, in its memory.
//
// Purpose: to be like any other resource to kubectl and informers, and to let nobody wait who reports a hit.
//
//  1. An object is never changed once it is there, but for its status, which is looked up when somebody looks.
//  2. Its version grows when its rule is hit. Followers read at their own pace what has a version above the one that they
//     have sent, so a rule that is hit very often costs them no more than one that is hit now and then.
//  3. The control's lock may be taken under mu, never mu under the control's.
type RuleREST[T ruleObject] struct {
	rest.TableConvertor
	ruleKind[T]
	control *trace.Control
	allowed bool
	// base is what versions are added to: see JourneyREST.
	base uint64

	mu       sync.Mutex
	seq      uint64
	entries  map[string]*ruleEntry[T]
	deleted  []*ruleEntry[T] // the latest, the oldest first
	lost     uint64          // the version of the latest deletion that is not kept
	wake     chan struct{}   // closed and replaced when something changed
	watches  int
	tendedAt time.Time // when somebody last cared
}

// ruleEntry is one object. A deleted one has no rule any more.
type ruleEntry[T ruleObject] struct {
	object           T // without status and version; not changed
	rule             *trace.Rule
	created, version uint64
	lease            time.Duration
	timer            *time.Timer // nil if it stays for ever
}

func newRuleREST[T ruleObject](kind ruleKind[T], table rest.TableConvertor, control *trace.Control, allowed bool) *RuleREST[T] {
	return &RuleREST[T]{
		TableConvertor: table, ruleKind: kind, control: control, allowed: allowed, base: uint64(time.Now().UnixMicro()),
		entries: map[string]*ruleEntry[T]{}, wake: make(chan struct{}),
	}
}

func (r *RuleREST[T]) New() runtime.Object     { return r.newOne() }
func (r *RuleREST[T]) NewList() runtime.Object { return r.newList(nil) }
func (r *RuleREST[T]) NamespaceScoped() bool   { return false }
func (r *RuleREST[T]) GetSingularName() string { return r.singular }
func (r *RuleREST[T]) ShortNames() []string    { return r.shortNames }

// Destroy ends the timers of leases.
func (r *RuleREST[T]) Destroy() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.entries {
		if e.timer != nil {
			e.timer.Stop()
		}
	}
}

func (r *RuleREST[T]) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: v1alpha1.GroupName, Resource: r.resource}
}

// changed gives a version to what has changed and wakes who waits for it. The caller holds mu.
func (r *RuleREST[T]) changed(e *ruleEntry[T]) {
	r.seq++
	e.version = r.seq
	close(r.wake)
	r.wake = make(chan struct{})
}

// Create implements rest.Creater.
func (r *RuleREST[T]) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	object := r.copy(obj.(T))
	if object.GetName() == "" && object.GetGenerateName() != "" {
		object.SetName(object.GetGenerateName() + utilrand.String(5))
	}
	if err := mayControl(ctx, r.groupResource(), object.GetName()); err != nil {
		return nil, err
	}
	if !r.allowed {
		return nil, apierrors.NewForbidden(r.groupResource(), object.GetName(), offWithout(r.resource, r.flag))
	}
	r.counts(object, v1alpha1.RuleStatus{})
	rule, lease, errs := r.rule(object)
	metadata := field.NewPath("metadata", "name")
	if object.GetName() == "" {
		errs = append(errs, field.Required(metadata, "name or generateName is required"))
	}
	for _, problem := range content.IsPathSegmentName(object.GetName()) {
		errs = append(errs, field.Invalid(metadata, object.GetName(), problem))
	}
	if len(errs) > 0 {
		return nil, apierrors.NewInvalid(v1alpha1.SchemeGroupVersion.WithKind(r.kind).GroupKind(), object.GetName(), errs)
	}
	object.SetUID(uuid.NewUUID())
	object.SetCreationTimestamp(metav1.Now())
	if err := validate(ctx, r.copy(object)); err != nil {
		return nil, err
	}
	e := &ruleEntry[T]{object: object, rule: rule, lease: lease}
	if err := r.add(e, len(options.DryRun) > 0); err != nil {
		return nil, err
	}
	return r.show(e), nil
}

// mayControl refuses those who do not administrate the server: whoever holds a request of somebody's sees it.
func mayControl(ctx context.Context, resource schema.GroupResource, name string) error {
	if isAdmin(ctx) {
		return nil
	}
	return apierrors.NewForbidden(resource, name, errors.New("only members of system:masters may interfere with requests"))
}

func offWithout(resource, flag string) error {
	return fmt.Errorf("%s are not allowed on this server: start it with %s", resource, flag)
}

func (r *RuleREST[T]) add(e *ruleEntry[T], dryRun bool) error {
	name := e.object.GetName()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.entries[name] != nil:
		return apierrors.NewAlreadyExists(r.groupResource(), name)
	case len(r.entries) >= maxRules:
		return apierrors.NewForbidden(r.groupResource(), name, fmt.Errorf("there are %d %s already, and no more may be", maxRules, r.resource))
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
	// The control calls Changed with no lock held, so it can be asked under this one.
	if err := r.control.Add(e.rule); err != nil {
		r.remove(e)
		return apierrors.NewServiceUnavailable(err.Error())
	}
	return nil
}

// hit is called on the goroutine of a request.
func (r *RuleREST[T]) hit(e *ruleEntry[T]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entries[e.object.GetName()] == e {
		r.changed(e)
	}
}

// show is the object as clients see it.
func (r *RuleREST[T]) show(e *ruleEntry[T]) T {
	object := r.copy(e.object)
	r.mu.Lock()
	version := e.version
	r.mu.Unlock()
	if version > 0 {
		object.SetResourceVersion(strconv.FormatUint(r.base+version, 10))
	}
	r.counts(object, statusOf(r.control.Counts(e.rule)))
	return object
}

func statusOf(n trace.Counts) v1alpha1.RuleStatus {
	status := v1alpha1.RuleStatus{Matches: n.Matches, Hits: n.Hits, Missed: n.Missed, Held: int32(n.Held)}
	if n.Hits > 0 {
		status.LastHit = &v1alpha1.RuleHit{Journey: n.Last.Journey, Step: n.Last.Step, Time: metav1.NewMicroTime(n.Last.At)}
	}
	return status
}

func (r *RuleREST[T]) find(name string) (*ruleEntry[T], error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.entries[name]; e != nil {
		return e, nil
	}
	return nil, apierrors.NewNotFound(r.groupResource(), name)
}

// Get implements rest.Getter.
func (r *RuleREST[T]) Get(_ context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	e, err := r.find(name)
	if err != nil {
		return nil, err
	}
	return r.show(e), nil
}

// selected are the entries that the selectors want, in the order of their names, and the version of which that is true.
func (r *RuleREST[T]) selected(options *metainternalversion.ListOptions) ([]*ruleEntry[T], uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*ruleEntry[T]
	for _, e := range r.entries {
		if selects(options, e.object) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b *ruleEntry[T]) int { return cmp.Compare(a.object.GetName(), b.object.GetName()) })
	return list, r.seq
}

func selects(options *metainternalversion.ListOptions, object metav1.Object) bool {
	if options == nil {
		return true
	}
	if s := options.FieldSelector; s != nil && !s.Matches(fields.Set{"metadata.name": object.GetName()}) {
		return false
	}
	return options.LabelSelector == nil || options.LabelSelector.Matches(labels.Set(object.GetLabels()))
}

// List implements rest.Lister. There are few enough to be sent whole whatever the limit.
func (r *RuleREST[T]) List(_ context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	if options != nil && options.Continue != "" {
		return nil, apierrors.NewBadRequest("invalid continue token: " + r.resource + " are listed whole")
	}
	entries, seq := r.selected(options)
	if options != nil && options.ResourceVersion != "" && options.ResourceVersion != "0" {
		if _, err := r.since(options.ResourceVersion, seq); err != nil {
			return nil, err
		}
	}
	items := make([]T, 0, len(entries))
	for _, e := range entries {
		items = append(items, r.show(e))
	}
	list := r.newList(items)
	list.(metav1.ListInterface).SetResourceVersion(strconv.FormatUint(r.base+seq, 10))
	return list, nil
}

// since is the version that a resourceVersion names.
func (r *RuleREST[T]) since(resourceVersion string, last uint64) (uint64, error) {
	version, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest("invalid resourceVersion: " + err.Error())
	}
	if version < r.base || version > r.base+last {
		return 0, expired("the resource version %d is not of this process, whose last is %d: list again", version, r.base+last)
	}
	return version - r.base, nil
}

// Delete implements rest.GracefulDeleter.
func (r *RuleREST[T]) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	if err := mayControl(ctx, r.groupResource(), name); err != nil {
		return nil, false, err
	}
	e, err := r.find(name)
	if err != nil {
		return nil, false, err
	}
	shown := r.show(e)
	if err := validate(ctx, r.copy(shown)); err != nil {
		return nil, false, err
	}
	if options != nil {
		if p := options.Preconditions; p != nil && p.UID != nil && *p.UID != e.object.GetUID() {
			return nil, false, apierrors.NewConflict(r.groupResource(), name, fmt.Errorf("the UID in the precondition (%s) is not that of the object (%s)", *p.UID, e.object.GetUID()))
		}
		if len(options.DryRun) > 0 {
			return shown, true, nil
		}
	}
	r.end(e)
	return shown, true, nil
}

// DeleteCollection implements rest.CollectionDeleter.
func (r *RuleREST[T]) DeleteCollection(ctx context.Context, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions,
	selected *metainternalversion.ListOptions) (runtime.Object, error) {
	if err := mayControl(ctx, r.groupResource(), ""); err != nil {
		return nil, err
	}
	entries, _ := r.selected(selected)
	var items []T
	for _, e := range entries {
		deleted, _, err := r.Delete(ctx, e.object.GetName(), validate, options)
		if apierrors.IsNotFound(err) {
			continue // by somebody else, meanwhile
		}
		if err != nil {
			return nil, err
		}
		items = append(items, deleted.(T))
	}
	return r.newList(items), nil
}

// end deletes an object, unless it is deleted, and lets go what it holds.
func (r *RuleREST[T]) end(e *ruleEntry[T]) {
	r.mu.Lock()
	r.remove(e)
	r.mu.Unlock()
	r.control.Remove(e.rule)
}

// remove forgets an object. The caller holds mu.
func (r *RuleREST[T]) remove(e *ruleEntry[T]) {
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

// tend says that somebody cares for what there is.
func (r *RuleREST[T]) tend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tendedAt = time.Now()
}

// expire deletes an object for which nobody cares any more.
func (r *RuleREST[T]) expire(e *ruleEntry[T]) {
	r.mu.Lock()
	if r.entries[e.object.GetName()] != e {
		r.mu.Unlock()
		return
	}
	left := e.lease - time.Since(r.tendedAt)
	if r.watches > 0 {
		left = e.lease
	}
	if left > 0 {
		e.timer.Reset(left)
		r.mu.Unlock()
		return
	}
	r.mu.Unlock()
	r.end(e)
}
