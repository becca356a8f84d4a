package customresource_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/server/peertest"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

// converted has two versions that a webhook converts: spec.size of v1 is spec.length of v2. v1 is stored.
const converted = `
metadata: {name: crontabs.stable.example.com}
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crontabs, singular: crontab, kind: CronTab, listKind: CronTabList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    selectableFields: [{jsonPath: .spec.color}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer}
              color: {type: string, default: grey}
          status: {type: object, properties: {size: {type: integer}}}
  - name: v2
    served: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.length, statusReplicasPath: .status.length}}
    selectableFields: [{jsonPath: .spec.length}]
    additionalPrinterColumns: [{name: Length, type: integer, jsonPath: .spec.length}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              length: {type: integer, maximum: 100}
              color: {type: string}
              unit: {type: string, default: m}
          status: {type: object, properties: {length: {type: integer}}}
status:
  storedVersions: [v1]
`

// rename is the webhook. It leaves a label, refuses objects that say so, and adds a field that v2 does not know.
func rename(obj *unstructured.Unstructured, to string) error {
	from, name := "length", "size"
	if to == "stable.example.com/v2" {
		from, name = name, from
	}
	for _, part := range []string{"spec", "status"} {
		m, _ := obj.Object[part].(map[string]any)
		if m["color"] == "broken" {
			return errors.New("this one can't be converted")
		}
		if value, ok := m[from]; ok {
			m[name] = value
			delete(m, from)
		}
		if m != nil {
			m["surprise"] = true
		}
	}
	labels := obj.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["in"] = strings.TrimPrefix(to, "stable.example.com/")
	obj.SetLabels(labels)
	return nil
}

// withWebhook serves the definition with a webhook.
func withWebhook(t testing.TB, changes ...func(*apiextensionsv1.CustomResourceDefinition)) (*testServer, *peertest.Webhook) {
	t.Helper()
	hook := peertest.NewWebhook(t, rename)
	return serve(t, definition(t, converted, append(changes, uses(hook))...)), hook
}

func uses(hook *peertest.Webhook) func(*apiextensionsv1.CustomResourceDefinition) {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
			Strategy: apiextensionsv1.WebhookConverter,
			Webhook:  &apiextensionsv1.WebhookConversion{ClientConfig: hook.ClientConfig(), ConversionReviewVersions: []string{"v1"}},
		}
	}
}

// called is how many objects each call had since the last time.
func called(hook *peertest.Webhook) string {
	var sizes []string
	for _, call := range hook.Calls() {
		sizes = append(sizes, fmt.Sprintf("%d→%s", call.Objects, strings.TrimPrefix(call.To, "stable.example.com/")))
	}
	return strings.Join(sizes, " ")
}

func names(t testing.TB, list *answer) string {
	t.Helper()
	var out []string
	for _, item := range list.at(t, "items").([]any) {
		out = append(out, item.(map[string]any)["metadata"].(map[string]any)["name"].(string))
	}
	return strings.Join(out, " ")
}

func TestVersionsWithAWebhook(t *testing.T) { eachStorage(t, testVersionsWithAWebhook) }

