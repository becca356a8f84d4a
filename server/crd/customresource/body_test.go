package customresource_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// TestFieldValidation sends fields that are unknown or come twice.
func TestFieldValidation(t *testing.T) {
	s := serve(t, definition(t, crontabs))
	const (
		body = `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"a","junk":1},"spec":{"cronSpec":"x","cronSpec":"yy","who":1,"anything":{"a":{"b":1}},"template":{"apiVersion":"v1","kind":"Pod","metadata":{"more":1}}},"top":1}`
		yaml = "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata: {name: a}\nspec:\n  cronSpec: x\n  cronSpec: yy\n  who: 1\n"
	)
	unknown := []string{
		`duplicate field "spec.cronSpec"`, `unknown field "metadata.junk"`, `unknown field "spec.who"`, `unknown field "top"`,
		`unknown field "spec.template.metadata.more"`,
	}
	for _, tc := range []struct {
		mode, contentType, body string
		code                    int
		warnings                []string
		message                 string
	}{
		{"Ignore", "application/json", body, 201, nil, ""},
		{"Warn", "application/json", body, 201, unknown, ""},
		{"", "application/json", body, 201, unknown, ""},
		{"Strict", "application/json", body, 400, nil,
			`CronTab in version "v1" cannot be handled as a CronTab: strict decoding error: ` + strings.Join(unknown, ", ")},
		{"Warn", "application/yaml", yaml, 201, []string{`line 6: key "cronSpec" already set in map`, `unknown field "spec.who"`}, ""},
		{"Strict", "application/yaml", yaml, 400, nil,
			`CronTab in version "v1" cannot be handled as a CronTab: strict decoding error: yaml: unmarshal errors:` + "\n" +
				`  line 6: key "cronSpec" already set in map, unknown field "spec.who"`},
	} {
		got := s.send(t, "POST", path("v1", "?dryRun=All&fieldValidation="+tc.mode), tc.body, "Content-Type", tc.contentType).want(t, tc.code)
		if diff := cmp.Diff(tc.warnings, got.warnings); diff != "" {
			t.Errorf("%s %s: %s", tc.mode, tc.contentType, diff)
		}
		if tc.message != "" {
			if diff := cmp.Diff(tc.message, got.at(t, "message")); diff != "" {
				t.Errorf("%s %s: %s", tc.mode, tc.contentType, diff)
			}
			continue
		}
		if got.at(t, "spec", "who") != nil || got.at(t, "top") != nil || got.at(t, "metadata", "junk") != nil || got.at(t, "spec", "cronSpec") != "yy" {
			t.Errorf("%s: not pruned: %s", tc.mode, got.body)
		}
	}
	// A patch is judged by what it leads to.
	s.send(t, "POST", path("v1", ""), crontab("v1", "a", `{"cronSpec":"x"}`)).want(t, 201)
	patched := s.send(t, "PATCH", path("v1", "/a?fieldValidation=Strict"), `{"spec":{"who":1}}`, "Content-Type", "application/merge-patch+json").want(t, 422)
	if !strings.Contains(patched.body, `unknown field \"spec.who\"`) {
		t.Errorf("got %s", patched.body)
	}
}

