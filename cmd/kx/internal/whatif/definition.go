package whatif

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/server/crd/conversion"
	"github.com/kx-apiserver/kx/server/crd/customresource"
	"github.com/kx-apiserver/kx/server/crd/definition"
	"github.com/kx-apiserver/kx/store/admin"
)

// Definition is a definition on trial.
type Definition struct {
	Name string `json:"name"`
	// Installed is set if a definition of this name is installed, so that the trial is an update.
	Installed bool     `json:"installed"`
	Errors    []string `json:"errors,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`

	crd *apiextensionsv1.CustomResourceDefinition
}

// Resource returns the defined resource.
func (d *Definition) Resource() schema.GroupResource {
	return schema.GroupResource{Group: d.crd.Spec.Group, Resource: d.crd.Spec.Names.Plural}
}

// strict refuses unknown fields of a definition.
var strict = serializer.NewCodecFactory(definition.Scheme, serializer.EnableStrict)

// Parse reads a definition as clients send it.
func Parse(data []byte) (*apiextensions.CustomResourceDefinition, error) {
	want := apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")
	obj, kind, err := strict.UniversalDeserializer().Decode(data, nil, nil)
	if runtime.IsNotRegisteredError(err) {
		var other metav1.TypeMeta
		if yaml.Unmarshal(data, &other) == nil {
			err = fmt.Errorf("it is %s %s, not %s %s", other.APIVersion, other.Kind, want.GroupVersion(), want.Kind)
		}
	}
	if err != nil {
		return nil, err
	}
	if *kind != want {
		return nil, fmt.Errorf("it is %s %s, not %s %s", kind.GroupVersion(), kind.Kind, want.GroupVersion(), want.Kind)
	}
	definition.Scheme.Default(obj)
	out := &apiextensions.CustomResourceDefinition{}
	return out, definition.Scheme.Convert(obj, out, nil)
}

// FindInstalled returns the stored definition of a resource, or nil.
func FindInstalled(ctx context.Context, s admin.Source, d *admin.Decoder,
	resource schema.GroupResource) (*apiextensions.CustomResourceDefinition, error) {
	key := admin.Path(d.Prefix, "apiextensions.k8s.io/customresourcedefinitions/"+resource.String())
	kv, err := s.Get(ctx, key, 0)
	if err != nil || kv == nil {
		return nil, err
	}
	v, err := d.Decode(key, kv.Value)
	if err != nil {
		return nil, err
	}
	obj, _, err := definition.StorageCodec.Decode(v.Plain, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("%s can't be understood: %w", key, err)
	}
	crd, ok := obj.(*apiextensions.CustomResourceDefinition)
	if !ok {
		return nil, fmt.Errorf("%s is a %T", key, obj)
	}
	return crd, nil
}

// Try validates a definition as a create, or as an update of the installed one.
func Try(ctx context.Context, tried, installed *apiextensions.CustomResourceDefinition) (*Definition, error) {
	tried = tried.DeepCopy()
	out := &Definition{Name: tried.Name, Installed: installed != nil, crd: &apiextensionsv1.CustomResourceDefinition{}}
	var errs field.ErrorList
	if installed == nil {
		definition.Strategy.PrepareForCreate(ctx, tried)
		errs = definition.Strategy.Validate(ctx, tried)
		out.Warnings = definition.Strategy.WarningsOnCreate(ctx, tried)
	} else {
		old := installed.DeepCopy()
		// These fields belong to the server. A stored object has no resourceVersion, but an update needs one.
		old.ResourceVersion = "1"
		m := old.ObjectMeta.DeepCopy()
		m.Labels, m.Annotations = tried.Labels, tried.Annotations
		tried.ObjectMeta = *m
		definition.Strategy.PrepareForUpdate(ctx, tried, old)
		errs = definition.Strategy.ValidateUpdate(ctx, tried, old)
		out.Warnings = definition.Strategy.WarningsOnUpdate(ctx, tried, old)
	}
	for _, err := range errs {
		out.Errors = append(out.Errors, err.Error())
	}
	return out, definition.Scheme.Convert(tried, out.crd, nil)
}

// newChecker makes a checker of objects for a definition.
func newChecker(crd *apiextensionsv1.CustomResourceDefinition) (*customresource.Checker, error) {
	factory, err := conversion.NewFactory(nil, nil)
	if err != nil {
		return nil, err
	}
	return customresource.NewChecker(crd, factory)
}

// Custom checks objects with the definitions in the same etcd. It reads and compiles each definition once.
func Custom(s admin.Source, d *admin.Decoder) admin.CustomCheck {
	type known struct {
		checker *customresource.Checker
		err     error
	}
	all := map[schema.GroupResource]known{}
	return func(ctx context.Context, resource schema.GroupResource, object map[string]any) error {
		k, ok := all[resource]
		if !ok {
			k.checker, k.err = installedChecker(ctx, s, d, resource)
			all[resource] = k
		}
		if k.err != nil {
			return k.err
		}
		found, err := k.checker.CheckStored(ctx, object)
		if err != nil {
			return &admin.Objections{Reasons: []string{err.Error()}}
		}
		if len(found.Errors) > 0 {
			return &admin.Objections{Reasons: found.Errors}
		}
		return nil
	}
}

func installedChecker(ctx context.Context, s admin.Source, d *admin.Decoder,
	resource schema.GroupResource) (*customresource.Checker, error) {
	installed, err := FindInstalled(ctx, s, d, resource)
	if err != nil {
		return nil, err
	}
	if installed == nil {
		return nil, fmt.Errorf("there is no CustomResourceDefinition %s", resource)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := definition.Scheme.Convert(installed, crd, nil); err != nil {
		return nil, err
	}
	return newChecker(crd)
}