func testVersionsWithAWebhook(t *testing.T) {
	s, hook := withWebhook(t)
	check := func(what, want string) {
		t.Helper()
		if got := called(hook); got != want {
			t.Errorf("%s: want calls %q, got %q", what, want, got)
		}
	}
	s.send(t, "POST", path("v1", ""), crontab("v1", "a", `{"size":1}`)).want(t, 201)
	s.send(t, "GET", path("v1", "/a"), "").want(t, 200)
	check("the storage version", "")

	created := s.send(t, "POST", path("v2", ""), crontab("v2", "b", `{"length":2}`)).want(t, 201)
	check("create", "1→v1 1→v2")
	// unit is v2's default, which v1 does not know; color is v1's, set when it was read from the storage.
	if diff := cmp.Diff(map[string]any{"length": 2.0, "color": "grey"}, created.at(t, "spec")); diff != "" {
		t.Error(diff)
	}
	if stored := s.stored(t, "b"); !strings.Contains(stored, `"spec":{"size":2}`) || !strings.Contains(stored, `"apiVersion":"stable.example.com/v1"`) {
		t.Errorf("stored %s", stored)
	}
	got := s.send(t, "GET", path("v2", "/a"), "").want(t, 200)
	check("get", "1→v2")
	if got.at(t, "spec", "length") != 1.0 || got.at(t, "spec", "surprise") != nil || got.at(t, "metadata", "labels", "in") != "v2" || got.at(t, "metadata", "generation") != 1.0 {
		t.Errorf("got %s", got.body)
	}
	list := s.send(t, "GET", path("v2", ""), "").want(t, 200)
	check("list", "2→v2")
	if names(t, list) != "a b" || list.at(t, "apiVersion") != "stable.example.com/v2" || strings.Contains(list.body, `"size"`) {
		t.Errorf("got %s", list.body)
	}
	if table := s.send(t, "GET", path("v2", ""), "", "Accept", "application/json;as=Table;g=meta.k8s.io;v=v1").want(t, 200); !strings.Contains(table.body, `"cells":["b",2]`) {
		t.Errorf("got %s", table.body)
	}
	check("table", "2→v2")
	patched := s.send(t, "PATCH", path("v2", "/a"), `{"spec":{"length":5}}`, "Content-Type", "application/merge-patch+json").want(t, 200)
	check("patch", "1→v2 1→v1 1→v2")
	if patched.at(t, "spec", "length") != 5.0 || patched.at(t, "metadata", "generation") != 2.0 {
		t.Errorf("got %s", patched.body)
	}
	refused := s.send(t, "PATCH", path("v2", "/a"), `{"spec":{"length":500}}`, "Content-Type", "application/merge-patch+json").want(t, 422)
	check("a patch that is not valid", "1→v2")
	if !strings.Contains(refused.body, "should be less than or equal to 100") {
		t.Errorf("got %s", refused.body)
	}
	if scaled := s.send(t, "PATCH", path("v2", "/a/scale"), `{"spec":{"replicas":7}}`, "Content-Type", "application/merge-patch+json").want(t, 200); scaled.at(t, "spec", "replicas") != 7.0 {
		t.Errorf("got %s", scaled.body)
	}
	if !strings.Contains(s.stored(t, "a"), `"size":7`) {
		t.Errorf("stored %s", s.stored(t, "a"))
	}
	status := s.send(t, "PATCH", path("v2", "/a/status"), `{"status":{"length":6}}`, "Content-Type", "application/merge-patch+json").want(t, 200)
	if status.at(t, "status", "length") != 6.0 || !strings.Contains(s.stored(t, "a"), `"status":{"size":6}`) {
		t.Errorf("got %s, stored %s", status.body, s.stored(t, "a"))
	}
	called(hook)
	dry := s.send(t, "POST", path("v2", "?dryRun=All"), crontab("v2", "c", `{"length":3}`)).want(t, 201)
	check("a dry run goes the same way", "1→v1 1→v2")
	if dry.at(t, "spec", "length") != 3.0 || dry.at(t, "apiVersion") != "stable.example.com/v2" {
		t.Errorf("got %s", dry.body)
	}
	options := `{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"` + status.at(t, "metadata", "uid").(string) + `"}}`
	s.send(t, "DELETE", path("v2", "/a"), options).want(t, 200)
	check("delete", "1→v2 1→v2")
	s.send(t, "GET", path("v1", "/a"), "").want(t, 404)
	s.send(t, "DELETE", path("v2", ""), "").want(t, 200)
	if list := s.send(t, "GET", path("v1", ""), "").want(t, 200); names(t, list) != "" {
		t.Errorf("left %s", list.body)
	}
}

func TestSelectorsOfAConvertedVersion(t *testing.T) { eachStorage(t, testSelectorsOfAConvertedVersion) }

