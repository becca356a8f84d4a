package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// talkative is a definition whose schema has much to say about small objects: defaults within a list, and maps below which fields are
// unknown or may not be null.
func talkative(group string) *apiextensionsv1.CustomResourceDefinition {
	crd := cronTab(group)
	props := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
	text, item := apiextensionsv1.JSONSchemaProps{Type: "string"}, map[string]apiextensionsv1.JSONSchemaProps{}
	for i := range 300 {
		p := text
		p.Default = &apiextensionsv1.JSON{Raw: fmt.Appendf(nil, "%q", strings.Repeat("x", 1000))}
		item[fmt.Sprintf("p%d", i)] = p
	}
	props["l"] = apiextensionsv1.JSONSchemaProps{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{
		Type: "object", Default: &apiextensionsv1.JSON{Raw: []byte("{}")}, Properties: item,
	}}}
	props["known"] = apiextensionsv1.JSONSchemaProps{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{
		Allows: true, Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"a": text}},
	}}
	props["strings"] = apiextensionsv1.JSONSchemaProps{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{
		Allows: true, Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &text}},
	}}
	return crd
}

// TestTextsAreBounded sends requests about which steps have as much to say as a body allows. Each says a bounded part of it, and a request
// that a limit refuses has no step that says what was not done.
func TestTextsAreBounded(t *testing.T) {
	t.Parallel()
	r := start(t, tokens(t, `groups,many,1,"`+each(200, func(i int) string { return fmt.Sprintf("g%d", i) })+"\"\n"))
	ns := r.namespace(t, "texts")
	crd := talkative("texts.example.com")
	r.define(t, crd)
	defer r.undefine(t, crd.Name)
	tabs := "/apis/texts.example.com/v1/namespaces/" + ns + "/crontabs"
	maps := "/api/v1/namespaces/" + ns + "/configmaps"
	tab := func(more string) string {
		return `{"apiVersion":"texts.example.com/v1","kind":"CronTab","metadata":{"generateName":"a"},` + more + `}`
	}
	long := strings.Repeat("k", 8<<10)
	fields := func(n int, value string) string {
		return "{" + each(n, func(i int) string { return fmt.Sprintf(`"n%06d":%s`, i, value) }) + "}"
	}
	applied := func(value string) string {
		return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":` + fields(500, value) + `}`
	}
	parameters := strings.ReplaceAll(each(3000, func(i int) string { return fmt.Sprintf("p%d=1", i) }), ",", "&")
	unknown, nulls := `"known":{"`+long+`":`+fields(3000, "1")+`}`, `"strings":{"`+long+`":`+fields(3000, "null")+`}`
	const dropsUnknown, dropsNulls = "unknown fields dropped, in all 3000: ", "nulls dropped where the schema allows none, in all 3000: "
	post := "Content-Type: application/json"
	apply := "Content-Type: application/apply-patch+yaml"
	defaults := tab(`"l":[` + each(50_000, func(int) string { return "{}" }) + `]`)
	for _, tt := range []struct {
		what, method, path, body string
		headers                  []string
		code                     int
		id                       steps.ID
		says                     string // empty if the step gives no reason
	}{
		{"defaults above the limit", "POST", tabs, defaults, []string{post}, 413, steps.CRDDefault, ""},
		{"the same unrecorded", "POST", tabs, defaults, []string{post, "Kx-Trace: off"}, 413, 0, ""},
		{"defaults", "POST", tabs, tab(`"l":[{},{}]`), []string{post}, 201, steps.CRDDefault, "defaults set, in all 600: l[0].p0, l[0].p1, "},
		{"unknown fields", "POST", tabs, tab(unknown), []string{post}, 201, steps.CRDPrune, dropsUnknown},
		{"unknown fields, strict", "POST", tabs + "?fieldValidation=Strict", tab(unknown), []string{post}, 400, steps.CRDPrune, dropsUnknown},
		{"nulls", "POST", tabs, tab(nulls), []string{post}, 201, steps.CRDPrune, dropsNulls},
		{"an apply", "PATCH", maps + "/a?fieldManager=one", applied(`"a"`), []string{apply}, 201, steps.HandlerApply, ""},
		{"conflicts", "PATCH", maps + "/a?fieldManager=two", applied(`"b"`), []string{apply}, 409, steps.HandlerApply, "data.n000000"},
		{"moves", "PATCH", maps + "/a?fieldManager=two&force=true", applied(`"b"`), []string{apply}, 200, steps.HandlerApply, "data.n000000"},
		{"a query", "GET", maps + "?" + parameters, "", nil, 200, steps.HandlerOptions, "p0"},
		{"groups", "GET", maps, "", []string{"Authorization: Bearer groups"}, 403, steps.FilterAuthorization, "no binding of many, groups g0"},
		{"impersonated groups", "GET", maps, "", []string{"Impersonate-User: x", "Impersonate-Group: " + long}, 403, steps.FilterImpersonation, ""},
	} {
		client := r.httpClient(t)
		if strings.HasPrefix(strings.Join(tt.headers, ""), "Authorization") {
			client = r.tokenClient(t, "groups")
		}
		res, data := ask(t, client, tt.method, r.URL+tt.path, strings.NewReader(tt.body), tt.headers...)
		if res.StatusCode != tt.code || tt.code >= 400 && len(data) > 600<<10 {
			t.Errorf("%s: %s, %d bytes: %.300s", tt.what, res.Status, len(data), data)
			continue
		}
		if tt.id == 0 {
			if id := res.Header.Get("Kx-Journey"); id != "" {
				t.Errorf("%s: it has the journey %s", tt.what, id)
			}
			continue
		}
		r.saysLittle(t, tt.what, res, tt.id, tt.says)
	}
}

// saysLittle checks all steps of a request, and how the reason of one of them begins.
func (r *running) saysLittle(t *testing.T, what string, res *http.Response, id steps.ID, says string) {
	t.Helper()
	taken := r.journeyOf(t, res.Header.Get("Kx-Journey")).Status.Steps
	found := false
	for i := range taken {
		s := &taken[i]
		attributes := map[string]int{}
		for _, a := range s.Attributes {
			attributes[a.Name]++
		}
		for name, n := range attributes {
			if n > trace.MaxAttrs {
				t.Errorf("%s: %s has %d attributes %s", what, s.ID, n, name)
			}
		}
		if commas, marks := strings.Count(s.Why, ", "), strings.Count(s.Why, "; "); commas+marks > 4*trace.MaxListed {
			t.Errorf("%s: %s lists %d and %d: %s", what, s.ID, commas, marks, s.Why)
		}
		if text, err := json.Marshal(s); err != nil || len(text) > 64<<10 {
			t.Errorf("%s: %s has %d bytes, %v", what, s.ID, len(text), err)
		}
		if s.ID == id.String() {
			found = found || says == "" && s.Error != "" && s.Why == "" || says != "" && strings.Contains(s.Why, says) ||
				says == "" && s.Error == ""
		}
	}
	if !found {
		t.Errorf("%s: no %s says %q: %s", what, id, says, taken[len(taken)-1].Why)
	}
}
