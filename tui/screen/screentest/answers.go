package screentest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Answer is one recorded answer of a real server to a GET.
type Answer struct {
	// Path includes the query, sorted by name.
	Path string          `json:"path"`
	Code int             `json:"code"`
	Body json.RawMessage `json:"body"`
	// Stream holds the events of a watch. A stream without a final ERROR stays open.
	Stream []json.RawMessage `json:"stream"`
}

// Answers is a server that replays recorded answers. A path without an answer fails the test. mu guards the fields
// below it.
type Answers struct {
	t testing.TB

	mu     sync.Mutex
	byPath map[string]Answer
	asked  map[string]int
	feeds  map[string]chan json.RawMessage
}

var _ http.Handler = (*Answers)(nil)

// Recorded reads answers from a file.
func Recorded(t testing.TB, file string) *Answers {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []Answer
	if err := json.Unmarshal(data, &all); err != nil || len(all) == 0 {
		t.Fatalf("%s: %d answers, %v", file, len(all), err)
	}
	a := &Answers{t: t, byPath: map[string]Answer{}, asked: map[string]int{}, feeds: map[string]chan json.RawMessage{}}
	a.Set(all...)
	return a
}

// Set adds answers, or replaces those of the same paths.
func (a *Answers) Set(all ...Answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, answer := range all {
		a.byPath[ordered(answer.Path)] = answer
	}
}

// Get returns the answer to a path.
func (a *Answers) Get(path string) Answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	answer, ok := a.byPath[ordered(path)]
	if !ok {
		a.t.Errorf("GET %s was not recorded", path)
	}
	return answer
}

// Paths lists the recorded paths with a prefix.
func (a *Answers) Paths(prefix string) (paths []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for path := range a.byPath {
		if strings.HasPrefix(path, prefix) {
			paths = append(paths, path)
		}
	}
	return paths
}

// Asked counts the requests for a path.
func (a *Answers) Asked(path string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked[ordered(path)]
}

// Feed returns a channel for the events of the next watch of a path (without its query). Closing it ends that watch.
func (a *Answers) Feed(path string) chan json.RawMessage {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.feeds[path] == nil {
		a.feeds[path] = make(chan json.RawMessage, 10_000)
	}
	return a.feeds[path]
}

// ordered sorts the query of a path by name.
func ordered(path string) string {
	path, query, ok := strings.Cut(path, "?")
	if !ok {
		return path
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return path + "?" + query
	}
	return path + "?" + values.Encode()
}

func (a *Answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := ordered(r.URL.RequestURI())
	a.mu.Lock()
	a.asked[path]++
	answer, ok := a.byPath[path]
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodGet && r.URL.Query().Get("watch") == "true" && (!ok || answer.Code == http.StatusOK) {
		a.watch(w, r, answer)
		return
	}
	if !ok || r.Method != http.MethodGet {
		a.t.Errorf("%s %s was not recorded", r.Method, path)
		answer = Answer{Code: http.StatusNotImplemented}
		answer.Body, _ = json.Marshal(metav1.Status{Message: fmt.Sprintf("%s %s was not recorded", r.Method, path)})
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body)
}

func (a *Answers) watch(w http.ResponseWriter, r *http.Request, answer Answer) {
	send := func(event json.RawMessage) bool {
		_, err := w.Write(append(event, '\n'))
		w.(http.Flusher).Flush()
		return err == nil && !strings.Contains(string(event), `"ERROR"`)
	}
	w.(http.Flusher).Flush()
	for _, event := range answer.Stream {
		if !send(event) {
			return
		}
	}
	feed := a.Feed(r.URL.Path)
	for {
		select {
		case event, ok := <-feed:
			if !ok || !send(event) {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}
