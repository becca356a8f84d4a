package kubectl

import (
	"net/http"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// missing is the resource that a command asked for and the server has not. kubectl has commands for resources of which a
// kx has few, and says of such a one only that it could not be found.
type missing struct {
	mu       sync.Mutex
	resource string
}

// see remembers a request that led nowhere: what says that an object is not there is JSON.
func (m *missing) see(req *http.Request, res *http.Response) {
	if res.StatusCode != http.StatusNotFound || strings.Contains(res.Header.Get("Content-Type"), "json") {
		return
	}
	info, err := requestInfo.NewRequestInfo(req)
	if err != nil || !info.IsResourceRequest {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.resource = schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}.String()
	if info.Subresource != "" {
		m.resource += "/" + info.Subresource
	}
}

// explain says behind the error of a command that failed what the server has not.
func (m *missing) explain(w *wiring) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.resource != "" {
		w.say("this server has no " + m.resource + ": kx api-resources lists what it has")
	}
}
