package kxapi

import (
	"context"
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
}

var (
	_ rest.Getter               = &JourneyREST{}
	_ rest.Lister               = &JourneyREST{}
	_ rest.Watcher              = &JourneyREST{}
	_ rest.QueryReader          = &JourneyREST{}
	_ rest.Scoper               = &JourneyREST{}
	_ rest.SingularNameProvider = &JourneyREST{}
)

// NewJourneyREST serves the journeys of recorder.
func NewJourneyREST(recorder *trace.Recorder) *JourneyREST {
	return &JourneyREST{TableConvertor: journeyTable, recorder: recorder}
}

func (r *JourneyREST) New() runtime.Object     { return &v1alpha1.Journey{} }
func (r *JourneyREST) NewList() runtime.Object { return &v1alpha1.JourneyList{} }
func (r *JourneyREST) Destroy()                {}
func (r *JourneyREST) NamespaceScoped() bool   { return false }
func (r *JourneyREST) GetSingularName() string { return "journey" }

// Get returns one journey whole. One that still runs is given a moment to end.
func (r *JourneyREST) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	j := r.recorder.Get(name)
	if j == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: v1alpha1.GroupName, Resource: "journeys"}, name)
	}
	ctx, cancel := context.WithTimeout(ctx, endWait)
	defer cancel()
	j.Wait(ctx)
	record := j.Record()
	return journeyOf(&record, r.recorder.LastChange(j).Seq), nil
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
}

func selectionOf(ctx context.Context, options *metainternalversion.ListOptions) selection {
	if options == nil {
		options = &metainternalversion.ListOptions{}
	}
	f, _ := ctx.Value(filterKey{}).(filter.Filter)
	return selection{filter: f, options: options}
}

// pick returns the journey without its steps, if it is wanted. The filter may look at the steps.
func (s selection) pick(c trace.Change) *v1alpha1.Journey {
	record := c.Journey.Summary()
	j := journeyOf(&record, c.Seq)
	if selector := s.options.FieldSelector; selector != nil && !selector.Empty() && !selector.Matches(fieldsOf(j)) {
		return nil
	}
	if selector := s.options.LabelSelector; selector != nil && !selector.Empty() && !selector.Matches(labels.Set{}) {
		return nil
	}
	if !s.filter.Empty() {
		whole := c.Journey.Record()
		if !s.filter.Match(v1alpha1.Subject(journeyOf(&whole, c.Seq))) {
			return nil
		}
	}
	return j
}

// List returns the journeys that are kept, in the order in which they began.
func (r *JourneyREST) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	s := selectionOf(ctx, options)
	changes, seq := r.recorder.List()
	list := &v1alpha1.JourneyList{Items: []v1alpha1.Journey{}}
	list.ResourceVersion = strconv.FormatUint(seq, 10)
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
	f := &follower{
		recorder:  r.recorder,
		selection: selectionOf(ctx, options),
		events:    make(chan watch.Event, journeysABatch),
		sent:      map[*trace.Journey]bool{},
	}
	initial := options == nil || options.ResourceVersion == "" || options.ResourceVersion == "0"
	if options != nil && options.SendInitialEvents != nil {
		initial = *options.SendInitialEvents
	}
	if !initial {
		seq, err := strconv.ParseUint(options.ResourceVersion, 10, 64)
		if err != nil && options.ResourceVersion != "" {
			return nil, apierrors.NewBadRequest("invalid resourceVersion: " + err.Error())
		}
		if _, lost := r.recorder.Since(seq); lost > 0 {
			return nil, apierrors.NewResourceExpired("too old resource version: " + options.ResourceVersion)
		}
		f.seq = seq
	}
	ctx, f.stop = context.WithCancel(ctx)
	go f.run(ctx, initial)
	return f, nil
}
