package customresource

import (
	"context"
	"fmt"
	"io"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/crd/conversion"
	"github.com/kx-apiserver/kx/server/crd/schema"
	"github.com/kx-apiserver/kx/store"
)

// view presents the one storage in a version: it converts objects to that version on reads, and to the storage
// version on writes. Everything else passes through.
//
// Selectors run in the storage if an object has the same labels and fields on both sides of the view. Otherwise
// the view reads without a selector and applies it to the converted objects.
type view struct {
	store.Interface
	below store.EncodedStorage // the same storage

	converter *conversion.Converter
	schemas   map[string]*schema.Schema
	// up is the version of the view, down the storage version.
	up, down apischema.GroupVersion
	listKind apischema.GroupVersionKind
	// prefix is the common prefix of all keys.
	prefix string
	// fieldsBelow lists the fields that the storage can select by.
	fieldsBelow []string
}

var _ store.Interface = &view{}

func (r *Resource) newView(version *Version, below *strategy) (*view, error) {
	encoded, ok := r.store.Storage.Storage.(store.EncodedStorage)
	if !ok {
		return nil, fmt.Errorf("convert %s: %T can't be read without decoding", r.resource, r.store.Storage.Storage)
	}
	v := &view{
		Interface:   r.store.Storage.Storage,
		below:       encoded,
		converter:   r.converter,
		schemas:     r.schemas,
		up:          version.Kind.GroupVersion(),
		down:        below.kind.GroupVersion(),
		listKind:    version.ListKind,
		prefix:      r.store.KeyRootFunc(context.Background()),
		fieldsBelow: []string{"metadata.name", "metadata.namespace"},
	}
	for i := range below.selectable {
		v.fieldsBelow = append(v.fieldsBelow, below.selectable[i].name)
	}
	return v, nil
}

func (v *view) Get(ctx context.Context, key string, opts store.GetOptions, objPtr runtime.Object) error {
	if err := v.Interface.Get(ctx, key, opts, objPtr); err != nil {
		return err
	}
	return v.raise(ctx, objPtr)
}

func (v *view) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	stored, err := v.convert(ctx, obj, v.down)
	if err != nil {
		return err
	}
	if err := v.Interface.Create(ctx, key, stored, out, ttl); err != nil || out == nil {
		return err
	}
	return v.raise(ctx, out)
}

// Delete implements store.Interface. It keeps an object that can't be converted, because it could not return
// the deleted object.
func (v *view) Delete(ctx context.Context, key string, out runtime.Object, validateDeletion store.ValidateObjectFunc,
	opts store.DeleteOptions) error {
	opts.Suggestion = nil // it would have to be converted first
	if opts.ExpectTransformOrDecodeError {
		// It can't be read, so there is nothing to convert.
		return v.Interface.Delete(ctx, key, out, validateDeletion, opts)
	}
	var last *unstructured.Unstructured
	err := v.Interface.Delete(ctx, key, out, func(ctx context.Context, obj runtime.Object) error {
		seen, err := v.convert(ctx, obj, v.up)
		if err != nil {
			return err
		}
		last = seen.(*unstructured.Unstructured)
		return validateDeletion(ctx, seen)
	}, opts)
	if err != nil {
		return err
	}
	u, err := asUnstructured(out)
	if err != nil {
		return err
	}
	// The last validated object is the deleted one. Only its revision differs.
	revision := u.GetResourceVersion()
	u.Object = last.DeepCopy().Object
	u.SetResourceVersion(revision)
	return nil
}

// GuaranteedUpdate implements store.Interface. It ignores the suggested object, which would have to be
// converted first.
func (v *view) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, tryUpdate store.UpdateFunc,
	opts store.UpdateOptions) error {
	opts.Suggestion = nil
	err := v.Interface.GuaranteedUpdate(ctx, key, destination,
		func(input runtime.Object, res store.ResponseMeta) (runtime.Object, *uint64, error) {
			seen, err := v.convert(ctx, input, v.up)
			if err != nil {
				return nil, nil, err
			}
			next, ttl, err := tryUpdate(seen, res)
			if err != nil {
				return nil, nil, err
			}
			stored, err := v.convert(ctx, next, v.down)
			return stored, ttl, err
		}, opts)
	if err != nil {
		return err
	}
	return v.raise(ctx, destination)
}

// raise converts an object from the storage to the version of the view, in place.
func (v *view) raise(ctx context.Context, obj runtime.Object) error {
	u, err := asUnstructured(obj)
	if err != nil {
		return err
	}
	seen, err := v.convert(ctx, u, v.up)
	if err != nil {
		return err
	}
	u.Object = seen.(*unstructured.Unstructured).Object
	return nil
}

