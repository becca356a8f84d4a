package projects

import (
	"fmt"
	"regexp"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// sample makes the least that a schema allows: what is required, and nothing else. Rules that are not about one field
// (oneOf, CEL) it does not know; objects that need more have it in testdata/objects.yaml.
func sample(s *apiextensionsv1.JSONSchemaProps) (any, error) {
	if len(s.Enum) > 0 {
		var v any
		return v, json.Unmarshal(s.Enum[0].Raw, &v)
	}
	if s.XIntOrString {
		return int64(1), nil
	}
	switch s.Type {
	case "object", "":
		return sampleObject(s)
	case "array":
		list := []any{}
		for range value(s.MinItems) {
			item, err := sample(s.Items.Schema)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		return list, nil
	case "string":
		return sampleString(s)
	case "boolean":
		return true, nil
	case "integer":
		return int64(max(1, value(s.Minimum))), nil
	case "number":
		return max(1, value(s.Minimum)), nil
	}
	return nil, fmt.Errorf("no sample of type %q", s.Type)
}

func sampleObject(s *apiextensionsv1.JSONSchemaProps) (any, error) {
	object := map[string]any{}
	for _, name := range s.Required {
		property := s.Properties[name]
		if property.Default != nil {
			continue // the server sets it
		}
		v, err := sample(&property)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		object[name] = v
	}
	return object, nil
}

// candidates are tried in turn against patterns.
var candidates = []string{"a", "A", "example.com", "example.com/a", "1", "1h", "/", "10.0.0.0/8", "10.0.0.1", "https://example.com", "v1.0.0", "sha256:" + strings.Repeat("a", 64)}

var formats = map[string]string{
	"date-time": "2026-01-02T03:04:05Z", "duration": "1h", "byte": "YQ==", "ipv4": "10.0.0.1", "ipv6": "::1", "uri": "https://example.com",
}

func sampleString(s *apiextensionsv1.JSONSchemaProps) (any, error) {
	if v, ok := formats[s.Format]; ok {
		return v, nil
	}
	pattern, err := regexp.Compile(s.Pattern)
	if err != nil {
		return nil, err
	}
	for _, v := range candidates {
		if pad := int(value(s.MinLength)) - len(v); pad > 0 {
			v += strings.Repeat("a", pad)
		}
		if pattern.MatchString(v) {
			return v, nil
		}
	}
	return nil, fmt.Errorf("no sample of a string that matches %q", s.Pattern)
}

// value is what p points to, 0 if to nothing.
func value[T int64 | float64](p *T) T {
	if p == nil {
		return 0
	}
	return *p
}
