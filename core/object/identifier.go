package object

import (
	"encoding/json"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
)

// jsonVersions is which of the encoders of this process, by their names, write plain JSON, and in which version: "" for all
// others. There are a few for each version that is served; those that are no longer served stay.
var jsonVersions sync.Map // runtime.Identifier → string

// jsonVersionOf is the version that the encoder called id writes plain JSON in. It is not ok for other encoders.
func jsonVersionOf(id runtime.Identifier) (apiVersion string, ok bool) {
	known, found := jsonVersions.Load(id)
	if !found {
		known, _ = jsonVersions.LoadOrStore(id, readIdentifier(id))
	}
	apiVersion = known.(string)
	return apiVersion, apiVersion != ""
}

// readIdentifier reads the names that apimachinery gives its encoders: they are maps as JSON.
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
