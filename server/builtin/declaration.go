package builtin

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/store/backend"
)

// Declaration is an entry of the table of built-in resources: [Declare] makes it of a [Resource], and [DeclareReview]
// of a [Review].
type Declaration interface {
	// Name is the resource's in paths.
	Name() string
	// StoredIn is the version in which its objects are stored, empty if they are not.
	StoredIn() schema.GroupVersion
	// Versions are those of the API that have it, each with the subresources it has there.
	Versions() map[schema.GroupVersion][]string
	// AddToScheme registers what decoding its objects takes.
	AddToScheme(*runtime.Scheme) error
	// Manifest is a sample object in YAML, with NAME and NAMESPACE for its own. It is empty if nobody needs one.
	Manifest() string
	// NewStorages makes the storages of the resource, "", and of all its subresources.
	NewStorages(backend.RESTOptionsGetter) (map[string]rest.Storage, error)
}

// Group is an API group with all its resources.
type Group struct {
	// Versions are the group's, the preferred one first.
	Versions []Version
	// Resources are in the order of discovery.
	Resources []Declaration
}

// Version is a version of a group.
type Version struct {
	schema.GroupVersion
	// Types registers its Go types.
	Types func(*runtime.Scheme) error
	// Convert registers defaults and conversions of a version in which nothing is stored.
	Convert func(*runtime.Scheme) error
	// OffByDefault versions are served if --runtime-config says so.
	OffByDefault bool
}

// Name is the group's, empty for the core group.
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

// manifest is a sample with its apiVersion and kind.
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
