package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

type definition = apiextensionsv1.CustomResourceDefinition

var definitions = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")

// readDefinition is the definition of the resource, nil if it has none: then it is built in.
func (r *run) readDefinition(ctx context.Context) (*definition, error) {
	if r.gvr.Group == "" {
		return nil, nil
	}
	u, err := r.Dynamic.Resource(definitions).Get(ctx, r.result.Resource, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read its definition: %w", err)
	}
	out := &definition{}
	return out, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out)
}

// droppable finds the versions that no object is stored in any more: all but the one that is written, if each object was
// written again or was found to be stored as it should be.
func (r *run) droppable() {
	if r.definition == nil || r.cursor.Failed > 0 {
		return
	}
	for _, v := range r.definition.Status.StoredVersions {
		if v != storageVersion(r.definition) {
			r.result.Droppable = append(r.result.Droppable, v)
		}
	}
}

func storageVersion(d *definition) string {
	i := slices.IndexFunc(d.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
	if i < 0 {
		return ""
	}
	return d.Spec.Versions[i].Name
}

// Drop takes the versions that no object is stored in any more off the definition's list, if the definition is still the
// one that the migration began with.
func (m *Migration) Drop(ctx context.Context, result *Result) error {
	u, err := m.Dynamic.Resource(definitions).Get(ctx, result.Resource, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the definition of %s: %w", result.Resource, err)
	}
	d := &definition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, d); err != nil {
		return err
	}
	if d.Generation != result.generation || !slices.Equal(d.Status.StoredVersions, result.StoredVersions) {
		return errors.New("the definition of " + result.Resource + " has changed meanwhile: migrate again")
	}
	left := slices.DeleteFunc(slices.Clone(d.Status.StoredVersions), func(v string) bool { return slices.Contains(result.Droppable, v) })
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": d.ResourceVersion}, "status": map[string]any{"storedVersions": left},
	})
	if err != nil {
		return err
	}
	_, err = m.Dynamic.Resource(definitions).Patch(ctx, result.Resource, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager}, "status")
	if err != nil {
		return fmt.Errorf("take %v off status.storedVersions of %s: %w", result.Droppable, result.Resource, err)
	}
	result.StoredVersions, result.Dropped = left, true
	return nil
}
