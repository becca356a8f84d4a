package mask

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Object is an object as JSON with its secrets masked. confidential says that it belongs to a confidential request. A
// masked value says how long it was.
func Object(obj runtime.Object, confidential bool) []byte {
	obj, err := decode(obj)
	if err != nil {
		return unshown("an object that can't be read", err, confidential)
	}
	data, err := json.Marshal(obj)
	if err != nil {
		return unshown(fmt.Sprintf("%T has no JSON", obj), err, true)
	}
	out, err := JSON(data, confidential || secretType(obj))
	if err != nil {
		return unshown(fmt.Sprintf("%T has no JSON that can be read", obj), err, true)
	}
	return out
}

// JSON masks the secrets in an object's JSON.
func JSON(data []byte, confidential bool) ([]byte, error) {
	if !confidential && !mayHoldSecrets(data) {
		return data, nil
	}
	var v any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil {
		return nil, err
	}
	if confidential {
		return json.Marshal(allowed("", v))
	}
	return json.Marshal(byType(v))
}

// decode returns the object itself if obj is an Encoded.
func decode(obj runtime.Object) (runtime.Object, error) {
	if encoded, ok := obj.(interface {
		Object() (runtime.Object, error)
	}); ok {
		return encoded.Object()
	}
	return obj, nil
}

// unshown is a JSON string in place of an object that can't be shown.
func unshown(what string, err error, confidential bool) []byte {
	if confidential {
		return fmt.Appendf(nil, "%q", what)
	}
	return fmt.Appendf(nil, "%q", fmt.Sprintf("%s: %v", what, err))
}

// secretType says whether an object is secret by its Go type. Decoding may have removed its kind.
func secretType(obj runtime.Object) bool {
	switch obj.(type) {
	case *corev1.Secret, *corev1.SecretList, *authenticationv1.TokenReview, *authenticationv1.TokenRequest:
		return true
	}
	return false
}

// mayHoldSecrets says whether data could name a secret kind, plainly or in escapes.
func mayHoldSecrets(data []byte) bool {
	return bytes.Contains(data, []byte(`"Secret`)) || bytes.Contains(data, []byte(`"Token`)) || bytes.Contains(data, []byte(`\u`))
}

// byType masks each object within v whose kind is secret.
func byType(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if secretKind(v) {
			return allowed("", v)
		}
		for name := range v {
			v[name] = byType(v[name])
		}
	case []any:
		for i := range v {
			v[i] = byType(v[i])
		}
	}
	return v
}

// secretKind reports whether apiVersion and kind are those of a secret. Without an apiVersion the kind is enough.
func secretKind(object map[string]any) bool {
	kind, _ := object["kind"].(string)
	version, _ := object["apiVersion"].(string)
	group, _, grouped := strings.Cut(version, "/")
	switch kind {
	case "Secret", "SecretList":
		return !grouped
	case "TokenReview", "TokenRequest":
		return !grouped || group == authenticationv1.GroupName
	}
	return false
}

// Fields of a confidential object, by their paths. All other fields are left out.
var (
	// shown fields are kept.
	shown = setOf("apiVersion", "kind", "type", "immutable", "status", "reason", "code",
		"metadata.name", "metadata.generateName", "metadata.namespace", "metadata.uid", "metadata.resourceVersion",
		"metadata.generation", "metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.deletionGracePeriodSeconds",
		"metadata.labels", "metadata.ownerReferences", "metadata.finalizers", "metadata.continue", "metadata.remainingItemCount",
		"metadata.managedFields.manager", "metadata.managedFields.operation", "metadata.managedFields.apiVersion",
		"metadata.managedFields.time", "metadata.managedFields.fieldsType", "metadata.managedFields.subresource",
		"details.name", "details.group", "details.kind", "details.uid", "details.retryAfterSeconds",
		"spec.audiences", "spec.expirationSeconds", "spec.boundObjectRef",
		"status.authenticated", "status.user", "status.audiences", "status.expirationTimestamp")
	// entered fields are objects or lists of objects, whose fields have rows of their own here.
	entered = setOf("metadata", "metadata.managedFields", "details", "spec", "status")
	// measured fields are maps that keep valid names, and the lengths of their values.
	measured = setOf("data", "stringData", "binaryData", "metadata.annotations")
)

// allowed returns what may be shown of v at path in a confidential object.
func allowed(path string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, value := range v {
			if kept, ok := field(path, name, value); ok {
				out[name] = kept
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = allowed(path, v[i])
		}
		return out
	}
	return length("", v)
}

// field returns what may be shown of a field; ok is false if even its name must be hidden.
func field(parent, name string, value any) (kept any, ok bool) {
	at := name
	if parent != "" {
		at = parent + "." + name
	}
	_, object := value.(map[string]any)
	switch {
	case at == "items": // each is an object of its own
		return allowed("", value), true
	case entered[at] && (object || shape(value)):
		return allowed(at, value), true
	case shown[at] && (!object || strings.Contains(at, ".")):
		return value, true
	case measured[at]:
		return lengths(name, value), true
	case at == "spec.token" || at == "status.token" || at == "status.error" || at == "message":
		return length("", value), true
	}
	return nil, false
}

func shape(value any) bool { _, list := value.([]any); return list }

// lengths are the lengths of a map's values.
func lengths(field string, value any) any {
	values, ok := value.(map[string]any)
	if !ok {
		return length("", value)
	}
	out := make(map[string]any, len(values))
	for name, v := range values {
		if nameable(field, name) {
			out[name] = length(field, v)
		}
	}
	return out
}

// nameable says whether a text is a valid key or annotation name. Other text may be a misplaced secret.
func nameable(field, name string) bool {
	prefix, rest, found := strings.Cut(name, "/")
	if !found {
		return len(validation.IsConfigMapKey(name)) == 0
	}
	return field == "annotations" && len(validation.IsDNS1123Subdomain(prefix)) == 0 && len(validation.IsConfigMapKey(rest)) == 0
}

// length replaces a value by its number of bytes.
func length(field string, value any) any {
	if value == nil {
		return nil
	}
	text, ok := value.(string)
	if !ok {
		return masked
	}
	n := len(text)
	if field == "data" || field == "binaryData" {
		if raw, err := base64.StdEncoding.DecodeString(text); err == nil {
			n = len(raw)
		}
	}
	return fmt.Sprintf("masked, %d bytes", n)
}
