package kxapi

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/subject"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/crd"
	"github.com/kx-apiserver/kx/server/endpoint"
)

// installs are journeys without a request: they show how each resource came to be served, and how its storage was made.
// Each installed version of a resource has one. They are made on demand from the servers' notes. So they push no
// request out of the recorder, and are never pushed out.
type installs struct {
	recorder *trace.Recorder
	servers  func() []Server

	// mu guards numbers and last. The names of the current installs contain these numbers.
	mu      sync.Mutex
	numbers map[installKey]int
	last    int
}

// installKey identifies one installation. The serving info of a definition may be made several times.
type installKey struct {
	resource schema.GroupVersionResource
	made     time.Time
}

// install is one install, before it is made into a journey.
type install struct {
	key    installKey
	name   string
	server string
	way    func(*trace.Way)
	// by is the journey of the request that made it, and cause the write of the definition from which it was made.
	by    string
	cause trace.Cause
}

func newInstalls(recorder *trace.Recorder, servers func() []Server) *installs {
	return &installs{recorder: recorder, servers: servers, numbers: map[installKey]int{}}
}

// wantsInstalls reports whether a client asks for installs by naming the verb. All other clients get only requests.
func (s selection) wantsInstalls() bool {
	if s.filter.Names("verb", v1alpha1.VerbInstall) {
		return true
	}
	if s.options == nil || s.options.FieldSelector == nil {
		return false
	}
	verb, ok := s.options.FieldSelector.RequiresExactMatch("spec.verb")
	return ok && verb == v1alpha1.VerbInstall
}

// present returns the current installs in the order of their numbers.
func (i *installs) present() []*install {
	if i.servers == nil {
		return nil
	}
	var all []*install
	for _, s := range takeInventory(i.servers()) {
		all = append(all, ofServer(&s)...)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	numbers := make(map[installKey]int, len(all))
	for _, one := range all {
		number, ok := i.numbers[one.key]
		if !ok {
			i.last++
			number = i.last
		}
		numbers[one.key] = number
		one.name = i.recorder.Process() + "-i" + strconv.Itoa(number)
	}
	i.numbers = numbers
	slices.SortFunc(all, func(a, b *install) int { return numbers[a.key] - numbers[b.key] })
	return all
}

func ofServer(s *inventory) (all []*install) {
	for k := range s.installed {
		if one := &s.installed[k]; one.Subresource == "" {
			all = append(all, ofInstalled(s, one))
		}
	}
	for k := range s.definitions {
		d := &s.definitions[k]
		for v := range d.Versions {
			if one := &d.Versions[v]; one.Subresource == "" {
				all = append(all, ofDefinition(s, d, one))
			}
		}
	}
	return all
}

// ofInstalled returns the install of a resource that was installed at the start.
func ofInstalled(s *inventory, one *endpoint.Installation) *install {
	subresources := subresourcesOf(s.installed, one.Resource)
	return &install{
		key: installKey{resource: one.Resource}, server: s.Name,
		way: func(w *trace.Way) {
			one.AddCreation(w)
			one.Way(w)
			for _, sub := range subresources {
				sub.Way(w)
			}
		},
	}
}

// ofDefinition returns the install of a version of a custom resource.
func ofDefinition(s *inventory, d *crd.ServedDefinition, one *endpoint.Installation) *install {
	return &install{
		key: installKey{one.Resource, d.Made}, server: s.Name, by: d.By, cause: d.Cause,
		way: func(w *trace.Way) { d.Way(w, one.Resource.Version) },
	}
}

// record makes the journey.
func (i *install) record() trace.Record {
	w := &trace.Way{}
	i.way(w)
	r := i.key.resource
	record := w.Record(i.name, trace.Request{
		Method: v1alpha1.MethodInstall, URI: endpoint.PathOf(r), Verb: v1alpha1.VerbInstall,
		Group: r.Group, Version: r.Version, Resource: r.Resource, User: user.APIServerUser, UserAgent: "kx/" + i.server,
	})
	record.Cause = i.cause
	return record
}

// whole returns the journey with its steps.
func (i *install) whole(version string) *v1alpha1.Journey {
	record := i.record()
	return journeyOf(&record, version)
}

// find returns the install with a name; nil if there is none.
func (i *installs) find(name string) *install {
	if !strings.HasPrefix(name, i.recorder.Process()+"-i") {
		return nil
	}
	for _, one := range i.present() {
		if one.name == name {
			return one
		}
	}
	return nil
}

// pickInstalls returns the installs that a client asks for, without their steps.
func (s selection) pickInstalls(version string) []v1alpha1.Journey {
	if !s.wantsInstalls() {
		return nil
	}
	var picked []v1alpha1.Journey
	for _, one := range s.installs.present() {
		j := one.whole(version)
		if s.resource.selects(s.options, j) && s.filter.Match(subject.NewSubject(j)) {
			j.Status.Steps, j.Status.Sentences = nil, nil
			picked = append(picked, *j)
		}
	}
	return picked
}

// installsByName returns pickInstalls by name; nil if the client asks for none.
func (s selection) installsByName(version string) map[string]v1alpha1.Journey {
	if !s.wantsInstalls() {
		return nil
	}
	byName := map[string]v1alpha1.Journey{}
	for _, j := range s.pickInstalls(version) {
		byName[j.Name] = j
	}
	return byName
}

// effects returns the installs that a journey made, or that belong to a definition's state that it wrote.
func (i *installs) effects(of *v1alpha1.Journey) (effects []v1alpha1.Effect) {
	if of.Status.Revision == 0 && !slices.ContainsFunc(of.Status.Steps, buildsServingInfo) {
		return nil
	}
	for _, one := range i.present() {
		if one.by == of.Name || one.cause.Journey == of.Name {
			record := one.record()
			effects = append(effects, effectOf(&record, of.Status.Started.Time))
		}
	}
	return effects
}

// reasonServingInfoBuilt is the reason of a step that built what serves a definition.
const reasonServingInfoBuilt = "serving-info-built"

func buildsServingInfo(s v1alpha1.Step) bool {
	return s.Reason != nil && s.Reason.Kind == reasonServingInfoBuilt
}
