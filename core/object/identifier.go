package object

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"
)

// jsonVersionOf returns the version in which the encoder called id writes plain JSON; ok is false for other encoders.
// It remembers its answers, since a resource has few encoders.
func (f *Format) jsonVersionOf(id runtime.Identifier) (apiVersion string, ok bool) {
	known, found := f.jsonVersions.Load(id)
	if !found {
		known, _ = f.jsonVersions.LoadOrStore(id, readIdentifier(id))
	}
	apiVersion = known.(string)
	return apiVersion, apiVersion != ""
}

// readIdentifier reads the identifier of an apimachinery encoder, which is a map written as JSON.
func readIdentifier(id runtime.Identifier) (jsonVersion string) {
	var versioning, serializer map[string]string
	if json.Unmarshal([]byte(id), &versioning) != nil || versioning["name"] != "versioning" {
		return ""
	}
	if json.Unmarshal([]byte(versioning["encoder"]), &serializer) != nil {
		return ""
	}
	if serializer["name"] != "json" || serializer["yaml"] != "false" || serializer["pretty"] != "false" {
		return ""
	}
	return versioning["encodeGV"]
}
