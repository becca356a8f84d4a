package kxapi

import (
	"context"
	"io/fs"
	"net/url"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/sites"
	"github.com/kx-apiserver/kx/core/subject"
	"github.com/kx-apiserver/kx/core/trace"
)

// endWait limits the wait of a get for the end of a running journey.
const endWait = time.Second

// journeys are the records of this process's requests.
type journeys struct {
	versions
	parser
	installs *installs
	// sayings reads the source when the steps of a journey are first requested.
	sayings func() (sites.Sayings, error)
}

func newJourneys(p parser, servers func() []Server, source fs.FS) *journeys {
	return &journeys{
		newVersions(), p, newInstalls(p.recorder, servers),
		sync.OnceValues(func() (sites.Sayings, error) { return sites.ReadSayings(source) }),
	}
}

func (j *journeys) resource() *anyResource {
	return declare(resource[*v1alpha1.Journey]{
		plural: "journeys", singular: "journey", shortNames: []string{"jn"}, empty: &v1alpha1.JourneyList{},
		columns: journeyColumns, row: journeyRow, fields: journeyFields,
		query: j.readQuery, get: j.get, list: j.list, watch: j.watch,
	})
}

func (j *journeys) get(ctx context.Context, name string) (*v1alpha1.Journey, error) {
	if found := j.recorder.Get(name); found != nil {
		return j.whole(ctx, found)
	}
	if found := j.installs.find(name); found != nil {
		_, last := j.recorder.List()
		whole := found.whole(j.text(last))
		return whole, j.place(whole)
	}
	return nil, nil
}

// place adds the lines of code that gave the reasons of a journey's steps.
func (j *journeys) place(whole *v1alpha1.Journey) error {
	sayings, err := j.sayings()
	if err != nil {
		return err
	}
	for i := range whole.Status.Steps {
		s := &whole.Status.Steps[i]
		if s.Reason == nil {
			continue
		}
		if at, ok := sayings.Find(s.Reason.Kind, s.Function, s.File); ok {
			s.Reason.Function, s.Reason.File, s.Reason.Line = at.Function, at.File, int32(at.Line)
		}
	}
	return nil
}

// whole returns a journey with its steps. It waits a moment for a running one to end, unless that is held.
func (j *journeys) whole(ctx context.Context, found *trace.Journey) (*v1alpha1.Journey, error) {
	ctx, cancel := context.WithTimeout(ctx, endWait)
	defer cancel()
	found.WaitStop(ctx)
	record := found.Record()
	whole := journeyOf(&record, j.text(j.recorder.LastChange(found).Seq))
	for _, effect := range found.Effects() {
		whole.Status.Effects = append(whole.Status.Effects, effectOf(&effect, record.Started))
	}
	whole.Status.Effects = append(whole.Status.Effects, j.installs.effects(whole)...)
	return whole, j.place(whole)
}

type filterKey struct{}

// readQuery reads ?filter=.
func (j *journeys) readQuery(ctx context.Context, query url.Values) (context.Context, error) {
	f, err := filter.Parse(query.Get("filter"), j.known)
	if err == nil {
		f, err = f.Resolve(j.recorder.Began)
	}
	if err != nil {
		return ctx, apierrors.NewBadRequest("filter: " + err.Error())
	}
	return context.WithValue(ctx, filterKey{}, f), nil
}

// selection selects the journeys that a client asks for.
type selection struct {
	versions
	filter   filter.Filter
	options  *metainternalversion.ListOptions
	resource *anyResource
	installs *installs
}

func (j *journeys) selection(ctx context.Context, options *metainternalversion.ListOptions) selection {
	f, _ := ctx.Value(filterKey{}).(filter.Filter)
	return selection{j.versions, f, options, j.resource(), j.installs}
}

// pick returns the journey without its steps, or nil if it does not match. The filter may look at the steps.
func (s selection) pick(c trace.Change) *v1alpha1.Journey {
	j := s.summary(c)
	if s.wants(j, c.Journey) {
		return j
	}
	return nil
}

