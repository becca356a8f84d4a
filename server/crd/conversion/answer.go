package conversion

import (
	"fmt"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// badAnswer is the error of a webhook's object, with the part that is wrong.
type badAnswer struct {
	part string
	err  error
}

// The parts of an object that can be wrong.
const (
	badType     = "type"
	badIdentity = "identity"
	badMetadata = "metadata"
)

// describeObject describes the object as errors about a list or about a single object do.
func (b *badAnswer) describeObject(isList bool, index int) string {
	switch {
	case isList && b.part == badMetadata:
		return fmt.Sprintf("metadata in object at index %d", index)
	case isList:
		return fmt.Sprintf("converted object at index %d", index)
	case b.part == badMetadata:
		return "metadata"
	case b.part == badType:
		return "object at index 0"
	}
	return "object"
}

// accept reads the webhook's conversion of original. It takes labels and annotations from the webhook, and
// keeps the rest of original's metadata.
func accept(original *unstructured.Unstructured, raw runtime.RawExtension, to schema.GroupVersion) (*unstructured.Unstructured,
	*badAnswer) {
	converted := &unstructured.Unstructured{}
	if err := converted.UnmarshalJSON(raw.Raw); err != nil {
		return nil, &badAnswer{badType, err}
	}
	if got := converted.GroupVersionKind().GroupVersion(); got != to {
		return nil, &badAnswer{badType, fmt.Errorf("invalid groupVersion (expected %v, received %v)", to, got)}
	}
	if want, got := original.GetKind(), converted.GetKind(); got != want {
		return nil, &badAnswer{badType, fmt.Errorf("invalid kind (expected %v, received %v)", want, got)}
	}
	if err := sameIdentity(original, converted); err != nil {
		return nil, &badAnswer{badIdentity, err}
	}
	if err := restoreObjectMeta(original, converted); err != nil {
		return nil, &badAnswer{badMetadata, err}
	}
	return converted, nil
}

// sameIdentity refuses a conversion that changes the identity.
func sameIdentity(original, converted *unstructured.Unstructured) error {
	for _, must := range []struct{ what, want, got string }{
		{"name", original.GetName(), converted.GetName()},
		{"namespace", original.GetNamespace(), converted.GetNamespace()},
		{"UID", string(original.GetUID()), string(converted.GetUID())},
	} {
		if must.got != must.want {
			return fmt.Errorf("must have the same %s: %v != %v", must.what, must.want, must.got)
		}
	}
	return nil
}

// restoreObjectMeta gives converted a copy of original's metadata, except that it keeps its own labels and annotations.
func restoreObjectMeta(original, converted *unstructured.Unstructured) error {
	answer, found := converted.Object["metadata"]
	if !found {
		return fmt.Errorf("missing metadata in converted object")
	}
	theirs, ok := answer.(map[string]any)
	if !ok {
		return fmt.Errorf("invalid metadata of type %T in converted object", answer)
	}
	ours := map[string]any{}
	if m, found := original.Object["metadata"]; found {
		if ours, ok = runtime.DeepCopyJSONValue(m).(map[string]any); !ok {
			return fmt.Errorf("invalid metadata of type %T in input object", m)
		}
	}
	for _, name := range []string{"labels", "annotations"} {
		if err := takeStrings(name, ours, theirs); err != nil {
			return err
		}
	}
	converted.Object["metadata"] = ours
	return nil
}

// takeStrings copies labels or annotations from theirs to ours. It does not validate unchanged ones again,
// since they may be older than the rule.
func takeStrings(name string, ours, theirs map[string]any) error {
	value := theirs[name]
	if value == nil {
		delete(ours, name)
		return nil
	}
	next, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("invalid metadata.%s of type %T in converted object", name, value)
	}
	before, ok := ours[name].(map[string]any)
	if !ok && ours[name] != nil {
		return fmt.Errorf("invalid metadata.%s of type %T in original object", name, ours[name])
	}
	changed := len(before) != len(next)
	texts := make(map[string]string, len(next))
	for k, v := range next {
		text, ok := v.(string)
		if !ok {
			return fmt.Errorf("metadata.%s[%s] must be a string, but is %T in converted object", name, k, v)
		}
		texts[k] = text
		changed = changed || before[k] != v
	}
	if changed {
		var errs field.ErrorList
		if name == "labels" {
			errs = metav1validation.ValidateLabels(texts, field.NewPath("metadata", "labels"))
		} else {
			errs = apivalidation.ValidateAnnotations(texts, field.NewPath("metadata", "annotation"))
		}
		if len(errs) > 0 {
			return errs.ToAggregate()
		}
	}
	ours[name] = next
	return nil
}
