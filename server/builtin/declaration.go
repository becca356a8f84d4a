package builtin

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/store/backend"
)

// Declaration is an entry of the table of built-in resources. [Declare] makes one from a [Resource], [DeclareReview]
// from a [Review].
type Declaration interface {
	// Name returns the resource's name in paths.
	Name() string
	// StoredIn returns the version in which objects are stored, and an empty one for reviews.
	StoredIn() schema.GroupVersion
	// Versions lists the versions of the API that serve the resource, each with its subresources there.
	Versions() map[schema.GroupVersion][]string
	// AddToScheme registers what the decoding of objects needs: defaults, conversions and field labels.
	AddToScheme(*runtime.Scheme) error
	// Manifest returns a sample object in YAML, with NAME and NAMESPACE as placeholders. It is empty for resources
	// that users do not create.
	Manifest() string
	// NewStorages makes the storages of the resource, under the key "", and of its subresources, under their names.
	NewStorages(backend.RESTOptionsGetter) (map[string]rest.Storage, error)
}

// Group is an API group with all its resources.
type Group struct {
	// Versions lists the group's versions, the preferred one first.
	Versions []Version
	// Resources are in the order of discovery.
	Resources []Declaration
}

// Version is one API version of a group.
type Version struct {
	schema.GroupVersion
	// Types registers the version's Go types.
	Types func(*runtime.Scheme) error
	// Convert registers defaults and conversions of a version in which nothing is stored.
	Convert func(*runtime.Scheme) error
	// OffByDefault versions are served only if --runtime-config enables them.
	OffByDefault bool
}

// Name returns the group's name, which is empty for the core group.
func (g Group) Name() string { return g.Versions[0].Group }

// AddToScheme registers the group's types, the order of its versions, and what its resources declare.
func (g Group) AddToScheme(s *runtime.Scheme) error {
	var register []func(*runtime.Scheme) error
	var order []schema.GroupVersion
	for _, v := range g.Versions {
		register, order = append(register, v.Types), append(order, v.GroupVersion)
	}
	register = append(register, func(s *runtime.Scheme) error { return s.SetVersionPriority(order...) })
	for _, r := range g.Resources {
		register = append(register, r.AddToScheme)
	}
	for _, v := range g.Versions {
		if v.Convert != nil {
			register = append(register, v.Convert)
		}
	}
	for _, f := range register {
		if err := f(s); err != nil {
			return err
		}
	}
	return nil
}

// manifest puts apiVersion and kind before a sample.
func manifest(kind schema.GroupVersionKind, sample string) string {
	if sample == "" {
		return ""
	}
	apiVersion, name := kind.ToAPIVersionAndKind()
	head := "apiVersion: " + apiVersion + "\nkind: " + name + "\n"
	if sample == "{}" {
		return head
	}
	return head + strings.TrimSpace(sample) + "\n"
}
