package kxapi

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
)

// endWait is how long a get waits for the end of a journey that still runs.
const endWait = time.Second

// JourneyREST is the storage of journeys.
type JourneyREST struct {
	rest.TableConvertor
	recorder *trace.Recorder
	// base is what the recorder's numbers are added to. Being a time, it is above all that an earlier process gave out:
	// a client that comes back after a restart is told to list again instead of waiting for a number to come.
	base uint64
}

var (
	_ rest.Getter               = &JourneyREST{}
	_ rest.Lister               = &JourneyREST{}
	_ rest.Watcher              = &JourneyREST{}
	_ rest.QueryReader          = &JourneyREST{}
	_ rest.Scoper               = &JourneyREST{}
	_ rest.SingularNameProvider = &JourneyREST{}
	_ rest.ShortNamesProvider   = &JourneyREST{}
)

// NewJourneyREST serves the journeys of recorder.
func NewJourneyREST(recorder *trace.Recorder) *JourneyREST {
	return &JourneyREST{TableConvertor: journeyTable, recorder: recorder, base: uint64(time.Now().UnixMicro())}
}

func (r *JourneyREST) New() runtime.Object     { return &v1alpha1.Journey{} }
func (r *JourneyREST) NewList() runtime.Object { return &v1alpha1.JourneyList{} }
func (r *JourneyREST) Destroy()                {}
func (r *JourneyREST) NamespaceScoped() bool   { return false }
func (r *JourneyREST) GetSingularName() string { return "journey" }
func (r *JourneyREST) ShortNames() []string    { return []string{"jn"} }

// Get returns one journey whole. One that still runs is given a moment to end, unless it is held.
func (r *JourneyREST) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	j := r.recorder.Get(name)
	if j == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: v1alpha1.GroupName, Resource: "journeys"}, name)
	}
	ctx, cancel := context.WithTimeout(ctx, endWait)
	defer cancel()
	j.WaitStop(ctx)
	record := j.Record()
	return journeyOf(&record, r.base+r.recorder.LastChange(j).Seq), nil
}

// since is the number of the change that a resourceVersion names.
func (r *JourneyREST) since(resourceVersion string) (uint64, error) {
	version, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest("invalid resourceVersion: " + err.Error())
	}
	if _, last := r.recorder.List(); version < r.base || version > r.base+last {
		return 0, expired("the resource version %d is not of this process, whose last is %d: list again", version, r.base+last)
	}
	return version - r.base, nil
}

func expired(format string, args ...any) *apierrors.StatusError {
	return apierrors.NewResourceExpired(fmt.Sprintf(format, args...))
}

type filterKey struct{}

// ReadQuery reads ?filter=.
func (r *JourneyREST) ReadQuery(ctx context.Context, query url.Values) (context.Context, error) {
	f, err := filter.Parse(query.Get("filter"))
	if err != nil {
		return ctx, apierrors.NewBadRequest("filter: " + err.Error())
	}
	return context.WithValue(ctx, filterKey{}, f), nil
}

// selection is which journeys a client wants.
type selection struct {
	filter  filter.Filter
	options *metainternalversion.ListOptions
	base    uint64
}

func (r *JourneyREST) selection(ctx context.Context, options *metainternalversion.ListOptions) selection {
	if options == nil {
		options = &metainternalversion.ListOptions{}
	}
	f, _ := ctx.Value(filterKey{}).(filter.Filter)
	return selection{filter: f, options: options, base: r.base}
}

// pick returns the journey without its steps, if it is wanted. The filter may look at the steps.
func (s selection) pick(c trace.Change) *v1alpha1.Journey {
	j := s.summary(c)
	if s.wants(j, c.Journey) {
		return j
	}
	return nil
}

