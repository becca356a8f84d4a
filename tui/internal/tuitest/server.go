package tuitest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"strconv"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/subject"
	"github.com/kx-apiserver/kx/core/trace"
)

const collection = "/apis/kx.dev/v1alpha1/journeys"

// Server serves journeys. mu guards the fields below it.
type Server struct {
	Config *rest.Config
	// Sources are the files that it has, and Caches its watch caches. They are set before the first request.
	Sources []v1alpha1.Source
	Caches  []v1alpha1.Cache

	mu       sync.Mutex
	journeys []*v1alpha1.Journey
	untold   map[string]*v1alpha1.Journey
	seq      int
	log      []logged      // the events for watches
	changed  chan struct{} // closed and replaced when something did
	ended    chan struct{} // closed and replaced to end the watches
	refused  int           // the status code of every answer; 0 for none
	expired  bool          // the next watch gets a 410
}

type logged struct {
	seq   int
	event watch.EventType
	j     *v1alpha1.Journey
}

// Recorded reads recorded journeys from a file.
func Recorded(t testing.TB, file string) []*v1alpha1.Journey {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list v1alpha1.JourneyList
	if err := json.Unmarshal(data, &list); err != nil || len(list.Items) == 0 {
		t.Fatalf("%s: %d journeys, %v", file, len(list.Items), err)
	}
	var all []*v1alpha1.Journey
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	return all
}

// New starts a server without journeys.
func New(t testing.TB) *Server {
	s := &Server{changed: make(chan struct{}), ended: make(chan struct{})}
	hs := httptest.NewServer(s)
	t.Cleanup(func() {
		s.EndWatches()
		hs.CloseClientConnections()
		hs.Close()
	})
	s.Config = &rest.Config{Host: hs.URL}
	return s
}

// Put adds a journey, or replaces the one of its name.
func (s *Server) Put(all ...*v1alpha1.Journey) {
	for _, j := range all {
		s.happened(watch.Added, j)
	}
}

// PutUntold adds a journey that lists and watches do not report yet.
func (s *Server) PutUntold(j *v1alpha1.Journey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.untold == nil {
		s.untold = map[string]*v1alpha1.Journey{}
	}
	s.untold[j.Name] = j
}

