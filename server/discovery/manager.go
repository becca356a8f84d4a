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

// Manager holds the resources that the server publishes.
type Manager struct {
	serverAddress string

	// mu serializes changes. Readers load current, which a change replaces.
	mu      sync.Mutex
	current atomic.Pointer[snapshot]
}

// NewManager returns a Manager without groups. Clients reach the server at serverAddress, host and port.
func NewManager(serverAddress string) *Manager {
	m := &Manager{serverAddress: serverAddress}
	m.current.Store(newSnapshot(serverAddress, nil, nil))
	return m
}

// SetGroupVersion adds a group version, or replaces its resources. An empty group or version in a resource stands for
// gv's.
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

// Remote describes a group version that another server serves.
type Remote struct {
	Priority Priority
	// Resources is nil if they are currently unknown: then the previous ones stay.
	Resources []apidiscoveryv2.APIResourceDiscovery
	// Stale is true if the other server is currently unreachable.
	Stale bool
}

// SetRemote adds a group version of another server, or replaces its description. It takes precedence over a group
// version that is installed here. The other server itself answers the version's own page.
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

// Mapper returns a mapper of the kinds and resources that are published now, the same that a client would make from the
// documents.
func (m *Manager) Mapper() meta.RESTMapper { return m.current.Load().mapper() }

// WithDelegate serves discovery's paths, and passes all others to delegate.
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
