package capture

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kx-apiserver/kx/tui/control"
	"github.com/kx-apiserver/kx/tui/internal/tuitest"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
)

// defining is a server that the demo is created on. What the status of its definition is, it says from one look to the
// next, and at the last it stays.
type defining struct {
	*tuitest.Server

	mu     sync.Mutex
	status []string
	exists bool
	// updated: the revision that the writers read is not the latest any more.
	updated bool
	// recorded are the requests that a server would record.
	recorded []string
}

func (s *defining) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/apis/kx.dev/") {
		s.Server.ServeHTTP(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Header.Get("Kx-Trace") != "off" {
		s.recorded = append(s.recorded, r.Method+" "+r.URL.Path)
	}
	switch {
	case r.Method == http.MethodPut && s.updated:
		w.WriteHeader(http.StatusConflict)
	case r.Method == http.MethodPut:
		var sent struct {
			Metadata struct{ ResourceVersion string }
		}
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil || sent.Metadata.ResourceVersion != "7" {
			w.WriteHeader(http.StatusBadRequest)
		}
		s.updated = true
	case r.URL.Path == demoObject:
		_, _ = fmt.Fprint(w, `{"metadata":{"resourceVersion":"7"}}`)
	case r.Method == http.MethodGet:
		_, _ = fmt.Fprintf(w, `{"status":{"conditions":[%s]}}`, s.status[0])
		s.status = s.status[min(1, len(s.status)-1):]
	case s.exists:
		w.WriteHeader(http.StatusConflict)
	case r.URL.Path != demoDefinitions && len(s.status) > 1:
		w.WriteHeader(http.StatusNotFound)
	default:
		w.WriteHeader(http.StatusCreated)
	}
}

// TestDemo creates the demo on a server that takes its time to serve a definition, and sends nothing twice.
func TestDemo(t *testing.T) {
	const (
		accepted    = `{"type":"NamesAccepted","status":"True"}`
		established = accepted + `,{"type":"Established","status":"True"}`
		taken       = `{"type":"NamesAccepted","status":"False","message":"\"CronTab\" is already in use"},{"type":"Established","status":"False"}`
		definition  = "POST " + demoDefinitions
		object      = "POST " + demoObjects
		read        = "GET " + demoObject
		update      = "PUT " + demoObject
	)
	all := []string{definition, object, object, read, read, update, update, read}
	for name, test := range map[string]struct {
		status         []string
		exists         bool
		recorded       []string
		said, complain string
	}{
		"at once":         {status: []string{established}, recorded: all, said: "the demo is there"},
		"later":           {status: []string{"", accepted, established}, recorded: all, said: "the demo is there"},
		"there already":   {status: []string{established}, exists: true, recorded: all, said: "the demo is there"},
		"names of others": {status: []string{"", taken}, recorded: all[:1], complain: `"CronTab" is already in use`},
	} {
		t.Run(name, func(t *testing.T) {
			server := &defining{Server: tuitest.New(t), status: test.status, exists: test.exists}
			h := screentest.New(t, server)
			s := New(h, control.New(h.API(), h.Changed, h.Guard), Options{})
			t.Cleanup(s.held.Close)
			h.Attach(s)
			h.Press(keys.Example.Key())
			h.Until("the demo is over", func() bool { return len(h.Said) > 1 || len(h.Complained) > 0 })
			if got := strings.Join(h.Said[1:], "\n"); !strings.HasPrefix(got, test.said) || (test.said == "") != (got == "") {
				t.Errorf("said: %q", got)
			}
			if got := strings.Join(h.Complained, "\n"); !strings.Contains(got, test.complain) || (test.complain == "") != (got == "") {
				t.Errorf("complained: %q", got)
			}
			server.mu.Lock()
			defer server.mu.Unlock()
			if !slices.Equal(server.recorded, test.recorded) {
				t.Errorf("recorded are %q, not %q", server.recorded, test.recorded)
			}
		})
	}
}