// Forget deletes a journey.
func (s *Server) Forget(name string) {
	s.happened(watch.Deleted, &v1alpha1.Journey{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// LeaveOut reports n journeys as left out.
func (s *Server) LeaveOut(n int) {
	s.happened(watch.Bookmark, &v1alpha1.Journey{ObjectMeta: metav1.ObjectMeta{
		Annotations: map[string]string{"kx.dev/left-out": strconv.Itoa(n)},
	}})
}

func (s *Server) happened(event watch.EventType, j *v1alpha1.Journey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	j = j.DeepCopy()
	j.ResourceVersion = strconv.Itoa(s.seq)
	at := -1
	for i, other := range s.journeys {
		if other.Name == j.Name {
			at = i
		}
	}
	switch {
	case event == watch.Deleted && at >= 0:
		s.journeys = append(s.journeys[:at:at], s.journeys[at+1:]...)
	case event == watch.Added && at >= 0:
		s.journeys[at], event = j, watch.Modified
	case event == watch.Added:
		s.journeys = append(s.journeys, j)
	}
	s.log = append(s.log, logged{s.seq, event, j})
	close(s.changed)
	s.changed = make(chan struct{})
}

// EndWatches ends the open watches without an error.
func (s *Server) EndWatches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.ended)
	s.ended = make(chan struct{})
}

// Gone is a code for no answer at all: the server closes the connection.
const Gone = -1

// Refuse makes every answer the status code, until Refuse(0). It ends the watches.
func (s *Server) Refuse(code int) {
	s.mu.Lock()
	s.refused = code
	s.mu.Unlock()
	s.EndWatches()
}

// Expire discards the history: open watches end, and the next watch gets a 410.
func (s *Server) Expire() {
	s.mu.Lock()
	s.expired = true
	s.mu.Unlock()
	s.EndWatches()
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	code := s.refused
	s.mu.Unlock()
	if code == Gone {
		panic(http.ErrAbortHandler)
	}
	if code != 0 {
		refuse(w, code, http.StatusText(code))
		return
	}
	f, err := filter.Parse(r.URL.Query().Get("filter"), trace.Names)
	if err == nil {
		f, err = f.Resolve(s.began)
	}
	switch {
	case err != nil:
		refuse(w, http.StatusBadRequest, err.Error())
	case path.Dir(r.URL.Path) == collection:
		s.get(w, path.Base(r.URL.Path))
	case path.Dir(r.URL.Path) == path.Dir(collection)+"/sources":
		s.source(w, path.Base(r.URL.Path))
	case path.Dir(r.URL.Path) == path.Dir(collection)+"/caches":
		s.cache(w, path.Base(r.URL.Path))
	case path.Base(r.URL.Path) == "recordings" && r.Method == http.MethodGet && r.URL.Query().Get("watch") != "true":
		answer(w, flags)
	case r.URL.Path != collection && path.Dir(r.URL.Path) == path.Dir(collection) && r.Method == http.MethodGet:
		s.none(w, r)
	case r.URL.Path != collection:
		refuse(w, http.StatusNotFound, "the server could not find the requested resource")
	case r.URL.Query().Get("watch") == "true":
		s.watch(w, r, f)
	default:
		s.list(w, f)
	}
}

// flags are the recordings of a server whose flags allow breakpoints and faults.
var flags = v1alpha1.RecordingList{Items: []v1alpha1.Recording{{
	ObjectMeta: metav1.ObjectMeta{Name: "flags"},
	Spec:       v1alpha1.RecordingSpec{Allow: []v1alpha1.Permission{v1alpha1.AllowBreakpoints, v1alpha1.AllowFaults}},
}}}

func refuse(w http.ResponseWriter, code int, message string) {
	w.WriteHeader(code)
	answer(w, metav1.Status{Status: metav1.StatusFailure, Code: int32(code), Message: message})
}

func answer(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

func (s *Server) get(w http.ResponseWriter, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.journeys {
		if j.Name == name {
			answer(w, j)
			return
		}
	}
	if j := s.untold[name]; j != nil {
		answer(w, j)
		return
	}
	refuse(w, http.StatusNotFound, "journeys.kx.dev \""+name+"\" not found")
}

func (s *Server) source(w http.ResponseWriter, name string) {
	for i := range s.Sources {
		if s.Sources[i].Name == name {
			answer(w, s.Sources[i])
			return
		}
	}
	refuse(w, http.StatusNotFound, "sources.kx.dev \""+name+"\" not found")
}

func (s *Server) cache(w http.ResponseWriter, name string) {
	for i := range s.Caches {
		if s.Caches[i].Name == name {
			answer(w, s.Caches[i])
			return
		}
	}
	refuse(w, http.StatusNotFound, "the server could not find the requested resource")
}

// none serves any other collection of kx.dev: empty, and without events.
func (s *Server) none(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("watch") != "true" {
		answer(w, metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}})
		return
	}
	s.mu.Lock()
	ended := s.ended
	s.mu.Unlock()
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	select {
	case <-ended:
	case <-r.Context().Done():
	}
}

func summary(j *v1alpha1.Journey) v1alpha1.Journey {
	j = j.DeepCopy()
	j.Status.Steps, j.Status.Marks, j.Status.Deliveries = nil, nil, nil
	return *j
}

// began returns the time at which a request began.
func (s *Server) began(id string) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.journeys {
		if j.Name == id {
			return j.Status.Started.Time, true
		}
	}
	return time.Time{}, false
}

func (s *Server) list(w http.ResponseWriter, f filter.Filter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := v1alpha1.JourneyList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(s.seq)}}
	for _, j := range s.journeys {
		if f.Match(subject.NewSubject(j)) {
			list.Items = append(list.Items, summary(j))
		}
	}
	answer(w, list)
}

func (s *Server) watch(w http.ResponseWriter, r *http.Request, f filter.Filter) {
	seq, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	s.mu.Lock()
	ended, expired := s.ended, s.expired
	s.expired = false
	s.mu.Unlock()
	w.WriteHeader(http.StatusOK)
	if expired {
		raw, _ := json.Marshal(metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGone, Message: "too old resource version"})
		answer(w, metav1.WatchEvent{Type: string(watch.Error), Object: runtime.RawExtension{Raw: raw}})
		return
	}
	for {
		s.mu.Lock()
		log, changed := s.log, s.changed
		s.mu.Unlock()
		for _, e := range log {
			if e.seq <= seq || e.event != watch.Bookmark && e.event != watch.Deleted && !f.Match(subject.NewSubject(e.j)) {
				continue
			}
			seq = e.seq
			j := summary(e.j)
			raw, _ := json.Marshal(&j)
			answer(w, metav1.WatchEvent{Type: string(e.event), Object: runtime.RawExtension{Raw: raw}})
		}
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-ended:
			return
		case <-r.Context().Done():
			return
		}
	}
}
