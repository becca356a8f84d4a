package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	cbor "k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/store/transform"
)

// encode makes the stored value of an object. Its format is that of the present value, or else the one that an API
// server would choose; it is encrypted as the configuration says.
func (d *Decoder) encode(key string, object map[string]any, like *Value) ([]byte, error) {
	l, ok := Locate(d.Prefix, key)
	if !ok {
		return nil, fmt.Errorf("%s: no API server stores an object there", key)
	}
	plain, err := encodePlain(l, object, like)
	if runtime.IsStrictDecodingError(err) {
		return nil, &Refusal{fmt.Errorf("%s: %w", key, err), "take it out: what is stored has no place for it"}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return d.encrypt(l, key, plain)
}

func (d *Decoder) encrypt(l Location, key string, plain []byte) ([]byte, error) {
	value, err := d.Encryption.ForResource(l.Resource).TransformToStorage(context.Background(), plain, transform.DefaultContext(key))
	if err != nil {
		return nil, fmt.Errorf("%s: encrypt: %w", key, err)
	}
	return value, nil
}

func encodePlain(l Location, object map[string]any, like *Value) ([]byte, error) {
	format := JSON
	kind := schema.FromAPIVersionAndKind(stringAt(object, "apiVersion"), stringAt(object, "kind"))
	typed, err := strictlyTyped(l, kind, object)
	if err != nil {
		return nil, err
	}
	_, hasProtobuf := typed.(runtime.ProtobufMarshaller)
	switch {
	case like != nil && like.Object != nil:
		format = like.Format
	case hasProtobuf && l.Resource.Group != apiextensionsv1.GroupName:
		format = Protobuf
	}
	return encodeFormat(format, kind, typed, object)
}

// encodeFormat encodes an object in one format. typed is the object in its Go type, nil if it has none.
func encodeFormat(format Format, kind schema.GroupVersionKind, typed runtime.Object, object map[string]any) ([]byte, error) {
	switch format {
	case Protobuf:
		message, ok := typed.(runtime.ProtobufMarshaller)
		if !ok {
			return nil, fmt.Errorf("%s has no protobuf form", kind)
		}
		return encodeProtobuf(kind, message)
	case CBOR:
		data, err := cbor.Marshal(object)
		return append(bytes.Clone(cborMagic), data...), err
	}
	// API servers sort the keys and end with a newline.
	data, err := json.Marshal(object)
	return append(data, '\n'), err
}

func encodeProtobuf(kind schema.GroupVersionKind, message runtime.ProtobufMarshaller) ([]byte, error) {
	raw := make([]byte, message.Size())
	if _, err := message.MarshalTo(raw); err != nil {
		return nil, err
	}
	apiVersion, name := kind.ToAPIVersionAndKind()
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: name}, Raw: raw}
	data, err := unknown.Marshal()
	return append(bytes.Clone(protobufMagic), data...), err
}

// strictlyTyped converts the object to its Go type, nil if it has none. A field that the type does not have is an
// error: the API server would not see it.
func strictlyTyped(l Location, kind schema.GroupVersionKind, object map[string]any) (runtime.Object, error) {
	if l.Custom || !types().Recognizes(kind) {
		return nil, nil
	}
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	s := jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, types(), types(),
		jsonserializer.SerializerOptions{Strict: true})
	typed, _, err := s.Decode(data, nil, nil)
	return typed, err
}

// parseObject reads JSON or YAML from a person and removes fields that the API server never stores.
func parseObject(key string, input []byte) (map[string]any, error) {
	var object map[string]any
	// Numbers become int64 where they can, as the API server reads them: a float64 changes large ones.
	data, err := yaml.YAMLToJSON(input)
	if err == nil {
		err = utiljson.Unmarshal(data, &object)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: the new object is neither JSON nor YAML: %w", key, err)
	}
	if object == nil {
		return nil, fmt.Errorf("%s: the new object is empty", key)
	}
	if m, ok := object["metadata"].(map[string]any); ok {
		delete(m, "resourceVersion")
		delete(m, "selfLink")
	}
	return object, nil
}

