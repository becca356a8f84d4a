package fuzztest

import (
	"math/rand/v2"
	"net/http"
	"reflect"
	"testing"
)

// small is a surface without a server.
func small() *Surface {
	properties := map[string]any{"data": map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string",
		"format": "byte"}}, "self": map[string]any{"$ref": "#/x/Map"}}
	kinds := []any{map[string]any{"group": "", "version": "v1", "kind": "ConfigMap"}}
	return &Surface{
		Resources: []Resource{
			{Version: "v1", Kind: "ConfigMap", Name: "configmaps", Namespaced: true}, {Version: "v1", Kind: "Node", Name: "nodes"},
			{Group: "apps", Version: "v1", Kind: "Scale", Name: "deployments/scale", Namespaced: true},
		},
		Schema: func(string, string) map[string]any {
			return map[string]any{"Map": map[string]any{"type": "object", "properties": properties, "required": []any{"data"},
				"x-kubernetes-group-version-kind": kinds}}
		},
		Users:      []User{{Name: "admin", Identity: Identity{Name: "admin"}}, {Name: "a", Token: "a", Identity: Identity{Name: "a"}}},
		Namespaces: []string{"near", "far"}, Names: []string{"known"},
	}
}

func play(data []byte, surface *Surface) (all []*Request) {
	g := New(data, surface)
	for {
		r, more := g.Next()
		if !more {
			return all
		}
		g.Learn(http.Header{"Kx-Journey": {"7"}}, []byte(`{"kind":"ConfigMapList","metadata":{"continue":"eHg","resourceVersion":"5"}}`))
		all = append(all, r)
	}
}

// TestSame makes the same requests of the same bytes, however few these are.
func TestSame(t *testing.T) {
	random, surface := rand.New(rand.NewPCG(1, 1)), small()
	for i := range 2000 {
		data := make([]byte, i%100)
		for j := range data {
			data[j] = byte(random.Uint32())
		}
		first, second := play(data, surface), play(data, surface)
		if len(first) == 0 || len(first) > maxRequests || !reflect.DeepEqual(first, second) {
			t.Fatalf("%q: %d requests, then %d", data, len(first), len(second))
		}
	}
}

// TestSeeds: the grammar has no production that can't be taken.
func TestSeeds(t *testing.T) {
	if n := len(Seeds(small())); n == 0 || n > 100 {
		t.Errorf("%d seeds", n)
	}
}
