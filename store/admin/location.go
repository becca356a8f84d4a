package admin

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// defaultPrefix begins the keys of a Kubernetes API server unless it is configured otherwise.
const defaultPrefix = "/registry"

// compactRevKey is the key by which API servers agree on compactions. It is outside any prefix.
const compactRevKey = "compact_rev_key"

// Location holds the parts of a key: resource, namespace and name.
type Location struct {
	Resource        schema.GroupResource
	Namespace, Name string
	// Custom says that it is a resource of a CustomResourceDefinition.
	Custom bool

	kinds []schema.GroupVersionKind
}

// Path completes a key that a person wrote: "pods/default/web" is put below prefix.
func Path(prefix, key string) string {
	if strings.HasPrefix(key, "/") || key == compactRevKey {
		return key
	}
	return strings.TrimSuffix(prefix, "/") + "/" + key
}

// twoParts are the first parts of keys whose second part names the resource.
var twoParts = []string{"services", "ranges"}

// SplitKey divides a key below prefix into the part of its resource ("pods", "services/specs", "example.com/pandas")
// and the rest. ok is false for a key that is not below prefix.
func SplitKey(prefix, key string) (resource string, rest []string, ok bool) {
	below, ok := strings.CutPrefix(key, strings.TrimSuffix(prefix, "/")+"/")
	if !ok || below == "" {
		return "", nil, false
	}
	parts := strings.Split(below, "/")
	if len(parts) > 1 && (strings.Contains(parts[0], ".") || slices.Contains(twoParts, parts[0])) {
		return parts[0] + "/" + parts[1], parts[2:], true
	}
	return parts[0], parts[1:], true
}

// Locate says which object a key should hold. ok is false for a key that no API server writes.
func Locate(prefix, key string) (l Location, ok bool) {
	path, rest, ok := SplitKey(prefix, key)
	if !ok {
		return l, false
	}
	if b, known := builtins()[path]; known {
		l.Resource, l.kinds = b.resource, b.kinds
	} else if group, plural, custom := strings.Cut(path, "/"); custom && strings.Contains(group, ".") {
		l.Resource, l.Custom = schema.GroupResource{Group: group, Resource: plural}, true
	} else {
		return l, false
	}
	switch len(rest) {
	case 0:
		// An allocation is stored at a single key.
		_, ok = allocations[path]
		return l, ok
	case 1:
		l.Name = rest[0]
	case 2:
		l.Namespace, l.Name = rest[0], rest[1]
	default:
		return l, false
	}
	return l, l.Name != ""
}

// definitionKey is the key of the definition of a custom resource.
func definitionKey(prefix string, resource schema.GroupResource) string {
	return Path(prefix, definitions+"/"+resource.String())
}

// definitions begins the keys of CustomResourceDefinitions.
const definitions = "apiextensions.k8s.io/customresourcedefinitions"