// checkReadable says why an API server could not read a value at a key, or could not serve what it read.
func (e *Editor) checkReadable(ctx context.Context, key string, value []byte) error {
	v, err := e.Decoder.Decode(key, value)
	if err != nil {
		return err
	}
	l, ok := Locate(e.Decoder.Prefix, key)
	if !ok {
		return fmt.Errorf("%s is no key of an API server, so nothing says what may be there", key)
	}
	if v.Object == nil {
		return fmt.Errorf("%s: %w", key, errNoObject(v.Plain))
	}
	if l.Custom {
		err = e.checkCustom(ctx, l, v)
	} else {
		err = checkBuiltin(l, v)
	}
	if err == nil {
		err = checkNames(l, v)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

func checkBuiltin(l Location, v *Value) error {
	if !slices.Contains(l.kinds, v.Kind) {
		var names []string
		for _, kind := range l.kinds {
			names = append(names, kind.GroupVersion().String()+" "+kind.Kind)
		}
		return fmt.Errorf("it is %s %s, and there may be %s", v.Kind.GroupVersion(), v.Kind.Kind, strings.Join(names, ", "))
	}
	if v.Format == Protobuf || !types().Recognizes(v.Kind) {
		return nil
	}
	data, err := json.Marshal(v.Object)
	if err != nil {
		return err
	}
	s := jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, types(), types(), jsonserializer.SerializerOptions{})
	_, _, err = s.Decode(data, nil, nil)
	return err
}

// checkCustom compares a custom resource with its definition in the same etcd.
func (e *Editor) checkCustom(ctx context.Context, l Location, v *Value) error {
	crd, err := readDefinition(ctx, e.Live, e.Decoder, l.Resource)
	if err != nil {
		return err
	}
	if crd == nil {
		return fmt.Errorf("there is no CustomResourceDefinition %s", l.Resource)
	}
	if v.Kind.Group != l.Resource.Group || v.Kind.Kind != crd.kind || !slices.Contains(crd.versions, v.Kind.Version) {
		return fmt.Errorf("it is %s %s, and its CustomResourceDefinition has %s in %s of %s",
			v.Kind.GroupVersion(), v.Kind.Kind, crd.kind, strings.Join(crd.versions, ", "), l.Resource.Group)
	}
	if crd.namespaced != (l.Namespace != "") {
		return fmt.Errorf("by its CustomResourceDefinition it is namespaced: %t, and by the key: %t", crd.namespaced, l.Namespace != "")
	}
	if e.Custom == nil {
		return nil
	}
	return e.Custom(ctx, l.Resource, runtime.DeepCopyJSON(v.Object))
}

func checkNames(l Location, v *Value) error {
	if l.Name == "" {
		return nil
	}
	meta := v.Metadata()
	if meta.Name != l.Name && len(l.kinds) > 0 && l.Resource == allocations["masterleases"].resource {
		return nil // named by address, and the object has no name
	}
	if meta.Name != l.Name || meta.Namespace != l.Namespace {
		return fmt.Errorf("it is named %q in namespace %q, and the key says %q in %q", meta.Name, meta.Namespace, l.Name, l.Namespace)
	}
	return nil
}

// definition has the fields of a CustomResourceDefinition that matter here.
type definition struct {
	kind       string
	versions   []string
	namespaced bool
}

// readDefinition reads the definition of a resource; it is nil if there is none.
func readDefinition(ctx context.Context, s Source, d *Decoder, resource schema.GroupResource) (*definition, error) {
	key := definitionKey(d.Prefix, resource)
	kv, err := s.Get(ctx, key, 0)
	if err != nil || kv == nil {
		return nil, err
	}
	v, err := d.Decode(key, kv.Value)
	if err != nil {
		return nil, err
	}
	var crd struct {
		Spec struct {
			Scope    apiextensionsv1.ResourceScope                 `json:"scope"`
			Names    apiextensionsv1.CustomResourceDefinitionNames `json:"names"`
			Version  string                                        `json:"version"` // v1beta1 of old
			Versions []struct {
				Name string `json:"name"`
			} `json:"versions"`
		} `json:"spec"`
	}
	data, err := v.JSON()
	if err == nil {
		err = json.Unmarshal(data, &crd)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s can't be understood", key), err)
	}
	out := &definition{kind: crd.Spec.Names.Kind, namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped}
	for _, version := range crd.Spec.Versions {
		out.versions = append(out.versions, version.Name)
	}
	if len(out.versions) == 0 {
		out.versions = []string{crd.Spec.Version}
	}
	return out, nil
}