// convert returns obj in the version to, without changing obj. It returns obj itself if it has that version.
func (v *view) convert(ctx context.Context, obj runtime.Object, to apischema.GroupVersion) (runtime.Object, error) {
	u, err := asUnstructured(obj)
	if err != nil {
		return nil, err
	}
	if len(u.Object) == 0 || u.GetAPIVersion() == to.String() {
		return u, nil // nothing, or nothing to do
	}
	converted, err := v.converter.Convert(ctx, u, to)
	if err != nil && to == v.up {
		err = unreadable(err)
	}
	if err != nil {
		return nil, err
	}
	return converted, v.shape(ctx, converted.(*unstructured.Unstructured), to)
}

// convertList converts the items of a list, all in other versions, with one call.
func (v *view) convertList(ctx context.Context, list *unstructured.UnstructuredList) error {
	converted, err := v.converter.Convert(ctx, list, v.up)
	if err != nil {
		return unreadable(err)
	}
	list.Items = converted.(*unstructured.UnstructuredList).Items
	for i := range list.Items {
		if err := v.shape(ctx, &list.Items[i], v.up); err != nil {
			return err
		}
		ctx = trace.WithoutRecording(ctx) // the first is shown, and the others are like it
	}
	return nil
}

// unreadable returns the error 500 for a stored object that can't be converted to this version. Upstream calls
// it corrupt. kx does not: the object can be read in its stored version, so a deletion of corrupt objects must
// spare it.
func unreadable(err error) error { return apierrors.NewInternalError(err) }

// shape prunes a converted object by the schema of its new version.
func (v *view) shape(ctx context.Context, u *unstructured.Unstructured, version apischema.GroupVersion) error {
	_, err := v.schemas[version.Version].Prune(ctx, u.Object, schema.PruneOptions{})
	return err
}

// selectsAbove reports whether p must be evaluated on converted objects. A webhook may change labels and
// fields, and even without a webhook the storage may not know the fields of this version.
func (v *view) selectsAbove(p *store.SelectionPredicate) bool {
	if p.Empty() {
		return false
	}
	if p.Field != nil {
		for _, requirement := range p.Field.Requirements() {
			if !slices.Contains(v.fieldsBelow, requirement.Field) {
				return true
			}
		}
	}
	return v.converter.ChangesContent() && !onlyMetadata(p)
}

// onlyMetadata reports whether p uses only fields that a webhook can't change.
func onlyMetadata(p *store.SelectionPredicate) bool {
	if p.Label != nil && !p.Label.Empty() {
		return false
	}
	for _, requirement := range p.Field.Requirements() {
		if requirement.Field != "metadata.name" && requirement.Field != "metadata.namespace" {
			return false
		}
	}
	return true
}

// withoutSelectors returns p without its selectors.
func withoutSelectors(p store.SelectionPredicate) store.SelectionPredicate {
	p.Label, p.Field = labels.Everything(), fields.Everything()
	return p
}

func asUnstructured(obj runtime.Object) (*unstructured.Unstructured, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, store.NewInternalError(fmt.Errorf("convert a custom resource: %T is none", obj))
	}
	return u, nil
}

// viewCodec replaces the storage in a dry run: it converts to the storage version and back, as a write does.
type viewCodec struct {
	*codec
	converter *conversion.Converter
	version   apischema.GroupVersion
}

// Encode writes the stored form of an object in the view's version.
func (c *viewCodec) Encode(obj runtime.Object, w io.Writer) error {
	stored, err := c.converter.WithContext(context.Background()).ConvertToVersion(obj, c.codec.version)
	if err != nil {
		return err
	}
	return c.codec.Encode(stored, w)
}

// Decode fills into, in the view's version.
func (c *viewCodec) Decode(data []byte, defaults *apischema.GroupVersionKind,
	into runtime.Object) (runtime.Object, *apischema.GroupVersionKind, error) {
	stored, kind, err := c.codec.Decode(data, defaults, nil)
	if err != nil {
		return nil, kind, err
	}
	u, err := asUnstructured(into)
	if err != nil {
		return nil, kind, err
	}
	seen, err := c.converter.Convert(context.Background(), stored, c.version)
	if err != nil {
		return nil, kind, err
	}
	u.Object = seen.(*unstructured.Unstructured).Object
	_, err = c.defaulter.schemas[c.version.Version].Prune(context.Background(), u.Object, schema.PruneOptions{})
	return u, kind, err
}
