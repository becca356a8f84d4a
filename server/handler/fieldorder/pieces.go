package fieldorder

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

// Pieces counts the entries of the longest map and of the longest list whose entries have owners of their own. An
// atomic map or list has one owner, and costs the library little.
type Pieces struct{ Map, List int }

// PiecesOf counts the pieces of an object of a kind. It returns zeros, without counting, if no map or list has more
// than atLeast entries, as in nearly all objects.
func PiecesOf(c managedfields.TypeConverter, kind apischema.GroupVersionKind, obj runtime.Object, atLeast int) Pieces {
	content := contentOf(obj, atLeast)
	if !isLonger(content, atLeast) {
		return Pieces{}
	}
	none := &unstructured.Unstructured{Object: map[string]any{}}
	none.SetGroupVersionKind(kind)
	typed, err := c.ObjectToTyped(none)
	if err != nil {
		return Pieces{} // the fields of a kind without a type have no owners
	}
	var p Pieces
	p.add(typed.Schema(), typed.TypeRef(), content)
	return p
}

// contentOf returns nil for an object that is too small to have more than n entries.
func contentOf(obj runtime.Object, n int) map[string]any {
	const entryBytes = 2 // in protobuf
	switch o := obj.(type) {
	case nil:
		return nil
	case runtime.Unstructured:
		return o.UnstructuredContent()
	case interface{ Size() int }:
		if o.Size() < entryBytes*n {
			return nil
		}
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil
	}
	return content
}

func isLonger(value any, n int) bool {
	switch value := value.(type) {
	case map[string]any:
		if len(value) > n {
			return true
		}
		for _, v := range value {
			if isLonger(v, n) {
				return true
			}
		}
	case []any:
		if len(value) > n {
			return true
		}
		for _, v := range value {
			if isLonger(v, n) {
				return true
			}
		}
	}
	return false
}

// add counts the entries of a value of a type. Fields that the type does not have have no owners.
func (p *Pieces) add(types *schema.Schema, ref schema.TypeRef, value any) {
	atom, ok := types.Resolve(ref)
	if !ok {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		if atom.Map == nil || atom.Map.ElementRelationship == schema.Atomic {
			return
		}
		p.Map = max(p.Map, len(value))
		for name, v := range value {
			of := atom.Map.ElementType
			if field, ok := atom.Map.FindField(name); ok {
				of = field.Type
			}
			p.add(types, of, v)
		}
	case []any:
		if atom.List == nil || atom.List.ElementRelationship != schema.Associative {
			return
		}
		p.List = max(p.List, len(value))
		for _, v := range value {
			p.add(types, atom.List.ElementType, v)
		}
	}
}