func testSelectorsOfAConvertedVersion(t *testing.T) {
	s, hook := withWebhook(t)
	for i := range 10 {
		s.send(t, "POST", path("v1", ""), crontab("v1", fmt.Sprintf("n%d", i), fmt.Sprintf(`{"size":%d}`, i%3))).want(t, 201)
	}
	get := func(query string) *answer {
		return s.send(t, "GET", path("v2", "?"+query), "").want(t, 200)
	}
	if list := get("fieldSelector=" + url.QueryEscape("spec.length=1")); names(t, list) != "n1 n4 n7" {
		t.Errorf("got %s", names(t, list))
	}
	if got := called(hook); got != "10→v2" {
		t.Errorf("one call a list, got %s", got)
	}
	// The label is one that the webhook sets: it is on no stored object.
	if list := get("labelSelector=in%3Dv2"); names(t, list) != "n0 n1 n2 n3 n4 n5 n6 n7 n8 n9" {
		t.Errorf("got %s", names(t, list))
	}
	if list := get("fieldSelector=metadata.name%3Dn3"); names(t, list) != "n3" {
		t.Errorf("got %s", names(t, list))
	}
	called(hook)
	s.send(t, "GET", path("v2", "?fieldSelector=spec.color%3Dgrey"), "").want(t, 400)

	// Page by page, however the pages fall.
	for limit := 1; limit <= 5; limit++ {
		var got []string
		next, revision := "", ""
		for {
			list := get(fmt.Sprintf("fieldSelector=%s&limit=%d&continue=%s", url.QueryEscape("spec.length!=0"), limit, next))
			got = append(got, names(t, list))
			if rv := list.at(t, "metadata", "resourceVersion").(string); revision != "" && rv != revision {
				t.Errorf("limit %d: the revision moved from %s to %s", limit, revision, rv)
			} else {
				revision = rv
			}
			if list.at(t, "metadata", "remainingItemCount") != nil {
				t.Errorf("nobody can know how many are left: %s", list.body)
			}
			if next, _ = list.at(t, "metadata", "continue").(string); next == "" {
				break
			}
			if n := len(strings.Fields(names(t, list))); n != limit {
				t.Errorf("limit %d: a page of %d", limit, n)
			}
		}
		if all := strings.Join(strings.Fields(strings.Join(got, " ")), " "); all != "n1 n2 n4 n5 n7 n8" {
			t.Errorf("limit %d: got %s", limit, all)
		}
		// Across namespaces the token has to know the namespace too.
		first := s.send(t, "GET", fmt.Sprintf("/apis/stable.example.com/v2/crontabs?labelSelector=in&limit=%d", limit), "").want(t, 200)
		second := s.send(t, "GET", fmt.Sprintf("/apis/stable.example.com/v2/crontabs?labelSelector=in&continue=%s", first.at(t, "metadata", "continue")), "").want(t, 200)
		if n := len(strings.Fields(names(t, first) + " " + names(t, second))); n != 10 {
			t.Errorf("limit %d: %d objects of all namespaces", limit, n)
		}
	}
}

func TestAWebhookThatFails(t *testing.T) { eachStorage(t, testAWebhookThatFails) }

func testAWebhookThatFails(t *testing.T) {
	s, hook := withWebhook(t)
	other, _ := withWebhook(t)
	s.send(t, "POST", path("v1", ""), crontab("v1", "a", `{"size":1}`)).want(t, 201)
	other.send(t, "POST", path("v1", ""), crontab("v1", "a", `{"size":1}`)).want(t, 201)
	w := s.watch(t, path("v2", "?watch=1"))
	w.want("ADDED v2 a 1")

	// One object that can't be converted fails what it is part of, and nothing else.
	s.send(t, "POST", path("v1", ""), crontab("v1", "b", `{"size":1,"color":"broken"}`)).want(t, 201)
	const why = "failed: this one can't be converted"
	for _, tc := range []struct{ method, at, body, want string }{
		{"GET", "/b", "", "Internal error occurred: conversion webhook for stable.example.com/v1, Kind=CronTab " + why},
		{"GET", "", "", "Internal error occurred: conversion webhook for stable.example.com/v1, Kind=CronTab " + why},
		{"PATCH", "/b", `{"spec":{"length":2}}`, "Internal error occurred: conversion webhook for stable.example.com/v1, Kind=CronTab " + why},
		{"DELETE", "/b", "", "Internal error occurred: conversion webhook for stable.example.com/v1, Kind=CronTab " + why},
		{"POST", "", crontab("v2", "c", `{"color":"broken"}`), "conversion webhook for stable.example.com/v2, Kind=CronTab " + why},
	} {
		got := s.send(t, tc.method, path("v2", tc.at), tc.body, "Content-Type", map[string]string{"PATCH": "application/merge-patch+json"}[tc.method]).want(t, 500)
		if got.at(t, "message") != tc.want {
			t.Errorf("%s %s: got %s", tc.method, tc.at, got.body)
		}
	}
	event, _ := w.next()
	status, _ := event["object"].(map[string]any)
	if event["type"] != "ERROR" || status["code"] != 500.0 || !strings.Contains(status["message"].(string), why) {
		t.Errorf("the watch went on with %v", event)
	}
	if end, _ := w.next(); end != nil {
		t.Errorf("and then %v", end)
	}
	s.send(t, "GET", path("v2", "/a"), "").want(t, 200)
	if list := s.send(t, "GET", path("v1", ""), "").want(t, 200); names(t, list) != "a b" {
		t.Errorf("nothing is to be lost: %s", list.body)
	}

	hook.Server.Close()
	for _, at := range []string{"/a", ""} {
		if got := s.send(t, "GET", path("v2", at), "").want(t, 500); !strings.Contains(got.body, "failed: Post") {
			t.Errorf("got %s", got.body)
		}
	}
	s.send(t, "GET", path("v1", "/a"), "").want(t, 200)
	s.send(t, "PATCH", path("v1", "/a"), `{"spec":{"size":4}}`, "Content-Type", "application/merge-patch+json").want(t, 200)
	other.send(t, "GET", path("v2", "/a"), "").want(t, 200)
}

