package static

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// Server is the handler.
type Server struct {
	mu       sync.RWMutex
	exists   map[string]bool          // definitions, by path
	objects  map[string][]byte        // by path
	answers  map[string][]byte        // what lists answer, by query
	watchers map[chan []byte]struct{} // each has a queue
	revision int
}

// New makes a Server without objects.
func New() *Server {
	return &Server{exists: map[string]bool{}, objects: map[string][]byte{}, answers: map[string][]byte{}, watchers: map[chan []byte]struct{}{}}
}

// queued is how many events may wait for a watcher.
const queued = 10_000

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	parts := strings.Split(r.URL.Path, "/")
	switch {
	case r.URL.Path == "/version":
		_, _ = io.WriteString(w, `{"gitVersion":"static bytes"}`)
	case strings.HasPrefix(r.URL.Path, definitions):
		s.definition(w, r)
	case len(parts) == 7: // /apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL
		s.collection(w, r)
	case len(parts) == 8:
		s.object(w, r)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (s *Server) definition(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.Method {
	case http.MethodPost:
		var d struct{ Metadata struct{ Name string } }
		if json.NewDecoder(r.Body).Decode(&d) == nil {
			s.exists[definitions+"/"+d.Metadata.Name] = true
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, "{}")
	case http.MethodDelete:
		delete(s.exists, r.URL.Path)
		s.clear()
		_, _ = io.WriteString(w, "{}")
	default:
		if !s.exists[r.URL.Path] {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, "{}")
	}
}

// clear forgets all objects. mu is held.
func (s *Server) clear() {
	clear(s.objects)
	clear(s.answers)
}

func (s *Server) collection(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	switch {
	case r.Method == http.MethodPost:
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		name := between(body, `"name":"`)
		object := stored(body)
		s.put(r.URL.Path+"/"+name, object)
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(object)
	case r.Method == http.MethodDelete:
		s.mu.Lock()
		list := s.list(allObjects{})
		s.clear()
		s.mu.Unlock()
		_, _ = w.Write(list)
	case query.Has("sendInitialEvents"):
		_, _ = w.Write(s.answer(r, s.initialEvents))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case query.Has("watch"):
		s.watch(w, r)
	default:
		body := s.answer(r, func() []byte { return s.listFor(r) })
		if r.Header.Get("Accept-Encoding") == "gzip" && len(body) > 0 && body[0] == 0x1f {
			w.Header().Set("Content-Encoding", "gzip")
		}
		_, _ = w.Write(body)
	}
}

// answer is what a request is answered with, made once.
func (s *Server) answer(r *http.Request, make func() []byte) []byte {
	key := r.URL.RawQuery + r.Header.Get("Accept") + r.Header.Get("Accept-Encoding")
	s.mu.RLock()
	body := s.answers[key]
	s.mu.RUnlock()
	if body != nil {
		return body
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answers[key] == nil {
		s.answers[key] = make()
	}
	return s.answers[key]
}

func (s *Server) object(w http.ResponseWriter, r *http.Request) {
	s.mu.RLock()
	object := s.objects[r.URL.Path]
	s.mu.RUnlock()
	if object == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	switch r.Method {
	case http.MethodGet:
	case http.MethodDelete:
		s.mu.Lock()
		delete(s.objects, r.URL.Path)
		clear(s.answers)
		s.mu.Unlock()
	default:
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		// All that kx bench changes are these two, in place.
		object = bytes.Clone(object)
		for _, field := range []string{`"round":"`, `"sent":"`} {
			if i := bytes.Index(object, []byte(field)); i >= 0 {
				copy(object[i+len(field):], between(body, field))
			}
		}
		s.put(r.URL.Path, object)
	}
	_, _ = w.Write(object)
}

// put keeps an object and tells the watchers.
func (s *Server) put(path string, object []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision++
	s.objects[path] = object
	clear(s.answers)
	if len(s.watchers) == 0 {
		return
	}
	event := slices.Concat([]byte(`{"type":"MODIFIED","object":`), object, []byte("}\n"))
	for queue := range s.watchers {
		select {
		case queue <- event:
		default:
			delete(s.watchers, queue)
			close(queue)
		}
	}
}

func (s *Server) watch(w http.ResponseWriter, r *http.Request) {
	queue := make(chan []byte, queued)
	s.mu.Lock()
	s.watchers[queue] = struct{}{}
	for _, object := range s.objects { // whoever asks from a revision misses nothing: the last write may be later
		queue <- slices.Concat([]byte(`{"type":"ADDED","object":`), object, []byte("}\n"))
		break
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.watchers, queue)
		s.mu.Unlock()
	}()
	flush := http.NewResponseController(w)
	for {
		select {
		case event, open := <-queue:
			if !open {
				return
			}
			if _, err := w.Write(event); err != nil {
				return
			}
			if len(queue) == 0 {
				_ = flush.Flush()
			}
		case <-r.Context().Done():
			return
		}
	}
}

// allObjects says which objects a list has.
type allObjects struct {
	label       string
	from, limit int
	table       bool
}

// listFor makes a list. mu is held.
func (s *Server) listFor(r *http.Request) []byte {
	query := r.URL.Query()
	want := allObjects{table: strings.Contains(r.Header.Get("Accept"), "as=Table")}
	if _, value, ok := strings.Cut(query.Get("labelSelector"), "="); ok {
		want.label = fmt.Sprintf(`"group":%q`, value)
	}
	_, _ = fmt.Sscan(query.Get("limit"), &want.limit)
	_, _ = fmt.Sscan(query.Get("continue"), &want.from)
	list := s.list(want)
	if r.Header.Get("Accept-Encoding") != "gzip" {
		return list
	}
	var compressed bytes.Buffer
	z := gzip.NewWriter(&compressed)
	_, _ = z.Write(list)
	_ = z.Close()
	return compressed.Bytes()
}

func (s *Server) list(want allObjects) []byte {
	paths := slices.Sorted(maps.Keys(s.objects))
	token := ""
	var items [][]byte
	for i, path := range paths[min(want.from, len(paths)):] {
		if want.limit > 0 && len(items) == want.limit {
			token = fmt.Sprint(want.from + i)
			break
		}
		object := s.objects[path]
		switch {
		case want.label != "" && !bytes.Contains(object, []byte(want.label)):
		case want.table:
			items = append(items, row(object))
		default:
			items = append(items, object)
		}
	}
	head, end := `{"kind":"WidgetList","metadata":{"continue":%q,"resourceVersion":"%d"},"items":[`, `]}`
	if want.table {
		head = `{"kind":"Table","metadata":{"continue":%q,"resourceVersion":"%d"},"columnDefinitions":[],"rows":[`
	}
	return slices.Concat(fmt.Appendf(nil, head, token, s.revision+1), bytes.Join(items, []byte{','}), []byte(end))
}

// row is what a table has of an object: what it shows, and the metadata.
func row(object []byte) []byte {
	_, metadata, _ := bytes.Cut(object, []byte(`"metadata":`))
	metadata, _, _ = bytes.Cut(metadata, []byte(`,"spec":`))
	return slices.Concat([]byte(`{"cells":["w-0000000","00000000",7,"5m"],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":`), metadata, []byte(`}}`))
}

// initialEvents are those of a list by watch. mu is held.
func (s *Server) initialEvents() []byte {
	var out bytes.Buffer
	for _, path := range slices.Sorted(maps.Keys(s.objects)) {
		fmt.Fprintf(&out, "{\"type\":\"ADDED\",\"object\":%s}\n", s.objects[path])
	}
	fmt.Fprintf(&out, `{"type":"BOOKMARK","object":{"kind":"Widget","metadata":{"resourceVersion":"%d","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n", s.revision+1)
	return out.Bytes()
}

// between is the string that follows a text.
func between(body []byte, text string) string {
	_, after, _ := bytes.Cut(body, []byte(text))
	value, _, _ := bytes.Cut(after, []byte{'"'})
	return string(value)
}
