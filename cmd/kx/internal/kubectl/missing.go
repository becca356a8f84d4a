package kubectl

import (
	"net/http"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// missingResource is a requested resource that the server lacks. kubectl's message does not name it. mu guards
// resource.
type missingResource struct {
	mu       sync.Mutex
	resource string
}

// see records a request to an unknown path. Its answer is plain text, while the answer for a missing object is JSON
// or protobuf.
func (m *missingResource) see(req *http.Request, prefix string, res *http.Response) {
	if res.StatusCode != http.StatusNotFound || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/plain") {
		return
	}
	info, err := infoOf(req, prefix)
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

// explain names the missing resource after the error of the command.
func (m *missingResource) explain(w *wiring) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.resource != "" {
		w.say("this server has no " + m.resource + ": " + w.parent + " api-resources lists what it has")
	}
}
