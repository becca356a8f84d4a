package customresource_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/kx-apiserver/kx/server/crd/conversion"
	"github.com/kx-apiserver/kx/server/crd/customresource"
)

func TestVerbs(t *testing.T) {
	s := serve(t, definition(t, crontabs))
	created := s.send(t, "POST", path("v1", ""), crontab("v1", "a", `{"cronSpec":"x","replicas":2}`)).want(t, 201)
	if created.at(t, "spec", "image") != "busybox" || created.at(t, "metadata", "generation") != 1.0 || created.at(t, "metadata", "uid") == nil {
		t.Errorf("got %s", created.body)
	}
	s.send(t, "POST", path("v1", ""), crontab("v1", "a", `{"cronSpec":"x"}`)).want(t, 409)
	got := s.send(t, "GET", path("v1", "/a"), "").want(t, 200)
	if diff := cmp.Diff(created.object(t), got.object(t)); diff != "" {
		t.Error(diff)
	}
	generated := s.send(t, "POST", path("v1", ""), `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"generateName":"b-"},"spec":{"cronSpec":"y"}}`).want(t, 201)
	if name := generated.at(t, "metadata", "name").(string); !strings.HasPrefix(name, "b-") || len(name) != 7 {
		t.Errorf("generated %s", name)
	}
	list := s.send(t, "GET", path("v1", ""), "").want(t, 200)
	if items := list.at(t, "items").([]any); len(items) != 2 || list.at(t, "kind") != "CronTabList" || list.at(t, "apiVersion") != "stable.example.com/v1" {
		t.Errorf("got %s", list.body)
	}
	rv := got.at(t, "metadata", "resourceVersion").(string)
	put := `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"a","resourceVersion":"` + rv + `"},"spec":{"cronSpec":"z"}}`
	updated := s.send(t, "PUT", path("v1", "/a"), put).want(t, 200)
	if updated.at(t, "metadata", "generation") != 2.0 || updated.at(t, "spec", "cronSpec") != "z" || updated.at(t, "spec", "replicas") != nil {
		t.Errorf("got %s", updated.body)
	}
	s.send(t, "PUT", path("v1", "/a"), put).want(t, 409)
	withoutVersion := s.send(t, "PUT", path("v1", "/a"), crontab("v1", "a", `{"cronSpec":"z"}`)).want(t, 422)
	if want := `crontabs.stable.example.com "a" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`; withoutVersion.at(t, "message") != want {
		t.Errorf("got %s", withoutVersion.body)
	}
	merged := s.send(t, "PATCH", path("v1", "/a"), `{"spec":{"replicas":3}}`, "Content-Type", "application/merge-patch+json").want(t, 200)
	jsonPatched := s.send(t, "PATCH", path("v1", "/a"), `[{"op":"replace","path":"/spec/replicas","value":4}]`, "Content-Type", "application/json-patch+json").want(t, 200)
	if merged.at(t, "spec", "replicas") != 3.0 || jsonPatched.at(t, "spec", "replicas") != 4.0 || jsonPatched.at(t, "metadata", "generation") != 4.0 {
		t.Errorf("got %s and %s", merged.body, jsonPatched.body)
	}
	s.send(t, "PATCH", path("v1", "/a"), `{"spec":{"replicas":3}}`, "Content-Type", "application/strategic-merge-patch+json").want(t, 415)
	dry := s.send(t, "PATCH", path("v1", "/a")+"?dryRun=All", `{"spec":{"replicas":5}}`, "Content-Type", "application/merge-patch+json").want(t, 200)
	if dry.at(t, "spec", "replicas") != 5.0 || s.send(t, "GET", path("v1", "/a"), "").at(t, "spec", "replicas") != 4.0 {
		t.Errorf("dry run: %s", dry.body)
	}
	s.send(t, "DELETE", path("v1", "/a"), "").want(t, 200)
	s.send(t, "GET", path("v1", "/a"), "").want(t, 404)
	s.send(t, "DELETE", path("v1", ""), "").want(t, 200)
	if items := s.send(t, "GET", path("v1", ""), "").at(t, "items").([]any); len(items) != 0 {
		t.Errorf("%d objects are left", len(items))
	}
}

func TestFinalizersKeepAnObjectAndWarn(t *testing.T) {
	s := serve(t, definition(t, crontabs))
	body := `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"a","finalizers":["me","example.com/ok","orphan","a.b"]},"spec":{"cronSpec":"x"}}`
	created := s.send(t, "POST", path("v1", ""), body).want(t, 201)
	want := []string{
		`metadata.finalizers: "a.b": prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers`,
		`metadata.finalizers: "me": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers`,
	}
	if diff := cmp.Diff(want, created.warnings); diff != "" {
		t.Error(diff)
	}
	deleting := s.send(t, "DELETE", path("v1", "/a"), "").want(t, 200)
	if deleting.at(t, "metadata", "deletionTimestamp") == nil {
		t.Errorf("got %s", deleting.body)
	}
	patched := s.send(t, "PATCH", path("v1", "/a"), `{"metadata":{"finalizers":null}}`, "Content-Type", "application/merge-patch+json").want(t, 200)
	if len(patched.warnings) != 0 {
		t.Errorf("warned of %v", patched.warnings)
	}
	s.send(t, "GET", path("v1", "/a"), "").want(t, 404)
}

