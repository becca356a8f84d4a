package send

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/tui/api"
)

// fakeServer answers as a kx did, and remembers what it was sent.
type fakeServer struct {
	t testing.TB

	mu    sync.Mutex
	got   []string // method, URI, content type and body of what was sent by the user
	audit string
	held  chan struct{} // closed when the held request is let go
	next  chan string   // events of watches
	down  bool
}

func newFakeServer(t testing.TB) *fakeServer {
	return &fakeServer{t: t, held: make(chan struct{}), next: make(chan string)}
}

const theConfigMap = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"default","resourceVersion":"57","managedFields":[{"manager":"x"}]},"data":{"k":"v"}}`

func (f *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	down := f.down
	f.mu.Unlock()
	if down {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	switch path := r.URL.Path; {
	case path == "/api" || path == "/apis":
		f.file(w, filepath.Join("..", "..", "core", "request", "testdata", path[1:]+".json"))
	case strings.HasPrefix(path, "/openapi/v3/"):
		name := map[string]string{"/openapi/v3/api/v1": "core", "/openapi/v3/apis/apps/v1": "apps", "/openapi/v3/apis/stable.example.com/v1": "stable"}[path]
		f.file(w, filepath.Join("schema", "testdata", name+".json.gz"))
	case strings.HasPrefix(path, api.KX+"/"):
		f.kx(w, r, strings.TrimPrefix(path, api.KX+"/"))
	case strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList"):
		fmt.Fprint(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[{"metadata":{"name":"default"}},{"metadata":{"name":"kube-system"}}]}`)
	default:
		f.object(w, r)
	}
}

func (f *fakeServer) file(w http.ResponseWriter, name string) {
	file, err := os.Open(name)
	if err != nil {
		http.NotFound(w, nil)
		return
	}
	defer file.Close()
	var in io.Reader = file
	if strings.HasSuffix(name, ".gz") {
		if in, err = gzip.NewReader(file); err != nil {
			f.t.Error(err)
			return
		}
	}
	_, _ = io.Copy(w, in)
}

// kx has breakpoints and journeys.
func (f *fakeServer) kx(w http.ResponseWriter, r *http.Request, path string) {
	switch {
	case r.Method == http.MethodPost:
		fmt.Fprint(w, `{}`)
	case r.Method == http.MethodDelete:
		fmt.Fprint(w, `{}`)
	case path == "journeys":
		for {
			f.mu.Lock()
			audit := f.audit
			f.mu.Unlock()
			if audit != "" && strings.HasSuffix(r.URL.Query().Get("filter"), audit) {
				fmt.Fprint(w, `{"type":"ADDED","object":{"metadata":{"name":"3f2a1c-9"},"status":{"phase":"Held","held":[{"step":0,"id":"filter.audit"}]}}}`+"\n")
				w.(http.Flusher).Flush()
				break
			}
			select {
			case <-r.Context().Done():
				return
			case <-time.After(time.Millisecond):
			}
		}
		<-r.Context().Done()
	default:
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

// object answers what the user sends.
func (f *fakeServer) object(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	f.got = append(f.got, strings.TrimSpace(fmt.Sprintf("%s %s %s\n%s", r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"), body)))
	f.audit = r.Header.Get("Audit-Id")
	f.mu.Unlock()
	if r.Header.Get("Audit-Id") != "" {
		select {
		case <-f.held:
		case <-r.Context().Done():
			return
		}
	}
	w.Header().Set("Kx-Journey", "3f2a1c-17")
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Date", "Fri, 20 Nov 2026 12:00:00 GMT")
	switch {
	case r.URL.Query().Get("watch") == "true":
		w.(http.Flusher).Flush()
		for {
			select {
			case e := <-f.next:
				fmt.Fprintln(w, e)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	case r.Method == http.MethodPost:
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, theConfigMap)
	case strings.HasSuffix(r.URL.Path, "/none"):
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"configmaps \"none\" not found","reason":"NotFound","code":404}`)
	default:
		fmt.Fprint(w, theConfigMap)
	}
}

func (f *fakeServer) sent() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.got) == 0 {
		return ""
	}
	return f.got[len(f.got)-1]
}