// wanted reports whether the journey matched for a client whose list is from before change c. ran is true if the
// journey has ended since. The steps of a forgotten journey are unknown. If the filter depends on them, wanted returns
// true: an event about the end of a journey that it does not have costs a client nothing.
func (s selection) wanted(c trace.Change, ran bool) bool {
	j := s.summary(c)
	if ran {
		j.Status.Phase, j.Status.Code, j.Status.Bytes, j.Status.TookMicros = v1alpha1.JourneyRunning, 0, 0, 0
	}
	if c.Type != trace.Forgotten || !s.resource.selects(s.options, j) {
		return s.wants(j, c.Journey)
	}
	known := &forgottenJourney{WithSteps: subject.NewSubject(j)}
	return s.filter.Match(known) || known.asked
}

// forgottenJourney is a journey whose steps are not known any more.
type forgottenJourney struct {
	filter.WithSteps
	asked bool // whether the filter depends on the steps
}

func (f *forgottenJourney) Field(name string) (filter.Value, bool) {
	f.asked = f.asked || subject.InSteps(name)
	return f.WithSteps.Field(name)
}

func (f *forgottenJourney) Steps() filter.Steps {
	f.asked = true
	return f.WithSteps.Steps()
}

func (s selection) summary(c trace.Change) *v1alpha1.Journey {
	record := c.Journey.Summary()
	return journeyOf(&record, s.text(c.Seq))
}

// wants reports whether a journey matches, given its summary. It reads the steps only if the filter depends on them.
func (s selection) wants(summary *v1alpha1.Journey, journey *trace.Journey) bool {
	if !s.resource.selects(s.options, summary) {
		return false
	}
	if s.filter.Empty() {
		return true
	}
	return s.filter.Match(&lazyJourney{WithSteps: subject.NewSubject(summary), journey: journey})
}

// lazyJourney is a journey whose steps are read when the filter needs them.
type lazyJourney struct {
	filter.WithSteps // the summary
	journey          *trace.Journey
	whole            filter.WithSteps // nil until the steps are read
}

func (r *lazyJourney) Field(name string) (filter.Value, bool) {
	if subject.InSteps(name) {
		return r.read().Field(name)
	}
	return r.WithSteps.Field(name)
}

func (r *lazyJourney) Steps() filter.Steps { return r.read().Steps() }

func (r *lazyJourney) read() filter.WithSteps {
	if r.whole == nil {
		record := r.journey.Record()
		r.whole = subject.NewSubject(journeyOf(&record, ""))
	}
	return r.whole
}

// list returns the kept journeys in the order in which they began. Installs come before requests.
func (j *journeys) list(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	s := j.selection(ctx, options)
	if err := s.resource.refusePages(options); err != nil {
		return nil, err
	}
	changes, last := j.recorder.List()
	if version := options.ResourceVersion; version != "" && version != "0" {
		asked, err := j.number(version, last)
		if err != nil {
			return nil, err
		}
		if options.ResourceVersionMatch == metav1.ResourceVersionMatchExact && asked != last {
			return nil, j.tooOld(version, last)
		}
	}
	list := &v1alpha1.JourneyList{Items: []v1alpha1.Journey{}}
	list.ResourceVersion = j.text(last)
	list.Items = append(list.Items, s.pickInstalls(list.ResourceVersion)...)
	for _, c := range changes {
		if one := s.pick(c); one != nil {
			list.Items = append(list.Items, *one)
		}
	}
	return list, nil
}

func (j *journeys) tooOld(version string, last uint64) error {
	return expired("too old resource version: %s (%s)", version, j.text(last))
}

// watch follows the journeys. It sends ADDED when one begins (or begins to match), MODIFIED when it ends, and DELETED
// when it is forgotten.
func (j *journeys) watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	_, last := j.recorder.List()
	start, initial, err := j.start(options, last)
	if err != nil {
		return nil, err
	}
	if _, lost := j.recorder.Since(start); lost > 0 && !initial {
		return nil, j.tooOld(options.ResourceVersion, last)
	}
	f := newFollower(j.recorder, j.selection(ctx, options))
	f.seq = start
	ctx, f.stop = context.WithCancel(ctx)
	go f.follow(ctx, initial)
	return f, nil
}
