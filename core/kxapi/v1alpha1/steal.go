package v1alpha1

import (
	"encoding/json"
	"strings"
)

// StolenAnnotation is the annotation that the simulated rival writer sets before a held request commits: the name of
// that request's journey.
const StolenAnnotation = "kx.dev/stolen-from"

// Steal returns the write that makes a held request's revision outdated: an ordinary patch of an annotation of its
// object. The caller sends it in its own name, with the returned content type and Kx-Hold: off. ok is false if the
// request is not about one existing object.
func Steal(j *Journey) (method, path, contentType string, body []byte, ok bool) {
	q := &j.Spec
	switch q.Verb {
	case "get", "update", "patch", "delete":
	default:
		return "", "", "", nil, false
	}
	if q.Resource == "" || q.Name == "" {
		return "", "", "", nil, false
	}
	path, _, _ = strings.Cut(q.URI, "?")
	path = strings.TrimSuffix(path, "/")
	if q.Subresource != "" {
		var whole bool
		if path, whole = strings.CutSuffix(path, "/"+q.Subresource); !whole {
			return "", "", "", nil, false // what follows proxy is a path on another server
		}
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{StolenAnnotation: j.Name}}})
	return "PATCH", path, "application/merge-patch+json", body, err == nil
}
