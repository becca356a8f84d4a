package trial

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/discovery"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/kx-apiserver/kx/server/builtin/scheme"
)

// objects provides the types of objects, as a resource's handlers do in the server. Built-in kinds have their Go
// types; others stay unstructured.
type objects struct {
	discovery   discovery.DiscoveryInterface
	equivalents runtime.EquivalentResourceRegistry
	// types holds the type converters by group version.
	types map[schema.GroupVersion]managedfields.TypeConverter
	// present is the group version of the current object.
	present schema.GroupVersion
	err     error
}

func newObjects(d discovery.DiscoveryInterface) (*objects, error) {
	o := &objects{discovery: d, equivalents: runtime.NewEquivalentResourceRegistry(),
		types: map[schema.GroupVersion]managedfields.TypeConverter{}}
	_, lists, err := d.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("ask which resources there are: %w", err)
	}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for i := range list.APIResources {
			r := &list.APIResources[i]
			o.equivalents.RegisterKindFor(gv.WithResource(r.Name), "", gv.WithKind(r.Kind))
		}
	}
	return o, nil
}

func (o *objects) GetObjectCreater() runtime.ObjectCreater     { return o }
func (o *objects) GetObjectTyper() runtime.ObjectTyper         { return scheme.Scheme }
func (o *objects) GetObjectDefaulter() runtime.ObjectDefaulter { return scheme.Scheme }
func (o *objects) GetObjectConvertor() runtime.ObjectConvertor { return o }
func (o *objects) GetEquivalentResourceMapper() runtime.EquivalentResourceMapper {
	return o.equivalents
}

// New makes an empty object of a kind.
func (o *objects) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	if scheme.Scheme.Recognizes(kind) {
		return scheme.Scheme.New(kind)
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u, nil
}

// toTyped converts an object to the type that handlers use. The caller owns the result.
func (o *objects) toTyped(u *unstructured.Unstructured) (runtime.Object, error) {
	kind := u.GroupVersionKind()
	if !scheme.Scheme.Recognizes(kind) {
		return u.DeepCopy(), nil
	}
	obj, err := scheme.Scheme.New(kind)
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, obj); err != nil {
		return nil, fmt.Errorf("the server's %s is not what this kx knows: %w", kind, err)
	}
	obj.GetObjectKind().SetGroupVersionKind(kind)
	return obj, nil
}

// errOtherVersion reports that a trial would need the conversion of a custom resource, which only the server can do.
var errOtherVersion = errors.New(
	"a policy is about it in another version, into which only the server converts: " +
		"name that version, as in --against things.v2.example.com")

// Convert converts built-in objects.
func (o *objects) Convert(in, out, context any) error {
	if _, custom := in.(*unstructured.Unstructured); custom {
		return errOtherVersion
	}
	return scheme.Scheme.Convert(in, out, context)
}

func (o *objects) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	if _, custom := in.(*unstructured.Unstructured); custom {
		return nil, errOtherVersion
	}
	return scheme.Scheme.ConvertToVersion(in, to)
}

func (o *objects) ConvertFieldLabel(kind schema.GroupVersionKind, label, value string) (string, string, error) {
	return scheme.Scheme.ConvertFieldLabel(kind, label, value)
}

// GetFieldTypes returns the merge rules for lists and maps of the current object, from the server's OpenAPI.
func (o *objects) GetFieldTypes() managedfields.TypeConverter {
	if known, ok := o.types[o.present]; ok {
		return known
	}
	types, err := o.readTypes()
	if err != nil {
		o.err = err
		return nil
	}
	o.types[o.present] = types
	return types
}

func (o *objects) readTypes() (managedfields.TypeConverter, error) {
	path := "apis/" + o.present.String()
	if o.present.Group == "" {
		path = "api/" + o.present.Version
	}
	bad := func(err error) error { return fmt.Errorf("read how the server describes %s: %w", o.present, err) }
	paths, err := o.discovery.OpenAPIV3().Paths()
	if err != nil {
		return nil, bad(err)
	}
	document, ok := paths[path]
	if !ok {
		return nil, bad(errors.New("it does not"))
	}
	data, err := document.Schema(runtime.ContentTypeJSON)
	if err != nil {
		return nil, bad(err)
	}
	var described struct {
		Components struct {
			Schemas map[string]*spec.Schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(data, &described); err != nil {
		return nil, bad(err)
	}
	types, err := managedfields.NewTypeConverter(described.Components.Schemas, false)
	if err != nil {
		return nil, bad(err)
	}
	return types, nil
}