// TestAWebhookThatIsSlow is given up with its request.
func TestAWebhookThatIsSlow(t *testing.T) {
	s, hook := withWebhook(t)
	s.send(t, "POST", path("v1", ""), crontab("v1", "a", `{"size":1}`)).want(t, 201)
	asked, given := make(chan struct{}), make(chan struct{})
	hook.Reply(func(http.ResponseWriter, *http.Request) {
		close(asked)
		<-given // an answer that comes while the call is given up would win sometimes
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	client := s.resource.Versions["v2"].Storage.CustomResource
	_, err := client.List(ctx, nil)
	if err == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("got %v", err)
	}
	close(given)
}

// TestStoredInSeveralVersions is a definition whose storage version has changed.
func TestStoredInSeveralVersions(t *testing.T) { eachStorage(t, testStoredInSeveralVersions) }

func testStoredInSeveralVersions(t *testing.T) {
	hook := peertest.NewWebhook(t, rename)
	prefix := embedtest.Prefix()
	before := serveAt(t, definition(t, converted, uses(hook)), prefix)
	for _, name := range []string{"a", "b", "c"} {
		before.send(t, "POST", path("v1", ""), crontab("v1", name, `{"size":1}`)).want(t, 201)
	}
	change := func(stored ...string) func(*apiextensionsv1.CustomResourceDefinition) {
		return func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions[0].Storage, crd.Spec.Versions[1].Storage = false, true
			crd.Status.StoredVersions = stored
		}
	}
	after := serveAt(t, definition(t, converted, uses(hook), change("v1", "v2")), prefix)
	after.send(t, "POST", path("v2", ""), crontab("v2", "d", `{"length":4}`)).want(t, 201)
	if got := called(hook); got != "" {
		t.Errorf("v2 is the storage version now, got %s", got)
	}
	list := after.send(t, "GET", path("v2", ""), "").want(t, 200)
	if got := called(hook); got != "3→v2" || names(t, list) != "a b c d" || strings.Contains(list.body, "stable.example.com/v1") {
		t.Errorf("calls %s, got %s", got, list.body)
	}
	list = after.send(t, "GET", path("v1", ""), "").want(t, 200)
	if got := called(hook); got != "1→v1" || names(t, list) != "a b c d" || strings.Contains(list.body, "stable.example.com/v2") {
		t.Errorf("calls %s, got %s", got, list.body)
	}
	// An update that changes nothing writes an object in the storage version: that is how to migrate.
	for _, name := range []string{"a", "b"} {
		after.send(t, "PATCH", path("v2", "/"+name), `{}`, "Content-Type", "application/merge-patch+json").want(t, 200)
	}
	if stored := after.stored(t, "a"); !strings.Contains(stored, "stable.example.com/v2") {
		t.Errorf("stored %s", stored)
	}
	called(hook)
	// Who says too early that v1 is gone still gets what is right, if not in one call.
	early := serveAt(t, definition(t, converted, uses(hook), change("v2")), prefix)
	list = early.send(t, "GET", path("v2", ""), "").want(t, 200)
	if got := called(hook); got == "" || names(t, list) != "a b c d" || strings.Contains(list.body, "stable.example.com/v1") {
		t.Errorf("calls %s, got %s", got, list.body)
	}
}

func TestJourneyOfAConversion(t *testing.T) {
	s, _ := withWebhook(t)
	s.send(t, "POST", path("v1", ""), crontab("v1", "a", `{"size":1}`)).want(t, 201)
	taken := s.journey()
	s.send(t, "GET", path("v2", "/a"), "").want(t, 200)
	var got []string
	for _, step := range taken() {
		got = append(got, step.ID.String())
	}
	want := []string{"store.get", "dryrun.get", "etcd3.get", "crd.convert", "crd.webhook", "crd.prune"}
	i := 0
	for _, id := range got {
		if i < len(want) && id == want[i] {
			i++
		}
	}
	if i < len(want) {
		t.Errorf("want %v among %v", want, got)
	}
	if info := steps.CRDConvert.Info(); info.Layer != steps.LayerStore {
		t.Errorf("got %+v", info)
	}
}