// wanted says whether a client that has its list from before change c was given the journey. ran says that it ended
// since. Of one that was forgotten the steps are not known any more: if the filter asks about them, it may have been. To
// hear of the end of something that it does not have costs a client nothing.
func (s selection) wanted(c trace.Change, ran bool) bool {
	j := s.summary(c)
	if ran {
		j.Status.Phase, j.Status.Code, j.Status.Bytes, j.Status.TookMicros = v1alpha1.JourneyRunning, 0, 0, 0
	}
	if c.Type != trace.Forgotten || !s.selects(j) {
		return s.wants(j, c.Journey)
	}
	unknown := false
	known := v1alpha1.Subject(j)
	matches := s.filter.Match(filter.SubjectFunc(func(field string) (filter.Value, bool) {
		unknown = unknown || v1alpha1.InSteps(field)
		return known.Field(field)
	}))
	return matches || unknown
}

func (s selection) summary(c trace.Change) *v1alpha1.Journey {
	record := c.Journey.Summary()
	return journeyOf(&record, s.base+c.Seq)
}

// selects says whether the selectors want a journey.
func (s selection) selects(j *v1alpha1.Journey) bool {
	if selector := s.options.FieldSelector; selector != nil && !selector.Empty() && !selector.Matches(fieldsOf(j)) {
		return false
	}
	selector := s.options.LabelSelector
	return selector == nil || selector.Empty() || selector.Matches(labels.Set{})
}

// wants says whether the client wants the journey that summary is of. The steps are looked at only if the filter asks.
func (s selection) wants(summary *v1alpha1.Journey, journey *trace.Journey) bool {
	if !s.selects(summary) {
		return false
	}
	if s.filter.Empty() {
		return true
	}
	ofSummary, ofSteps := v1alpha1.Subject(summary), filter.Subject(nil)
	return s.filter.Match(filter.SubjectFunc(func(field string) (filter.Value, bool) {
		if !v1alpha1.InSteps(field) {
			return ofSummary.Field(field)
		}
		if ofSteps == nil {
			record := journey.Record()
			ofSteps = v1alpha1.Subject(journeyOf(&record, 0))
		}
		return ofSteps.Field(field)
	}))
}

// List returns the journeys that are kept, in the order in which they began. There are few enough of them to be sent
// whole whatever the limit, which servers may do, so there is nothing to continue.
func (r *JourneyREST) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	s := r.selection(ctx, options)
	if s.options.Continue != "" {
		return nil, apierrors.NewBadRequest("invalid continue token: journeys are listed whole")
	}
	changes, seq := r.recorder.List()
	if version := s.options.ResourceVersion; version != "" && version != "0" {
		asked, err := r.since(version)
		if err != nil {
			return nil, err
		}
		if s.options.ResourceVersionMatch == metav1.ResourceVersionMatchExact && asked != seq {
			return nil, expired("too old resource version: %s (%d)", version, r.base+seq)
		}
	}
	list := &v1alpha1.JourneyList{Items: []v1alpha1.Journey{}}
	list.ResourceVersion = strconv.FormatUint(r.base+seq, 10)
	for _, c := range changes {
		if j := s.pick(c); j != nil {
			list.Items = append(list.Items, *j)
		}
	}
	return list, nil
}

// Watch follows the journeys: ADDED when one begins (or begins to match), MODIFIED when it ends, DELETED when it is
// forgotten.
func (r *JourneyREST) Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	f := newFollower(r.recorder, r.selection(ctx, options))
	version := f.selection.options.ResourceVersion
	fromNow := version == "" || version == "0"
	initial := fromNow
	if send := f.selection.options.SendInitialEvents; send != nil {
		initial = *send
	}
	_, f.seq = r.recorder.List()
	if !fromNow {
		seq, err := r.since(version)
		if err != nil {
			return nil, err
		}
		if _, lost := r.recorder.Since(seq); lost > 0 && !initial {
			return nil, expired("too old resource version: %s (%d)", version, r.base+f.seq)
		}
		f.seq = seq
	}
	ctx, f.stop = context.WithCancel(ctx)
	go f.run(ctx, initial)
	return f, nil
}
