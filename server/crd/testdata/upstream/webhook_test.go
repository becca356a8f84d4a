package upstream

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kx-apiserver/kx/server/internal/crdtest"
	"github.com/kx-apiserver/kx/server/internal/wiretest"
	"github.com/kx-apiserver/kx/server/peertest"
)

// lamps are stored in v1, where watts are what v2 calls power. Their webhook is put in.
const lamps = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"lamps.example.com"},"spec":{
"group":"example.com","scope":"Namespaced","names":{"plural":"lamps","singular":"lamp","kind":"Lamp","listKind":"LampList"},
"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":%q,"caBundle":%q}}},
"versions":[
 {"name":"v1","served":true,"storage":%t,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.watts","statusReplicasPath":".status.watts"}},
  "selectableFields":[{"jsonPath":".spec.color"}],
  "schema":{"openAPIV3Schema":{"type":"object","properties":{
   "spec":{"type":"object","properties":{"watts":{"type":"integer"},"color":{"type":"string","default":"white"}}},
   "status":{"type":"object","properties":{"watts":{"type":"integer"}}}}}}},
 {"name":"v2","served":true,"storage":%t,"deprecated":true,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.power","statusReplicasPath":".status.power"}},
  "selectableFields":[{"jsonPath":".spec.power"}],"additionalPrinterColumns":[{"name":"Power","type":"integer","jsonPath":".spec.power"}],
  "schema":{"openAPIV3Schema":{"type":"object","properties":{
   "spec":{"type":"object","properties":{"power":{"type":"integer","maximum":100},"color":{"type":"string"},"unit":{"type":"string","default":"W"}}},
   "status":{"type":"object","properties":{"power":{"type":"integer"}}}}}}}]}}`

// renameWatts is the webhook. It also leaves a label and a field that no version knows.
func renameWatts(obj *unstructured.Unstructured, to string) error {
	from, name := "power", "watts"
	if to == "example.com/v2" {
		from, name = name, from
	}
	for _, part := range []string{"spec", "status"} {
		m, _ := obj.Object[part].(map[string]any)
		if m["color"] == "broken" {
			return errors.New("no such lamp")
		}
		if value, ok := m[from]; ok {
			m[name] = value
			delete(m, from)
		}
	}
	if spec, ok := obj.Object["spec"].(map[string]any); ok {
		spec["surprise"] = 1
	}
	labels := obj.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["seen-in"] = strings.TrimPrefix(to, "example.com/")
	obj.SetLabels(labels)
	return nil
}

const (
	v1Lamps = "/apis/example.com/v1/namespaces/default/lamps"
	v2Lamps = "/apis/example.com/v2/namespaces/default/lamps"
	table   = "\nAccept: application/json;as=Table;g=meta.k8s.io;v=v1"
	merge   = "\nContent-Type: application/merge-patch+json"
	apply   = "\nContent-Type: application/apply-patch+yaml"
)

func lamp(version, name, rest string) string {
	return `{"apiVersion":"example.com/` + version + `","kind":"Lamp","metadata":{"name":"` + name + `"}` + rest + `}`
}

// conversions are the requests, in order. Lists and watches with an object that can't be converted are not among them: a
// list is one conversion here, whose error can't name a key, and upstream's watch cache has nothing more to say.
var conversions = []string{
	"POST " + v1Lamps + "?fieldManager=m\n\n" + lamp("v1", "a", `,"spec":{"watts":1},"status":{"watts":9}`),
	"POST " + v2Lamps + "?fieldManager=m\n\n" + lamp("v2", "b", `,"spec":{"power":2,"surprise":2}`),
	"POST " + v2Lamps + "?fieldManager=m&dryRun=All\n\n" + lamp("v2", "c", `,"spec":{"power":3}`),
	"POST " + v2Lamps + "\n\n" + lamp("v1", "c", ``),
	"POST " + v2Lamps + "\n\n" + lamp("v2", "c", `,"spec":{"power":101}`),
	"POST " + v2Lamps + "\n\n" + lamp("v2", "c", `,"spec":{"color":"broken"}`),
	"GET " + v1Lamps + "/b",
	"GET " + v2Lamps + "/a",
	"GET " + v2Lamps + "/none",
	"GET " + v2Lamps,
	"GET " + v2Lamps + table,
	"GET " + v2Lamps + "?fieldSelector=spec.power%3D2",
	"GET " + v2Lamps + "?fieldSelector=spec.power%3D2&limit=1",
	"GET " + v2Lamps + "?fieldSelector=spec.color%3Dwhite",
	"GET " + v2Lamps + "?labelSelector=seen-in%3Dv2&limit=1",
	"GET " + v2Lamps + "?labelSelector=seen-in%3Dv2&limit=1&continue={continue}",
	"GET " + v2Lamps + "?limit=1",
	"GET " + v2Lamps + "?limit=1&continue={continue}",
	"PUT " + v2Lamps + "/a?fieldManager=n\n\n" + lamp("v2", "a", `,"spec":{"power":7}`),
	"GET " + v2Lamps + "/a",
	"PUT " + v2Lamps + "/a?fieldManager=n\n\n" + `{"apiVersion":"example.com/v2","kind":"Lamp","metadata":{"name":"a","resourceVersion":"{resourceVersion}"},"spec":{"power":7}}`,
	"PATCH " + v2Lamps + "/a?fieldManager=m" + merge + "\n\n" + `{"spec":{"power":8}}`,
	"PATCH " + v2Lamps + "/a?fieldManager=m" + merge + "\n\n" + `{"spec":{"power":108}}`,
	"PATCH " + v2Lamps + "/a?fieldManager=m&dryRun=All" + merge + "\n\n" + `{"spec":{"power":9}}`,
	"PATCH " + v2Lamps + "/a/status?fieldManager=m" + merge + "\n\n" + `{"spec":{"power":1},"status":{"power":5}}`,
	"GET " + v2Lamps + "/a/scale",
	"PATCH " + v2Lamps + "/a/scale?fieldManager=s" + merge + "\n\n" + `{"spec":{"replicas":12}}`,
	"GET " + v1Lamps + "/a",
	"PATCH " + v2Lamps + "/a?fieldManager=ann" + apply + "\n\n" + lamp("v2", "a", `,"spec":{"power":13}`),
	"PATCH " + v2Lamps + "/a?fieldManager=ann&force=true" + apply + "\n\n" + lamp("v2", "a", `,"spec":{"power":13}`),
	"PATCH " + v1Lamps + "/a?fieldManager=bob" + apply + "\n\n" + lamp("v1", "a", `,"spec":{"watts":14}`),
	"PATCH " + v1Lamps + "/a?fieldManager=ann" + apply + "\n\n" + lamp("v1", "a", `,"spec":{"color":"red"}`),
	"PATCH " + v2Lamps + "/d?fieldManager=ann" + apply + "\n\n" + lamp("v2", "d", `,"spec":{"power":4}`),
	"GET " + v2Lamps + "?watch=1&timeoutSeconds=1",
	"GET " + v2Lamps + "?watch=1&timeoutSeconds=1&fieldSelector=spec.power%3D2",
	"DELETE " + v2Lamps + "/b\n\n" + `{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"x"}}`,
	"DELETE " + v2Lamps + "/b",
	"POST " + v1Lamps + "?fieldManager=m\n\n" + lamp("v1", "broken", `,"spec":{"color":"broken"}`),
	"GET " + v2Lamps + "/broken",
	"GET " + v2Lamps + "/a",
	"DELETE " + v2Lamps + "/broken",
	"DELETE " + v1Lamps + "/broken",
	"DELETE " + v2Lamps,
	"GET " + v2Lamps,
}

// spoiled are ways to answer wrongly.
var spoiled = map[string]func(*apiextensionsv1.ConversionReview){
	"another name": func(r *apiextensionsv1.ConversionReview) {
		r.Response.ConvertedObjects[0].Object.(*unstructured.Unstructured).SetName("z")
	},
	"another version": func(r *apiextensionsv1.ConversionReview) {
		r.Response.ConvertedObjects[0].Object.(*unstructured.Unstructured).SetAPIVersion("example.com/v3")
	},
	"too few": func(r *apiextensionsv1.ConversionReview) { r.Response.ConvertedObjects = nil },
	"failure": func(r *apiextensionsv1.ConversionReview) {
		r.Response.Result = metav1.Status{Status: metav1.StatusFailure}
	},
	"nothing": func(r *apiextensionsv1.ConversionReview) { r.Response = nil },
	"a kind": func(r *apiextensionsv1.ConversionReview) {
		r.Response.ConvertedObjects[0].Object.(*unstructured.Unstructured).SetKind("X")
	},
	"metadata": func(r *apiextensionsv1.ConversionReview) {
		delete(r.Response.ConvertedObjects[0].Object.(*unstructured.Unstructured).Object, "metadata")
	},
}

// corrupt is what upstream calls an object that can't be converted. To kx only the version is to blame.
var corrupt = regexp.MustCompile(`StorageError: corrupt object, Code: 7, Key: [^,]*, ResourceVersion: 0, AdditionalErrorMsg: object not decodable revision=\d+: `)

// TestConversion asks both for objects whose versions a webhook converts. It is the same webhook for both.
func TestConversion(t *testing.T) {
	up, kx := startUpstream(t), startKX(t)
	hook := peertest.NewWebhook(t, renameWatts)
	config := hook.ClientConfig()
	define := func(v1IsStored bool) string {
		return fmt.Sprintf(strings.ReplaceAll(lamps, "\n", ""), *config.URL, base64.StdEncoding.EncodeToString(config.CABundle), v1IsStored, !v1IsStored)
	}
	compare := func(what, ask string) {
		t.Helper()
		want := whenFilled(func() string { return up.Ask(t, ask) })
		// kx quotes nothing of what is no conversion: who knows who answered in the webhook's place.
		want = strings.ReplaceAll(want, ` failed: no"`, ` failed: 403 Forbidden"`)
		want, got := corrupt.ReplaceAllString(want, ""), kx.Ask(t, ask)
		if want != got {
			t.Errorf("%s\n%s\n-upstream +kx\n%s", what, ask, cmp.Diff(want, got))
		}
	}
	for _, c := range []*wiretest.Client{up, kx} {
		c.Ask(t, "POST "+crdtest.Collection+"\n\n"+define(true))
		crdtest.Wait(t, c, "lamps.example.com", "Established=True")
		crdtest.Wire(t, c, waitFor(v2Lamps))
	}
	for _, ask := range conversions {
		compare("", ask)
	}

	compare("", "POST "+v1Lamps+"?fieldManager=m\n\n"+lamp("v1", "a", `,"spec":{"watts":1}`))
	for what, spoil := range spoiled {
		hook.Spoil(spoil)
		compare(what, "GET "+v2Lamps+"/a")
	}
	hook.Spoil(nil)
	for what, reply := range map[string]http.HandlerFunc{
		"garbage": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"no":      func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) },
	} {
		hook.Reply(reply)
		compare(what, "GET "+v2Lamps+"/a")
	}
	hook.Reply(nil)
	compare("", "GET "+v2Lamps+"/a")

	// Another version is stored from now on, and what was stored before is still there.
	storeV2 := `[{"op":"replace","path":"/spec/versions/0/storage","value":false},{"op":"replace","path":"/spec/versions/1/storage","value":true}]`
	for _, c := range []*wiretest.Client{up, kx} {
		c.Ask(t, "PATCH "+crdtest.Collection+"/lamps.example.com\nContent-Type: application/json-patch+json\n\n"+storeV2)
	}
	// Upstream converts what it creates until its own watch has told it of the change.
	for strings.Contains(up.Ask(t, "POST "+v2Lamps+"?dryRun=All\n\n"+lamp("v2", "c", `,"spec":{"power":2}`)), "seen-in") {
		if t.Context().Err() != nil {
			t.Fatal("upstream goes on storing v1")
		}
	}
	for _, ask := range []string{
		"POST " + v2Lamps + "?fieldManager=m\n\n" + lamp("v2", "b", `,"spec":{"power":2}`),
		"GET " + v2Lamps, "GET " + v1Lamps, "GET " + v2Lamps + table, "GET " + v1Lamps + "/b", "GET " + v2Lamps + "/a",
		"GET " + v2Lamps + "?fieldSelector=spec.power%3D1", "GET " + v1Lamps + "?fieldSelector=spec.color%3Dwhite",
		"PATCH " + v2Lamps + "/a?fieldManager=m" + merge + "\n\n" + `{"spec":{"power":3}}`,
		"GET " + v1Lamps + "?watch=1&timeoutSeconds=1",
		"DELETE " + v1Lamps, "GET " + v2Lamps,
	} {
		compare("v2 is stored", ask)
	}
}

// waitFor waits until path can be read.
func waitFor(path string) *datadriven.TestData {
	return &datadriven.TestData{Cmd: "wait", Input: path + " served"}
}
