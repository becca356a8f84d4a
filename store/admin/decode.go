package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	cbor "k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	kjson "sigs.k8s.io/json"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/yaml"
	"github.com/kx-apiserver/kx/store/transform"
)

// Format is the encoding of a value.
type Format string

// The formats.
const (
	Protobuf Format = "protobuf"
	JSON     Format = "json"
	CBOR     Format = "cbor"
	Text     Format = "text"
	Binary   Format = "binary"
)

var (
	protobufMagic = []byte("k8s\x00")
	cborMagic     = []byte{0xd9, 0xd9, 0xf7}
	// encryptedMagic begins every encrypted value.
	encryptedMagic = []byte("k8s:enc:")
)

// DecodeError says which value can't be read, and why. It never contains a part of the value.
type DecodeError struct {
	Key    string
	Reason string
}

func (e *DecodeError) Error() string { return e.Key + ": the value can't be read: " + e.Reason }

// Value is a decoded value.
type Value struct {
	Key    string
	Format Format
	// Encryption names the provider and the key, such as "aescbc key1"; it is empty for a value in the clear.
	Encryption string
	// Kind is empty and Object is nil if the value is not an API object.
	Kind   schema.GroupVersionKind
	Object map[string]any
	// Plain is the value as it was before it was encrypted.
	Plain []byte
}

// Decoder reads values that an API server may have stored.
type Decoder struct {
	// Prefix begins the API server's keys.
	Prefix string
	// Encryption holds the keys of encrypted values; nil has none.
	Encryption *transform.Resources
}

// Decode reads a value. Below the prefix it must be an API object; elsewhere it may be anything.
func (d *Decoder) Decode(key string, value []byte) (*Value, error) {
	v, err := d.open(key, value)
	if err != nil {
		return nil, err
	}
	if v.Object, err = v.object(); err != nil {
		if _, api := Locate(d.Prefix, key); api {
			return nil, d.failed(key, err)
		}
		return v, nil
	}
	if v.Object != nil {
		v.Kind = schema.FromAPIVersionAndKind(stringAt(v.Object, "apiVersion"), stringAt(v.Object, "kind"))
	}
	return v, nil
}

// Metadata reads only the kind and the metadata of a value, which is cheaper than Decode.
func (d *Decoder) Metadata(key string, value []byte) (*metav1.PartialObjectMetadata, error) {
	v, err := d.open(key, value)
	if err != nil {
		return nil, err
	}
	out := &metav1.PartialObjectMetadata{}
	switch v.Format {
	case Protobuf:
		unknown, err := envelope(v.Plain)
		if err != nil {
			return nil, d.failed(key, err)
		}
		// Every type with metadata has it in its first field. The fields after it differ from type to type and are not
		// read.
		if err := unmarshalMetadata(unknown.Raw, &out.ObjectMeta); err != nil {
			return nil, d.failed(key, err)
		}
		out.APIVersion, out.Kind = unknown.APIVersion, unknown.Kind
		return out, nil
	case JSON:
		err = json.Unmarshal(v.Plain, out)
	case CBOR:
		var object map[string]any
		if object, err = v.object(); err == nil {
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{
				"apiVersion": object["apiVersion"], "kind": object["kind"], "metadata": object["metadata"],
			}, out)
		}
	default:
		err = errNoObject(v.Plain)
	}
	if err != nil {
		return nil, d.failed(key, err)
	}
	return out, nil
}

// creationTime decodes a whole value and returns when its object was created. It skips the form for display, which is
// most of the work of Decode.
func (d *Decoder) creationTime(key string, value []byte) (time.Time, error) {
	v, err := d.open(key, value)
	if err != nil {
		return time.Time{}, err
	}
	if v.Format == Protobuf {
		obj, _, err := protobufTyped(v.Plain)
		if err != nil {
			return time.Time{}, d.failed(key, err)
		}
		if m, ok := obj.(metav1.Object); ok {
			return m.GetCreationTimestamp().Time, nil
		}
		return time.Time{}, nil
	}
	object, err := v.object()
	if err != nil {
		return time.Time{}, d.failed(key, err)
	}
	m, _ := object["metadata"].(map[string]any)
	at, _ := time.Parse(time.RFC3339, stringAt(m, "creationTimestamp"))
	return at, nil
}

func (d *Decoder) failed(key string, err error) error {
	return &DecodeError{Key: key, Reason: err.Error()}
}

// Plain decrypts a value and recognises its format. The result may be a part of value.
func (d *Decoder) Plain(key string, value []byte) (plain []byte, format Format, err error) {
	v, err := d.open(key, value)
	if err != nil {
		return nil, "", err
	}
	return v.Plain, v.Format, nil
}

// open decrypts a value and recognises its format.
func (d *Decoder) open(key string, value []byte) (*Value, error) {
	v := &Value{Key: key, Plain: value}
	if IsEncrypted(value) {
		v.Encryption = encryption(value)
		plain, err := d.decrypt(key, value)
		if err != nil {
			return nil, d.failed(key, fmt.Errorf("it is encrypted (%s): %w", v.Encryption, err))
		}
		v.Plain = plain
	}
	switch {
	case bytes.HasPrefix(v.Plain, protobufMagic):
		v.Format = Protobuf
	case bytes.HasPrefix(v.Plain, cborMagic):
		v.Format = CBOR
	case bytes.HasPrefix(bytes.TrimLeft(v.Plain, " \t\r\n"), []byte("{")):
		v.Format = JSON
	case utf8.Valid(v.Plain):
		v.Format = Text
	default:
		v.Format = Binary
	}
	return v, nil
}

// IsEncrypted says whether a stored value is encrypted.
func IsEncrypted(value []byte) bool { return bytes.HasPrefix(value, encryptedMagic) }

