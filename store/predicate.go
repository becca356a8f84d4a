package store

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// AttrFunc returns what selectors may look at in an object.
type AttrFunc func(obj runtime.Object) (labels.Set, fields.Set, error)

// SelectionPredicate selects objects by label and field, and how many of them an answer may hold.
type SelectionPredicate struct {
	Label    labels.Selector
	Field    fields.Selector
	GetAttrs AttrFunc
	// IndexLabels and IndexFields list the labels and fields that have an index.
	IndexLabels []string
	IndexFields []string
	// Limit bounds the objects of an answer, 0 for no limit. Continue is the token of the page before.
	Limit               int64
	Continue            string
	AllowWatchBookmarks bool
}

// Everything selects all objects. It has no GetAttrs and needs none.
var Everything = SelectionPredicate{Label: labels.Everything(), Field: fields.Everything()}

// Empty reports whether everything matches, so that no object has to be checked.
func (s *SelectionPredicate) Empty() bool {
	return (s.Label == nil || s.Label.Empty()) && (s.Field == nil || s.Field.Empty())
}

// Matches says whether obj is selected.
func (s *SelectionPredicate) Matches(obj runtime.Object) (bool, error) {
	if s.Empty() {
		return true, nil
	}
	labelSet, fieldSet, err := s.GetAttrs(obj)
	if err != nil {
		return false, err
	}
	return s.MatchesObjectAttributes(labelSet, fieldSet), nil
}

// MatchesObjectAttributes says whether an object with these attributes is selected.
func (s *SelectionPredicate) MatchesObjectAttributes(l labels.Set, f fields.Set) bool {
	return (s.Label == nil || s.Label.Matches(l)) && (s.Field == nil || s.Field.Matches(f))
}

// MatchesSingle is the one name that can match, if the field selector names it. A page further on has none, because
// its continue token says where to go on.
func (s *SelectionPredicate) MatchesSingle() (string, bool) { return s.exactField("metadata.name") }

// MatchesSingleNamespace is the one namespace that can match, if the field selector names it.
func (s *SelectionPredicate) MatchesSingleNamespace() (string, bool) {
	return s.exactField("metadata.namespace")
}

func (s *SelectionPredicate) exactField(field string) (string, bool) {
	if s.Continue != "" || s.Field == nil {
		return "", false
	}
	return s.Field.RequiresExactMatch(field)
}

// DefaultClusterScopedAttr gives selectors an object's labels and name.
func DefaultClusterScopedAttr(obj runtime.Object) (labels.Set, fields.Set, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, nil, err
	}
	return m.GetLabels(), fields.Set{"metadata.name": m.GetName()}, nil
}

// DefaultNamespaceScopedAttr gives selectors an object's labels, name and namespace.
func DefaultNamespaceScopedAttr(obj runtime.Object) (labels.Set, fields.Set, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, nil, err
	}
	return m.GetLabels(), fields.Set{"metadata.name": m.GetName(), "metadata.namespace": m.GetNamespace()}, nil
}

// IndexerFunc returns the value that an index keeps an object under.
type IndexerFunc func(obj runtime.Object) string

// IndexerFuncs are the indices of a resource, by the selector they answer.
type IndexerFuncs map[string]IndexerFunc
