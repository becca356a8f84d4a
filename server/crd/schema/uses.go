package schema

import structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

// uses lists the features that a schema uses anywhere. Stages for unused features are skipped: each would walk
// the whole object and the whole schema, and find nothing.
type uses struct {
	defaults bool
	// embedded: x-kubernetes-embedded-resource.
	embedded bool
	// lists: a list with distinct items.
	lists bool
}

func (u *uses) add(s *structuralschema.Structural) {
	if s == nil {
		return
	}
	u.defaults = u.defaults || s.Default.Object != nil
	u.embedded = u.embedded || s.XEmbeddedResource
	u.lists = u.lists || s.XListType != nil && *s.XListType != "atomic"
	u.add(s.Items)
	u.add(additional(s))
	for _, prop := range s.Properties {
		u.add(&prop)
	}
}

// hasNull reports whether there is a null anywhere in a value.
func hasNull(x any) bool {
	switch x := x.(type) {
	case nil:
		return true
	case map[string]any:
		for _, v := range x {
			if hasNull(v) {
				return true
			}
		}
	case []any:
		for _, v := range x {
			if hasNull(v) {
				return true
			}
		}
	}
	return false
}
