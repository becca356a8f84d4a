package again

import (
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/story"
	"github.com/kx-apiserver/kx/tui/internal/tuitest"
)

// TestVariants has the ways of reads and of writes, none of which changes an object.
func TestVariants(t *testing.T) {
	read := func(verb, uri, subresource string) *v1alpha1.Journey {
		return &v1alpha1.Journey{Spec: v1alpha1.JourneySpec{Method: "GET", Verb: verb, URI: uri, Resource: "configmaps", Subresource: subresource},
			Status: v1alpha1.JourneyStatus{Steps: []v1alpha1.Step{{Layer: steps.LayerCacher.String()}}}}
	}
	const one = "/api/v1/namespaces/default/configmaps/pp"
	recorded := tuitest.Recorded(t, "../../capture/testdata/journeys.json") // a create, a JSON patch, an apply and a delete
	masked := recorded[0].DeepCopy()
	masked.Spec.Resource = "secrets"
	put := recorded[0].DeepCopy()
	put.Spec.Method, put.Spec.Verb, put.Spec.URI, put.Status.Revision = "PUT", "update", one, 8
	for i := range put.Status.Steps {
		if after := put.Status.Steps[i].After; after != nil {
			after.Raw = []byte(`{"metadata":{"name":"pp","resourceVersion":"7"}}`)
		}
	}
	dry := recorded[3].DeepCopy()
	dry.Spec.URI += "?dryRun=All"
	version, uncached := read("get", "/version", ""), read("get", one, "")
	version.Spec.Resource, uncached.Status.Steps = "", nil
	patched := recorded[1].DeepCopy()
	patched.Spec.Resource = "secrets"
	for _, test := range []struct {
		name string
		j    *v1alpha1.Journey
		want []string // box, method, URI and body
		why  string
	}{
		{"get", read("get", one, ""), []string{"cacher GET " + one + "?resourceVersion=0 "}, ""},
		{"list", read("list", "/api/v1/configmaps?limit=5", ""), []string{"cacher GET /api/v1/configmaps?limit=5&resourceVersion=0 "}, ""},
		{"any state", read("get", one+"?resourceVersion=0", "status"), []string{"cacher GET " + one + " "}, ""},
		{"a state", read("list", "/api/v1/configmaps?resourceVersion=7&resourceVersionMatch=Exact", ""), []string{"cacher GET /api/v1/configmaps "}, ""},
		{"page", read("list", "/api/v1/configmaps?continue=x", ""), nil, "a further page"},
		{"watch", read("watch", "/api/v1/configmaps?watch=1", ""), nil, "a watch and a dry run"},
		{"log", read("get", one+"/log", "log"), nil, "only reads and writes of objects"},
		{"no cache", uncached, nil, "no watch cache"},
		{"version", version, nil, "only reads and writes of objects"},
		{"create", recorded[0], []string{"Store POST /api/v1/namespaces/default/configmaps?dryRun=All " +
			`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"pp"},"data":{"a":"b"}}`}, ""},
		{"update", put, []string{"Store PUT " + one + `?dryRun=All {"metadata":{"name":"pp","resourceVersion":"8"}}`,
			"Store PUT " + one + `?dryRun=All {"metadata":{"name":"pp","resourceVersion":"1"}}`}, ""},
		{"masked", masked, nil, "masked"},
		{"masked patch", patched, nil, "masked"},
		{"patch", recorded[1], []string{"Store PATCH " + one + `?dryRun=All {"data":{"x":"1"}}`,
			"Store PATCH " + one + `?dryRun=All {"data":{"x":"1"},"metadata":{"resourceVersion":"1"}}`}, ""},
		{"apply", recorded[2], []string{"Store PATCH " + one + `?dryRun=All&fieldManager=me {"data":{"z":"b"}}`,
			"Store PATCH " + one + `?dryRun=All&fieldManager=me {"data":{"z":"b"},"metadata":{"resourceVersion":"1"}}`}, ""},
		{"delete", recorded[3], []string{"Store DELETE " + one + "?dryRun=All "}, ""},
		{"dry run", dry, nil, "a watch and a dry run"},
	} {
		all, why := Variants(test.j)
		if (test.why == "") != (why == "") || !strings.Contains(why, test.why) {
			t.Errorf("%s: why there are none: %q", test.name, why)
		}
		var got []string
		for _, v := range all {
			body := strings.NewReplacer("\n", "", " ", "").Replace(string(v.request.Body))
			got = append(got, map[story.Box]string{story.Cacher: "cacher", story.Store: "Store"}[v.Box]+
				" "+v.request.Method+" "+v.request.URI()+" "+body)
		}
		if strings.Join(got, "\n") != strings.Join(test.want, "\n") {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
