package kubectl

import (
	"encoding/json"
	"testing"

	"k8s.io/kube-openapi/pkg/spec3"
)

const wordy = `{"openapi":"3.0.0","info":{"title":"t","version":"v1"},"paths":{
 "/api/v1/a/":{"get":{"description":"list"}},
 "/api/v1/a/{name}":{"description":"x","parameters":[{"name":"pretty","in":"query","description":"x"}],
  "get":{"description":"read"},
  "patch":{"description":"change","operationId":"p","responses":{"200":{"description":"OK"}},
   "requestBody":{"content":{"application/strategic-merge-patch+json":{"schema":{"type":"object"}}}},
   "x-kubernetes-group-version-kind":{"group":"","version":"v1","kind":"A"}}}},
 "components":{"schemas":{"v1.A":{"description":"an A","type":"object","properties":{
  "description":{"description":"what it is","type":"string"},
  "parts":{"description":"x","type":"array","items":{"$ref":"#/components/schemas/v1.B"},
   "x-kubernetes-patch-strategy":"merge","x-kubernetes-patch-merge-key":"name"}},
  "x-kubernetes-group-version-kind":[{"group":"","version":"v1","kind":"A"}]}}}}`

const brief = `{"components":{"schemas":{"v1.A":{"properties":{` +
	`"description":{"type":"string"},` +
	`"parts":{"items":{"$ref":"#/components/schemas/v1.B"},"type":"array",` +
	`"x-kubernetes-patch-merge-key":"name","x-kubernetes-patch-strategy":"merge"}},` +
	`"type":"object","x-kubernetes-group-version-kind":[{"group":"","kind":"A","version":"v1"}]}}},` +
	`"info":{"title":"t","version":"v1"},"openapi":"3.0.0","paths":{"/api/v1/a/{name}":{"patch":{` +
	`"requestBody":{"content":{"application/strategic-merge-patch+json":{"schema":{"type":"object"}}}},` +
	`"x-kubernetes-group-version-kind":{"group":"","kind":"A","version":"v1"}}}}}`

// TestBriefForPatches keeps what a patch is made by, and a property that is called description.
func TestBriefForPatches(t *testing.T) {
	got := briefForPatches([]byte(wordy))
	if string(got) != brief {
		t.Errorf("got\n%s\nwant\n%s", got, brief)
	}
	if err := json.Unmarshal(got, &spec3.OpenAPI{}); err != nil {
		t.Error(err)
	}
	for _, other := range []string{"", "<html>", `[1]`} {
		if got := briefForPatches([]byte(other)); string(got) != other {
			t.Errorf("%q became %q", other, got)
		}
	}
}
