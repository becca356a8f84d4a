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

// readDefinition returns the definition of the resource, or nil for a built-in one.
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

// droppable finds the versions in which no object is stored any more. If no object failed, these are all versions but
// the one that the server writes.
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

// Drop removes the droppable versions from the definition's storedVersions, if the definition has not changed since the
// migration began.
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
	_, err = m.Dynamic.Resource(definitions).Patch(ctx, result.Resource, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: manager}, "status")
	if err != nil {
		return fmt.Errorf("take %v off status.storedVersions of %s: %w", result.Droppable, result.Resource, err)
	}
	result.StoredVersions, result.Dropped = left, true
	return nil
}