// encryption reads "k8s:enc:aescbc:v1:key1:" as "aescbc key1".
func encryption(value []byte) string {
	head := value[:min(len(value), 256)]
	parts := strings.SplitN(string(head), ":", 6)
	if len(parts) < 6 || !utf8.ValidString(parts[2]) || !utf8.ValidString(parts[4]) {
		return "of a form that is not known"
	}
	return parts[2] + " " + parts[4]
}

func (d *Decoder) decrypt(key string, value []byte) ([]byte, error) {
	if bytes.HasPrefix(value, []byte("k8s:enc:kms:v1:")) {
		return nil, errors.New("it was encrypted through a KMS plugin of v1, which is not supported")
	}
	if d.Encryption == nil {
		return nil, errors.New("give the API server's EncryptionConfiguration (--encryption-provider-config)")
	}
	l, ok := Locate(d.Prefix, key)
	if !ok {
		return nil, fmt.Errorf("the key names no resource below %s, so it is not known which rule of the configuration applies", d.Prefix)
	}
	plain, _, err := d.Encryption.ForResource(l.Resource).TransformFromStorage(context.Background(), value, transform.DefaultContext(key))
	return plain, err
}

// object decodes the plain value into JSON's Go types.
func (v *Value) object() (map[string]any, error) {
	switch v.Format {
	case Protobuf:
		return protobufObject(v.Plain)
	case CBOR:
		var out map[string]any
		if err := cbor.Unmarshal(v.Plain[len(cborMagic):], &out); err != nil {
			return nil, fmt.Errorf("it is no CBOR object: %w", withoutValue(err))
		}
		return out, nil
	case JSON:
		var out map[string]any
		if err := utiljson.Unmarshal(v.Plain, &out); err != nil {
			return nil, fmt.Errorf("it is no JSON object: %w", withoutValue(err))
		}
		return out, nil
	}
	return nil, errNoObject(v.Plain)
}

func errNoObject(plain []byte) error {
	if len(plain) == 0 {
		return errors.New("it is empty")
	}
	return fmt.Errorf("its %d bytes are neither protobuf, JSON nor CBOR, and not encrypted either", len(plain))
}

// withoutValue removes quotes of the value from the error of a JSON or CBOR decoder.
func withoutValue(err error) error {
	if text := err.Error(); strings.Contains(text, "EOF") || strings.Contains(text, "unexpected end") {
		return errors.New("it is cut off")
	}
	if isSyntax, offset := kjson.SyntaxErrorOffset(err); isSyntax {
		return fmt.Errorf("the syntax is wrong at byte %d", offset)
	}
	return errors.New("its structure is wrong")
}

// envelope reads the message that Kubernetes wraps around a protobuf object.
func envelope(plain []byte) (*runtime.Unknown, error) {
	unknown := &runtime.Unknown{}
	if err := unknown.Unmarshal(plain[len(protobufMagic):]); err != nil {
		return nil, errors.New("the protobuf envelope is damaged or cut off")
	}
	if unknown.Kind == "" || unknown.APIVersion == "" {
		return nil, errors.New("the protobuf envelope names no kind")
	}
	if unknown.ContentEncoding != "" || unknown.ContentType != "" && unknown.ContentType != runtime.ContentTypeProtobuf {
		return nil, fmt.Errorf("the protobuf envelope holds content of type %q, encoding %q", unknown.ContentType, unknown.ContentEncoding)
	}
	return unknown, nil
}

// protobufTyped decodes the message in an envelope into its Go type.
func protobufTyped(plain []byte) (runtime.Object, schema.GroupVersionKind, error) {
	unknown, err := envelope(plain)
	if err != nil {
		return nil, schema.GroupVersionKind{}, err
	}
	kind := schema.FromAPIVersionAndKind(unknown.APIVersion, unknown.Kind)
	obj, err := types().New(kind)
	if err != nil {
		return nil, kind, fmt.Errorf("it is protobuf of %s %s, a type that kx does not know", unknown.APIVersion, unknown.Kind)
	}
	message, ok := obj.(interface{ Unmarshal([]byte) error })
	if !ok {
		return nil, kind, fmt.Errorf("%s %s has no protobuf form", unknown.APIVersion, unknown.Kind)
	}
	if err := message.Unmarshal(unknown.Raw); err != nil {
		return nil, kind, fmt.Errorf("the protobuf of %s %s is damaged or cut off", unknown.APIVersion, unknown.Kind)
	}
	obj.GetObjectKind().SetGroupVersionKind(kind)
	return obj, kind, nil
}

func protobufObject(plain []byte) (map[string]any, error) {
	obj, kind, err := protobufTyped(plain)
	if err != nil {
		return nil, err
	}
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("%s can't be shown: %w", kind.Kind, err)
	}
	return out, nil
}

// JSON is the value as JSON: an object indented, a text as a string.
func (v *Value) JSON() ([]byte, error) {
	if v.Object == nil {
		return json.Marshal(string(v.Plain))
	}
	return json.MarshalIndent(v.Object, "", "    ")
}

// YAML is the value as YAML.
func (v *Value) YAML() ([]byte, error) {
	data, err := v.JSON()
	if err != nil {
		return nil, err
	}
	return escape.YAML(data, yaml.FromJSON), nil
}

// Metadata returns the object's metadata, empty if they can't be read.
func (v *Value) Metadata() metav1.ObjectMeta {
	var out metav1.ObjectMeta
	if m, ok := v.Object["metadata"].(map[string]any); ok {
		_ = runtime.DefaultUnstructuredConverter.FromUnstructured(m, &out)
	}
	return out
}

func stringAt(object map[string]any, field string) string {
	s, _ := object[field].(string)
	return s
}
