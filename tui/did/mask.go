package did

import (
	"encoding/base64"
	"encoding/json"
	"regexp"

	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/tui/api"
)

// stars replace a value.
const stars = "******"

var ofSecrets = regexp.MustCompile(`^/api/v1/(namespaces/[^/?]+/)?secrets([/?]|$)`)

// mask returns the body of a request with the values of Secrets masked. ok is false if the body may have some and can't
// be read.
func mask(r api.Request) (body []byte, masked, ok bool) {
	secrets := ofSecrets.MatchString(r.Path)
	if len(r.Body) == 0 {
		return nil, false, true
	}
	text, err := yaml.YAMLToJSON(r.Body)
	var value any
	if err == nil {
		err = json.Unmarshal(text, &value)
	}
	if err != nil {
		return nil, false, !secrets
	}
	if !hide(value, secrets) {
		return r.Body, false, !secrets || empty(value)
	}
	if body, err = json.Marshal(value); err != nil {
		return nil, false, false
	}
	return body, true, true
}

// empty reports whether a body about a Secret has nothing to hide: it is an object.
func empty(value any) bool {
	_, ok := value.(map[string]any)
	return ok
}

// hide masks what a value has of Secrets: it is one, or part of one if secret is set, or a list that has some.
func hide(value any, secret bool) (hidden bool) {
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			if operation, ok := one.(map[string]any); ok && secret && operation["value"] != nil { // of a JSON patch
				operation["value"], hidden = stars, true
			} else if hide(one, secret) {
				hidden = true
			}
		}
	case map[string]any:
		if items, ok := v["items"].([]any); ok {
			hidden = hide(items, secret)
		}
		if v["kind"] != "Secret" && !secret {
			return hidden
		}
		for field, stand := range map[string]string{"data": base64.StdEncoding.EncodeToString([]byte(stars)), "stringData": stars} {
			values, ok := v[field].(map[string]any)
			for name := range values {
				values[name], hidden = stand, true
			}
			if !ok && v[field] != nil {
				v[field], hidden = nil, true
			}
		}
		if m, ok := v["metadata"].(map[string]any); ok {
			if notes, ok := m["annotations"].(map[string]any); ok && notes[lastApplied] != nil {
				delete(notes, lastApplied)
				hidden = true
			}
		}
	}
	return hidden
}

// lastApplied is the annotation in which kubectl apply keeps the whole object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
