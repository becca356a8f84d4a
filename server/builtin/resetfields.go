package builtin

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kx-apiserver/kx/core/rest"
)

// ResetFields makes the set of fields, such as "metadata.labels", of one version, for a rest.ResetFieldsStrategy.
// Most old versions have no set, as with every Kubernetes API server: their clients own every field that they send.
func ResetFields(version schema.GroupVersion, fields ...string) map[fieldpath.APIVersion]*fieldpath.Set {
	set := fieldpath.NewSet()
	for _, field := range fields {
		var path fieldpath.Path
		for _, name := range strings.Split(field, ".") {
			path = append(path, fieldpath.PathElement{FieldName: &name})
		}
		set.Insert(path)
	}
	return map[fieldpath.APIVersion]*fieldpath.Set{fieldpath.APIVersion(version.String()): set}
}

// resetFieldsIn makes ResetFields for several versions.
func resetFieldsIn(versions []schema.GroupVersion, fields ...string) map[fieldpath.APIVersion]*fieldpath.Set {
	sets := map[fieldpath.APIVersion]*fieldpath.Set{}
	for _, version := range versions {
		maps.Copy(sets, ResetFields(version, fields...))
	}
	return sets
}

func resetFieldsOf(strategy rest.RESTUpdateStrategy) map[fieldpath.APIVersion]*fieldpath.Set {
	if s, ok := strategy.(rest.ResetFieldsStrategy); ok {
		return s.GetResetFields()
	}
	return nil
}

func (r *REST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return resetFieldsOf(r.UpdateStrategy)
}

func (r *StatusREST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return resetFieldsOf(r.store.UpdateStrategy)
}