func TestBodiesThatAreRefused(t *testing.T) {
	s := serve(t, definition(t, crontabs))
	const invalid = `CronTab.stable.example.com "a" is invalid: `
	for _, tc := range []struct {
		what, body string
		code       int
		message    string
	}{
		{"another version", crontab("v1beta1", "a", `{"cronSpec":"x"}`), 400,
			"the API version in the data (stable.example.com/v1beta1) does not match the expected API version (stable.example.com/v1)"},
		{"another group", `{"apiVersion":"other/v1","kind":"CronTab","metadata":{"name":"a"}}`, 400,
			"the API version in the data (other/v1) does not match the expected API version (stable.example.com/v1)"},
		{"another kind", `{"apiVersion":"stable.example.com/v1","kind":"Cron","metadata":{"name":"a"},"spec":{"cronSpec":"x"}}`, 422,
			`Cron.stable.example.com "a" is invalid: kind: Invalid value: "Cron": must be CronTab`},
		{"metadata that is none", `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"a","labels":{"a":1}},"spec":{"cronSpec":"x"}}`, 400,
			`CronTab in version "v1" cannot be handled as a CronTab: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string`},
		{"no name", `{"apiVersion":"stable.example.com/v1","kind":"CronTab","spec":{"cronSpec":"x"}}`, 422,
			`CronTab.stable.example.com "" is invalid: metadata.name: Required value: name or generateName is required`},
		{"a bad name", crontab("v1", "A_", `{"cronSpec":"x"}`), 422,
			`CronTab.stable.example.com "A_" is invalid: metadata.name: Invalid value: "A_": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"the schema", crontab("v1", "a", `{"replicas":11}`), 422,
			invalid + `[spec.replicas: Invalid value: 11: spec.replicas in body should be less than or equal to 10, spec.cronSpec: Required value]`},
		{"a type", crontab("v1", "a", `{"cronSpec":"x","replicas":"many"}`), 422,
			invalid + `[spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string", .spec.replicas: Invalid value: 0: .spec.replicas accessor error: many is of the type string, expected int64]`},
		{"negative replicas", crontab("v1", "a", `{"cronSpec":"x","replicas":-1}`), 422,
			invalid + `[spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0, .spec.replicas: Invalid value: -1: should be a non-negative integer]`},
		{"an embedded resource", crontab("v1", "a", `{"cronSpec":"x","template":{"kind":"Pod"}}`), 422,
			invalid + `spec.template.apiVersion: Required value`},
		{"no JSON", `{`, 400, ``},
		{"a list", `[]`, 400, ``},
	} {
		got := s.send(t, "POST", path("v1", ""), tc.body)
		if got.code != tc.code {
			t.Errorf("%s: want %d, got %d: %s", tc.what, tc.code, got.code, got.body)
		}
		if diff := cmp.Diff(tc.message, got.at(t, "message")); tc.message != "" && diff != "" {
			t.Errorf("%s: %s", tc.what, diff)
		}
	}
}

func TestMediaTypes(t *testing.T) {
	s := serve(t, definition(t, crontabs))
	yaml := "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata: {name: a}\nspec: {cronSpec: x, replicas: 1}\n"
	created := s.send(t, "POST", path("v1", ""), yaml, "Content-Type", "application/yaml", "Accept", "application/yaml").want(t, 201)
	if !strings.Contains(created.body, "\n  image: busybox\n") || created.header.Get("Content-Type") != "application/yaml" {
		t.Errorf("got %s", created.body)
	}
	refused := s.send(t, "GET", path("v1", "/a"), "", "Accept", "application/vnd.kubernetes.protobuf").want(t, 406)
	if !strings.Contains(refused.body, "only the following media types are accepted") {
		t.Errorf("got %s", refused.body)
	}
	s.send(t, "GET", path("v1", "/a"), "", "Accept", "application/vnd.kubernetes.protobuf,application/json").want(t, 200)
	partial := s.send(t, "GET", path("v1", ""), "", "Accept", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1").want(t, 200)
	if !strings.HasPrefix(partial.body, "k8s\x00") || !strings.Contains(partial.body, "PartialObjectMetadataList") {
		t.Errorf("got %q", partial.body)
	}
	s.send(t, "POST", path("v1", ""), "k8s\x00", "Content-Type", "application/vnd.kubernetes.protobuf").want(t, 400)
	missing := s.send(t, "GET", path("v1", "/b"), "").want(t, 404)
	if missing.at(t, "kind") != "Status" || missing.at(t, "apiVersion") != "v1" || missing.at(t, "message") != `crontabs.stable.example.com "b" not found` {
		t.Errorf("got %s", missing.body)
	}
}

func TestStatus(t *testing.T) {
	s := serve(t, definition(t, crontabs))
	withStatus := strings.Replace(crontab("v1", "a", `{"cronSpec":"x"}`), `"spec"`, `"status":{"replicas":7},"spec"`, 1)
	created := s.send(t, "POST", path("v1", ""), withStatus).want(t, 201)
	if created.at(t, "status") != nil {
		t.Errorf("a create wrote the status: %s", created.body)
	}
	const merge = "application/merge-patch+json"
	patched := s.send(t, "PATCH", path("v1", "/a/status"), `{"metadata":{"labels":{"a":"b"}},"spec":{"cronSpec":"z"},"status":{"replicas":3}}`, "Content-Type", merge).want(t, 200)
	if patched.at(t, "status", "replicas") != 3.0 || patched.at(t, "spec", "cronSpec") != "x" || patched.at(t, "metadata", "labels") != nil || patched.at(t, "metadata", "generation") != 1.0 {
		t.Errorf("got %s", patched.body)
	}
	patched = s.send(t, "PATCH", path("v1", "/a"), `{"metadata":{"labels":{"a":"b"}},"status":{"replicas":4}}`, "Content-Type", merge).want(t, 200)
	if patched.at(t, "status", "replicas") != 3.0 || patched.at(t, "metadata", "labels", "a") != "b" || patched.at(t, "metadata", "generation") != 1.0 {
		t.Errorf("got %s", patched.body)
	}
	refused := s.send(t, "PATCH", path("v1", "/a/status"), `{"status":{"replicas":-1}}`, "Content-Type", merge).want(t, 422)
	if want := `CronTab.stable.example.com "a" is invalid: .status.replicas: Invalid value: -1: should be a non-negative integer`; refused.at(t, "message") != want {
		t.Errorf("got %s", refused.body)
	}
	patched = s.send(t, "PATCH", path("v1", "/a/status"), `{"status":null}`, "Content-Type", merge).want(t, 200)
	if patched.at(t, "status") != nil {
		t.Errorf("got %s", patched.body)
	}
	// In v1beta1 there is no status subresource: status is like spec.
	s.send(t, "GET", path("v1beta1", "/a/status"), "").want(t, 404)
	patched = s.send(t, "PATCH", path("v1beta1", "/a"), `{"status":{"replicas":5}}`, "Content-Type", merge).want(t, 200)
	if patched.at(t, "status", "replicas") != 5.0 || patched.at(t, "metadata", "generation") != 2.0 {
		t.Errorf("got %s", patched.body)
	}
	fields := s.resource.Versions["v1"].Storage.CustomResource.GetResetFields()
	if set := fields["stable.example.com/v1"]; len(fields) != 1 || set.String() != ".status" {
		t.Errorf("an update resets %v", fields)
	}
	fields = s.resource.Versions["v1"].Storage.Status.GetResetFields()
	if set := fields["stable.example.com/v1"]; len(fields) != 1 || set.String() != ".metadata\n.spec" {
		t.Errorf("a status update resets %v", fields)
	}
	if fields := s.resource.Versions["v1beta1"].Storage.CustomResource.GetResetFields(); len(fields) != 0 {
		t.Errorf("without a subresource it resets %v", fields)
	}
}

func TestScale(t *testing.T) {
	s := serve(t, definition(t, crontabs))
	const merge = "application/merge-patch+json"
	s.send(t, "POST", path("v1", ""), crontab("v1", "a", `{"cronSpec":"x"}`)).want(t, 201)
	missing := s.send(t, "GET", path("v1", "/a/scale"), "").want(t, 500)
	if want := `Internal error occurred: the spec replicas field ".spec.replicas" does not exist`; missing.at(t, "message") != want {
		t.Errorf("got %s", missing.body)
	}
	empty := s.send(t, "PATCH", path("v1", "/a/scale"), `{"metadata":{"labels":{"a":"b"}}}`, "Content-Type", merge).want(t, 400)
	if want := `the spec replicas field ".spec.replicas" cannot be empty`; empty.at(t, "message") != want {
		t.Errorf("got %s", empty.body)
	}
	scaled := s.send(t, "PATCH", path("v1", "/a/scale"), `{"spec":{"replicas":3}}`, "Content-Type", merge).want(t, 200)
	if scaled.at(t, "kind") != "Scale" || scaled.at(t, "apiVersion") != "autoscaling/v1" || scaled.at(t, "spec", "replicas") != 3.0 {
		t.Errorf("got %s", scaled.body)
	}
	s.send(t, "PATCH", path("v1", "/a/status"), `{"status":{"replicas":2,"labelSelector":"a=b"}}`, "Content-Type", merge).want(t, 200)
	got := s.send(t, "GET", path("v1", "/a/scale"), "").want(t, 200)
	if got.at(t, "status", "replicas") != 2.0 || got.at(t, "status", "selector") != "a=b" || got.at(t, "metadata", "name") != "a" {
		t.Errorf("got %s", got.body)
	}
	if parent := s.send(t, "GET", path("v1", "/a"), ""); parent.at(t, "spec", "replicas") != 3.0 || parent.at(t, "metadata", "generation") != 2.0 {
		t.Errorf("got %s", parent.body)
	}
	rv := got.at(t, "metadata", "resourceVersion").(string)
	put := func(rv, replicas string) string {
		return `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a","namespace":"default","resourceVersion":"` + rv + `"},"spec":{"replicas":` + replicas + `}}`
	}
	if put := s.send(t, "PUT", path("v1", "/a/scale"), put(rv, "5")).want(t, 200); put.at(t, "spec", "replicas") != 5.0 {
		t.Errorf("got %s", put.body)
	}
	s.send(t, "PUT", path("v1", "/a/scale"), put(rv, "6")).want(t, 409)
	if put := s.send(t, "PUT", path("v1", "/a/scale"), put("", "6")).want(t, 200); put.at(t, "spec", "replicas") != 6.0 {
		t.Errorf("got %s", put.body)
	}
	negative := s.send(t, "PUT", path("v1", "/a/scale"), put("", "-1")).want(t, 422)
	if want := `CronTab.stable.example.com "a" is invalid: [spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0, .spec.replicas: Invalid value: -1: should be a non-negative integer]`; negative.at(t, "message") != want {
		t.Errorf("got %s", negative.body)
	}
	table := s.send(t, "GET", path("v1", "/a/scale"), "", "Accept", "application/json;as=Table;g=meta.k8s.io;v=v1").want(t, 200)
	cells := table.at(t, "rows").([]any)[0].(map[string]any)["cells"].([]any)
	if len(cells) != 4 || cells[0] != "a" || cells[1] != 6.0 || cells[2] != 2.0 {
		t.Errorf("got %v", cells)
	}
	s.send(t, "GET", path("v1beta1", "/a/scale"), "").want(t, 404)
}

func TestTables(t *testing.T) {
	s := serve(t, definition(t, crontabs))
	const accept = "application/json;as=Table;g=meta.k8s.io;v=v1"
	s.send(t, "POST", path("v1", ""), crontab("v1", "a", `{"cronSpec":"x","replicas":2,"suspend":true,"tags":["p","q"]}`)).want(t, 201)
	s.send(t, "POST", path("v1", ""), crontab("v1", "b", `{"cronSpec":"y"}`)).want(t, 201)
	s.send(t, "PATCH", path("v1", "/a/status"), `{"status":{"lastRun":"2000-01-01T00:00:00Z"}}`, "Content-Type", "application/merge-patch+json").want(t, 200)
	table := s.send(t, "GET", path("v1", ""), "", "Accept", accept).want(t, 200)
	var columns []string
	for _, c := range table.at(t, "columnDefinitions").([]any) {
		column := c.(map[string]any)
		text := column["name"].(string) + " " + column["type"].(string)
		if column["priority"] != 0.0 {
			text += " wide"
		}
		columns = append(columns, text+": "+column["description"].(string))
	}
	want := []string{
		"Name string: " + columns[0][len("Name string: "):], "Spec string: The schedule",
		"Replicas integer wide: Custom resource definition column (in JSONPath format): .spec.replicas",
		"Suspended boolean: Custom resource definition column (in JSONPath format): .spec.suspend",
		"Last date: Custom resource definition column (in JSONPath format): .status.lastRun",
		"Tags string: Custom resource definition column (in JSONPath format): .spec.tags",
	}
	if diff := cmp.Diff(want, columns); diff != "" {
		t.Error(diff)
	}
	rows := table.at(t, "rows").([]any)
	a, b := rows[0].(map[string]any)["cells"].([]any), rows[1].(map[string]any)["cells"].([]any)
	if last := a[4].(string); !strings.HasSuffix(last, "y") {
		t.Errorf("an age in years is %q", last)
	}
	a[4] = "age"
	if diff := cmp.Diff([]any{"a", "x", 2.0, true, "age", `["p","q"]`}, a); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]any{"b", "y", nil, nil, nil, nil}, b); diff != "" {
		t.Error(diff)
	}
	plain := s.send(t, "GET", path("v1beta1", "/a"), "", "Accept", accept).want(t, 200)
	if columns := plain.at(t, "columnDefinitions").([]any); len(columns) != 2 || columns[1].(map[string]any)["name"] != "Age" {
		t.Errorf("got %s", plain.body)
	}
	broken := serve(t, definition(t, crontabs, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions[0].AdditionalPrinterColumns[1].JSONPath = ".a[" // validation lets none such pass
	}))
	empty := broken.send(t, "GET", path("v1", ""), "", "Accept", accept).want(t, 200)
	if columns := empty.at(t, "columnDefinitions").([]any); len(columns) != 2 {
		t.Errorf("got %s", empty.body)
	}
}

