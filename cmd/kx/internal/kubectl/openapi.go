package kubectl

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/openapi/cached"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)

// forPatches is the factory for commands that compute patches. These need the server's OpenAPI for the merge rules of
// lists, and kubectl's code parses the version's document twice for each object. forPatches removes the descriptions,
// which makes apply of unchanged objects three times as fast.
type forPatches struct{ cmdutil.Factory }

// OpenAPIV3Client fetches and shortens each document once.
func (f forPatches) OpenAPIV3Client() (openapi.Client, error) {
	client, err := f.Factory.OpenAPIV3Client()
	if err != nil {
		return nil, err
	}
	return cached.NewClient(briefClient{client}), nil
}

type briefClient struct{ from openapi.Client }

func (c briefClient) Paths() (map[string]openapi.GroupVersion, error) {
	paths, err := c.from.Paths()
	brief := make(map[string]openapi.GroupVersion, len(paths))
	for path, gv := range paths {
		brief[path] = briefGroupVersion{gv}
	}
	return brief, err
}

type briefGroupVersion struct{ openapi.GroupVersion }

func (g briefGroupVersion) Schema(contentType string) ([]byte, error) {
	data, err := g.GroupVersion.Schema(contentType)
	if err != nil || contentType != runtime.ContentTypeJSON {
		return data, err
	}
	return briefForPatches(data), nil
}

const kindOfOperation = "x-kubernetes-group-version-kind"

// briefForPatches reduces an OpenAPI v3 document to the schemas, without descriptions, and the types of patches of
// each kind. It returns a document that it can't read unchanged.
func briefForPatches(data []byte) []byte {
	var document map[string]any
	if err := json.Unmarshal(data, &document); err != nil {
		return data
	}
	paths, _ := document["paths"].(map[string]any)
	brief := map[string]any{}
	for path, item := range paths {
		operations, _ := item.(map[string]any)
		patch, ok := operations["patch"].(map[string]any)
		if !ok {
			continue
		}
		kept := map[string]any{}
		for _, field := range []string{"requestBody", kindOfOperation} {
			if value, ok := patch[field]; ok {
				kept[field] = value
			}
		}
		brief[path] = map[string]any{"patch": kept}
	}
	document["paths"] = brief
	dropTexts(document)
	if short, err := json.Marshal(document); err == nil {
		return short
	}
	return data
}

// dropTexts removes descriptions. It keeps a property named description, which is an object.
func dropTexts(value any) {
	switch value := value.(type) {
	case map[string]any:
		if _, text := value["description"].(string); text {
			delete(value, "description")
		}
		for _, v := range value {
			dropTexts(v)
		}
	case []any:
		for _, v := range value {
			dropTexts(v)
		}
	}
}