func TestWhatLiesOnDisk(t *testing.T) {
	s := serve(t, definition(t, crontabs))
	body := `{"spec":{"cronSpec":"<x>","replicas":1,"unknown":1},"kind":"CronTab","metadata":{"name":"a","resourceVersion":"","junk":1},"apiVersion":"stable.example.com/v1"}`
	created := s.send(t, "POST", path("v1", ""), body).want(t, 201)
	want := `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"creationTimestamp":"` +
		created.at(t, "metadata", "creationTimestamp").(string) + `","generation":1,"name":"a","namespace":"default","uid":"` +
		created.at(t, "metadata", "uid").(string) + `"},"spec":{"cronSpec":"\u003cx\u003e","image":"busybox","replicas":1}}` + "\n"
	if got := s.stored(t, "a"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestWhatWasStored reads what older definitions, other servers and hands have left in etcd.
func TestWhatWasStored(t *testing.T) {
	s := serve(t, definition(t, crontabs))
	s.put(t, "a", `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"a","namespace":"default","uid":"u","labels":5,"junk":1},"spec":{"cronSpec":"x","gone":1,"image":null,"suspend":null},"more":1}`)
	got := s.send(t, "GET", path("v1", "/a"), "").want(t, 200).object(t)
	delete(got["metadata"].(map[string]any), "resourceVersion")
	want := map[string]any{
		"apiVersion": "stable.example.com/v1", "kind": "CronTab",
		"metadata": map[string]any{"name": "a", "namespace": "default", "uid": "u", "generation": 1.0},
		"spec":     map[string]any{"cronSpec": "x", "image": "busybox"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// CBOR: d9d9f7, a map of four.
	cbor := "\xd9\xd9\xf7\xa4" + "\x4aapiVersion" + "\x55stable.example.com/v1" + "\x44kind" + "\x47CronTab" +
		"\x48metadata" + "\xa2\x44name\x41b\x49namespace\x47default" + "\x44spec" + "\xa1\x48cronSpec\x41x"
	s.put(t, "b", cbor)
	b := s.send(t, "GET", path("v1", "/b"), "").want(t, 200)
	if b.at(t, "spec", "cronSpec") != "x" || b.at(t, "spec", "image") != "busybox" || b.at(t, "metadata", "name") != "b" {
		t.Errorf("got %s", b.body)
	}
	for name, value := range map[string]string{
		"other version": `{"apiVersion":"stable.example.com/v9","kind":"CronTab","metadata":{"name":"c","namespace":"default"}}`,
		"no kind":       `{"apiVersion":"stable.example.com/v1","metadata":{"name":"c","namespace":"default"}}`,
		"garbage":       `{`,
		"null":          `null`,
	} {
		s.put(t, "c", value)
		s.send(t, "GET", path("v1", "/c"), "").want(t, 500)
		if t.Failed() {
			t.Fatal(name)
		}
	}
	s.send(t, "DELETE", path("v1", "/c"), `{"apiVersion":"v1","kind":"DeleteOptions"}`).want(t, 500)
}

func TestVersionsWithoutConversion(t *testing.T) {
	s := serve(t, definition(t, crontabs))
	s.send(t, "POST", path("v1", ""), crontab("v1", "a", `{"cronSpec":"x"}`)).want(t, 201)
	s.send(t, "POST", path("v1beta1", ""), crontab("v1beta1", "b", `{"cronSpec":"y"}`)).want(t, 201)
	if got := s.stored(t, "b"); !strings.Contains(got, `"apiVersion":"stable.example.com/v1",`) {
		t.Errorf("stored as %s", got)
	}
	for _, version := range []string{"v1", "v1beta1"} {
		list := s.send(t, "GET", path(version, "?labelSelector=!x"), "").want(t, 200)
		items := list.at(t, "items").([]any)
		if len(items) != 2 || list.at(t, "apiVersion") != "stable.example.com/"+version {
			t.Fatalf("got %s", list.body)
		}
		for _, item := range items {
			if item.(map[string]any)["apiVersion"] != "stable.example.com/"+version {
				t.Errorf("in %s: %v", version, item)
			}
		}
	}
	a := s.send(t, "GET", path("v1beta1", "/a"), "").want(t, 200)
	rv := a.at(t, "metadata", "resourceVersion").(string)
	put := strings.Replace(crontab("v1beta1", "a", `{"cronSpec":"z"}`), `"name":"a"`, `"name":"a","resourceVersion":"`+rv+`"`, 1)
	if updated := s.send(t, "PUT", path("v1beta1", "/a"), put).want(t, 200); updated.at(t, "apiVersion") != "stable.example.com/v1beta1" || updated.at(t, "metadata", "generation") != 2.0 {
		t.Errorf("got %s", updated.body)
	}
	deleted := s.send(t, "DELETE", path("v1beta1", "/a"), "").want(t, 200)
	if deleted.at(t, "status") != "Success" {
		t.Errorf("got %s", deleted.body)
	}
	s.send(t, "DELETE", path("v1beta1", ""), "").want(t, 200)
}

func TestDeprecation(t *testing.T) {
	text := "use something else"
	for _, tc := range []struct {
		change func(*apiextensionsv1.CustomResourceDefinition)
		want   string
	}{
		{func(*apiextensionsv1.CustomResourceDefinition) {}, "stable.example.com/v1beta1 CronTab is deprecated; use stable.example.com/v1 CronTab"},
		{func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[1].DeprecationWarning = &text }, text},
		{func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Deprecated = true }, "stable.example.com/v1beta1 CronTab is deprecated"},
	} {
		s := serve(t, definition(t, crontabs, tc.change))
		if got := s.resource.Versions["v1beta1"].DeprecationWarning; got != tc.want {
			t.Errorf("want %q, got %q", tc.want, got)
		}
	}
}

func TestCategoriesAndShortNames(t *testing.T) {
	s := serve(t, definition(t, crontabs))
	rest := s.resource.Versions["v1"].Storage.CustomResource
	if !reflect.DeepEqual(rest.Categories(), []string{"all"}) || !reflect.DeepEqual(rest.ShortNames(), []string{"ct"}) || rest.GetSingularName() != "crontab" {
		t.Errorf("%v, %v, %v", rest.Categories(), rest.ShortNames(), rest.GetSingularName())
	}
}

func TestVersionsThatAreNotServed(t *testing.T) {
	crd := definition(t, crontabs, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions[0].Served = false
		crd.Spec.Versions[1].Served = false
	})
	s := serve(t, crd)
	if v := s.resource.Versions; len(v) != 1 || v["v1"] == nil || v["v1"].Served {
		t.Errorf("got %v", v)
	}
}

func TestDefinitionsThatCanNotBeServed(t *testing.T) {
	converters, err := conversion.NewFactory(nil, nil)
	must(t, err)
	for want, change := range map[string]func(*apiextensionsv1.CustomResourceDefinition){
		"status.acceptedNames must have": func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Status.AcceptedNames.Kind = "" },
		"storage version":                func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Storage = false },
		"unknown conversion strategy":    func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Conversion.Strategy = "x" },
	} {
		_, err := customresource.New(customresource.Config{
			Definition: definition(t, crontabs, change), Options: options{t, "/x"}, Conversion: converters,
		})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "crontabs.stable.example.com") {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestClusterScope(t *testing.T) {
	s := serve(t, definition(t, crontabs, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Scope = apiextensionsv1.ClusterScoped
	}))
	const at = "/apis/stable.example.com/v1/crontabs"
	created := s.send(t, http.MethodPost, at, crontab("v1", "a", `{"cronSpec":"x"}`)).want(t, 201)
	if created.at(t, "metadata", "namespace") != nil {
		t.Errorf("got %s", created.body)
	}
	s.send(t, "GET", at+"?fieldSelector=metadata.namespace%3Dx", "").want(t, 400)
	if list := s.send(t, "GET", at+"?fieldSelector=metadata.name%3Da", "").want(t, 200); len(list.at(t, "items").([]any)) != 1 {
		t.Errorf("got %s", list.body)
	}
	s.send(t, "DELETE", at+"/a", "").want(t, 200)
}

func FuzzBody(f *testing.F) {
	s := serve(f, definition(f, crontabs))
	f.Add([]byte(crontab("v1", "a", `{"cronSpec":"x","replicas":-1,"template":{"kind":1},"anything":[null]}`)), "application/json")
	f.Add([]byte("apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata: {name: a, labels: 5}\nspec: {cronSpec: 1e9}\n"), "application/yaml")
	f.Add([]byte(`{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":[],"spec":null}`), "application/json")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		if contentType != "application/json" && contentType != "application/yaml" {
			return // another media type is refused before it is read
		}
		for _, version := range []string{"v1", "v1beta1"} {
			got := s.send(t, "POST", path(version, "?dryRun=All"), string(body), "Content-Type", contentType)
			if got.code >= 500 || !json.Valid([]byte(got.body)) {
				t.Errorf("%d: %s", got.code, got.body)
			}
		}
	})
}