func TestSelectableFields(t *testing.T) {
	s := serve(t, definition(t, crontabs))
	for name, spec := range map[string]string{
		"a": `{"cronSpec":"x","image":"i","replicas":1}`, "b": `{"cronSpec":"x","replicas":2}`, "c": `{"cronSpec":"x"}`,
	} {
		s.send(t, "POST", path("v1", ""), crontab("v1", name, spec)).want(t, 201)
	}
	for selector, want := range map[string]string{
		"spec.image=i": "a", "spec.image!=i": "bc", "spec.image=busybox,spec.replicas=2": "b", "spec.replicas=": "c",
		"metadata.name=b": "b", "metadata.namespace=default,spec.replicas!=1": "bc", "metadata.namespace=other": "",
	} {
		list := s.send(t, "GET", path("v1", "?fieldSelector="+strings.ReplaceAll(selector, "=", "%3D")), "").want(t, 200)
		got := ""
		for _, item := range list.at(t, "items").([]any) {
			got += item.(map[string]any)["metadata"].(map[string]any)["name"].(string)
		}
		if got != want {
			t.Errorf("%s: want %q, got %q", selector, want, got)
		}
	}
	for _, at := range []string{path("v1", "?fieldSelector=spec.cronSpec%3Dx"), path("v1beta1", "?fieldSelector=spec.image%3Dx")} {
		field, _, _ := strings.Cut(at[strings.Index(at, "fieldSelector=")+len("fieldSelector="):], "%3D")
		for _, watch := range []string{"", "&watch=1"} {
			refused := s.send(t, "GET", at+watch, "").want(t, 400)
			if want := "field label not supported: " + field; refused.at(t, "message") != want {
				t.Errorf("got %s", refused.body)
			}
		}
	}
}
