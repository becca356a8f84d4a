package discovery

import (
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Manager has the resources that the server publishes.
type Manager struct {
	serverAddress string

	// mu serializes changes. The snapshot that readers see is replaced, never changed.
	mu      sync.Mutex
	current atomic.Pointer[snapshot]
}

// NewManager makes a Manager without groups. Clients reach the server at serverAddress, host and port.
func NewManager(serverAddress string) *Manager {
	m := &Manager{serverAddress: serverAddress}
	m.current.Store(newSnapshot(serverAddress, nil, nil))
	return m
}

// SetGroupVersion adds a group version, or replaces its resources. An empty group or version in a resource means gv's.
func (m *Manager) SetGroupVersion(gv schema.GroupVersion, resources []metav1.APIResource) {
	resources = slices.Clone(resources)
	m.change(func(installed map[schema.GroupVersion][]metav1.APIResource) { installed[gv] = resources })
}

// RemoveGroupVersion removes a group version, and its group with the last one.
func (m *Manager) RemoveGroupVersion(gv schema.GroupVersion) {
	m.change(func(installed map[schema.GroupVersion][]metav1.APIResource) { delete(installed, gv) })
}

func (m *Manager) change(apply func(map[schema.GroupVersion][]metav1.APIResource)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.current.Load()
	installed := maps.Clone(before.installed)
	if installed == nil {
		installed = map[schema.GroupVersion][]metav1.APIResource{}
	}
	apply(installed)
	m.current.Store(newSnapshot(m.serverAddress, installed, before.remotes))
}

// Remote is what is known of a group version that another server serves.
type Remote struct {
	Priority Priority
	// Resources are nil if they are not known now: those that were known before stay.
	Resources []apidiscoveryv2.APIResourceDiscovery
	// Stale says that the other server can't be asked at present.
	Stale bool
}

// SetRemote adds a group version of another server, or replaces what is known of it. It comes before one that is installed here, and
// its own page is the other server's.
func (m *Manager) SetRemote(gv schema.GroupVersion, r Remote) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.current.Load()
	old, there := before.remotes[gv]
	if r.Resources == nil {
		r.Resources = old.Resources
	}
	if there && apiequality.Semantic.DeepEqual(old, r) {
		return
	}
	remotes := maps.Clone(before.remotes)
	if remotes == nil {
		remotes = map[schema.GroupVersion]Remote{}
	}
	remotes[gv] = r
	m.current.Store(newSnapshot(m.serverAddress, before.installed, remotes))
}

// RemoveRemote removes a group version of another server.
func (m *Manager) RemoveRemote(gv schema.GroupVersion) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.current.Load()
	remotes := maps.Clone(before.remotes)
	delete(remotes, gv)
	m.current.Store(newSnapshot(m.serverAddress, before.installed, remotes))
}

// Mapper finds kinds and resources among those that the server publishes now, as clients do who have read its documents.
func (m *Manager) Mapper() meta.RESTMapper { return m.current.Load().mapper() }

// WithDelegate answers discovery's paths, and leaves all others to delegate.
func (m *Manager) WithDelegate(delegate http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, ok := m.Handler(r.URL.Path)
		if !ok {
			h = delegate
		}
		h.ServeHTTP(w, r)
	})
}

// Handler returns the handler of a path, if it is one of discovery's. A trailing slash makes no difference.
func (m *Manager) Handler(path string) (http.Handler, bool) {
	if !strings.HasPrefix(path, "/api") {
		return nil, false
	}
	page, ok := m.current.Load().pages()[strings.TrimSuffix(path, "/")]
	return page, ok
}

// StorageVersionHash identifies the storage version in an APIResource.
func StorageVersionHash(group, version, kind string) string {
	sum := sha256.Sum256([]byte(group + "/" + version + "/" + kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}
