package handler_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/server/handler"
)

const (
	jsonPatch      = "application/json-patch+json"
	mergePatch     = "application/merge-patch+json"
	strategicPatch = "application/strategic-merge-patch+json"
	applyPatch     = "application/apply-patch+yaml"
)

func patch(t *testing.T, f *front, path, patchType, body string) (code int, header http.Header, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, f.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", patchType)
	res, err := f.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, strings.TrimSuffix(string(data), "\n")
}

const cmPath = "/api/v1/namespaces/default/configmaps/a"

func TestPatchConfigMap(t *testing.T) {
	object := func(rest string) string {
		return `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"default","uid":"uid-a","resourceVersion":"2"}` + rest + `}`
	}
	failure := func(code int, reason, message, more string) string {
		return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%s,"reason":%q,%s"code":%d}`, message, reason, more, code)
	}
	const (
		patched    = `{\"apiVersion\":\"v1\",\"data\":{\"k\":\"v\",\"n\":1},\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\":\"default\",\"uid\":\"uid-a\",\"resourceVersion\":\"1\"}}`
		rejected   = `"the server rejected our request due to an error in our request"`
		types      = `"the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json"`
		namespaces = `"the namespace of the provided object does not match the namespace sent on the request"`
	)
	for _, tc := range []struct {
		name, query, patchType, body string
		code                         int
		want                         string
		warning                      string
	}{
		{name: "merge", patchType: mergePatch, body: `{"data":{"k":null,"n":"1"}}`, code: 200, want: object(`,"data":{"n":"1"}`)},
		{name: "merge with a charset", patchType: mergePatch + "; charset=utf-8", body: `{"data":{"n":"1"}}`, code: 200, want: object(`,"data":{"k":"v","n":"1"}`)},
		{name: "JSON", patchType: jsonPatch, body: `[{"op":"test","path":"/data/k","value":"v"},{"op":"replace","path":"/data/k","value":"w"}]`, code: 200, want: object(`,"data":{"k":"w"}`)},
		{name: "strategic", patchType: strategicPatch, body: `{"data":{"k":null,"n":"1"}}`, code: 200, want: object(`,"data":{"n":"1"}`)},
		{name: "the resourceVersion it has", patchType: mergePatch, body: `{"metadata":{"resourceVersion":"1"},"data":{"k":"w"}}`, code: 200, want: object(`,"data":{"k":"w"}`)},
		{name: "apiVersion and kind taken away", patchType: mergePatch, body: `{"kind":null,"apiVersion":null,"data":null}`, code: 200, want: object("")},

		{name: "unknown field", patchType: mergePatch, body: `{"dota":{}}`, code: 200, want: object(`,"data":{"k":"v"}`), warning: `unknown field "dota"`},
		{name: "unknown field, strategic", patchType: strategicPatch, body: `{"dota":{}}`, code: 200, want: object(`,"data":{"k":"v"}`), warning: `unknown field "dota"`},
		{name: "unknown field ignored", query: "?fieldValidation=Ignore", patchType: mergePatch, body: `{"dota":{}}`, code: 200, want: object(`,"data":{"k":"v"}`)},
		{name: "duplicate field", patchType: mergePatch, body: `{"data":{"k":"1","k":"2"}}`, code: 200, want: object(`,"data":{"k":"2"}`), warning: `duplicate field "data.k"`},
		{name: "duplicate field of an operation", patchType: jsonPatch, body: `[{"op":"add","path":"/data/n","value":"1","value":"2"}]`, code: 200, want: object(`,"data":{"k":"v","n":"2"}`), warning: `json patch duplicate field "[0].value"`},
		{
			name: "unknown field refused", query: "?fieldValidation=Strict", patchType: mergePatch, body: `{"n":1,"data":{"n":"1"}}`, code: 422,
			want: failure(422, "Invalid", `" \"\" is invalid: patch: Invalid value: \"{\\\"apiVersion\\\":\\\"v1\\\",\\\"data\\\":{\\\"k\\\":\\\"v\\\",\\\"n\\\":\\\"1\\\"},\\\"kind\\\":\\\"ConfigMap\\\",\\\"metadata\\\":{\\\"name\\\":\\\"a\\\",\\\"namespace\\\":\\\"default\\\",\\\"uid\\\":\\\"uid-a\\\",\\\"resourceVersion\\\":\\\"1\\\"},\\\"n\\\":1}\": strict decoding error: unknown field \"n\""`,
				`"details":{"causes":[{"reason":"FieldValueInvalid","message":"Invalid value: \"{\\\"apiVersion\\\":\\\"v1\\\",\\\"data\\\":{\\\"k\\\":\\\"v\\\",\\\"n\\\":\\\"1\\\"},\\\"kind\\\":\\\"ConfigMap\\\",\\\"metadata\\\":{\\\"name\\\":\\\"a\\\",\\\"namespace\\\":\\\"default\\\",\\\"uid\\\":\\\"uid-a\\\",\\\"resourceVersion\\\":\\\"1\\\"},\\\"n\\\":1}\": strict decoding error: unknown field \"n\"","field":"patch"}]},`),
		},
		{
			name: "unknown field refused, strategic", query: "?fieldValidation=Strict", patchType: strategicPatch, body: `{"n":1}`, code: 422,
			want: failure(422, "Invalid", `" \"\" is invalid: patch: Invalid value: \"map[n:1]\": strict decoding error: unknown field \"n\""`,
				`"details":{"causes":[{"reason":"FieldValueInvalid","message":"Invalid value: \"map[n:1]\": strict decoding error: unknown field \"n\"","field":"patch"}]},`),
		},

		{name: "apply", patchType: applyPatch, body: `{}`, code: 415, want: failure(415, "UnsupportedMediaType", types, "")},
		{name: "no type", patchType: "", body: `{}`, code: 415, want: failure(415, "UnsupportedMediaType", types, "")},
		{name: "no JSON", patchType: mergePatch, body: `{"data"`, code: 400, want: failure(400, "BadRequest", `"invalid JSON patch"`, "")},
		{name: "not an object", patchType: mergePatch, body: `"data"`, code: 400, want: failure(400, "BadRequest", `"error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}"`, "")},
		{name: "null", patchType: mergePatch, body: `null`, code: 400, want: failure(400, "BadRequest", `"Invalid JSON Patch"`, "")},
		{name: "no list", patchType: jsonPatch, body: `{}`, code: 400, want: failure(400, "BadRequest", `"error decoding patch: json: cannot unmarshal object into Go value of type []handler_test.jsonPatchOp"`, "")},
		{name: "failed test", patchType: jsonPatch, body: `[{"op":"test","path":"/data/k","value":"w"}]`, code: 422, want: failure(422, "Invalid", rejected, `"details":{},`)},
		{name: "missing path", patchType: jsonPatch, body: `[{"op":"remove","path":"/data/n"}]`, code: 422, want: failure(422, "Invalid", rejected, `"details":{},`)},
		{name: "no value", patchType: jsonPatch, body: `[{"op":"replace","path":""}]`, code: 422, want: failure(422, "Invalid", rejected, `"details":{},`)},
		{name: "unknown operation", patchType: jsonPatch, body: `[{"op":"ruin","path":"/data"}]`, code: 422, want: failure(422, "Invalid", rejected, `"details":{},`)},
		{
			name: "wrong type", patchType: mergePatch, body: `{"data":{"n":1}}`, code: 422,
			want: failure(422, "Invalid", `" \"\" is invalid: patch: Invalid value: \"`+strings.ReplaceAll(patched, `\`, `\\\`)+`\": json: cannot unmarshal number into Go struct field ConfigMap.data of type string"`,
				`"details":{"causes":[{"reason":"FieldValueInvalid","message":"Invalid value: \"`+strings.ReplaceAll(patched, `\`, `\\\`)+`\": json: cannot unmarshal number into Go struct field ConfigMap.data of type string","field":"patch"}]},`),
		},
		{name: "bad strategic directive", patchType: strategicPatch, body: `{"$patch":"ruin"}`, code: 400, want: failure(400, "BadRequest", `"unknown patch type: ruin in map: map[$patch:ruin]"`, "")},
		{name: "conflict", patchType: mergePatch, body: `{"metadata":{"resourceVersion":"7"}}`, code: 409, want: failure(409, "Conflict", `"Operation cannot be fulfilled on things \"a\": the object has been modified"`, `"details":{"name":"a","kind":"things"},`)},
		{name: "another name", patchType: mergePatch, body: `{"metadata":{"name":"b"}}`, code: 400, want: failure(400, "BadRequest", `"the name of the object (b) does not match the name on the URL (a)"`, "")},
		{name: "another namespace", patchType: mergePatch, body: `{"metadata":{"namespace":"b"}}`, code: 400, want: failure(400, "BadRequest", namespaces, "")},
		{name: "force", query: "?force=true", patchType: mergePatch, body: `{}`, code: 422, want: failure(422, "Invalid", `"PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be specified for non-apply patch"`,
			`"details":{"group":"meta.k8s.io","kind":"PatchOptions","causes":[{"reason":"FieldValueForbidden","message":"Forbidden: may not be specified for non-apply patch","field":"force"}]},`)},
		{name: "not found", query: "x", patchType: mergePatch, body: `{}`, code: 404, want: failure(404, "NotFound", `"configmaps \"ax\" not found"`, `"details":{"name":"ax","kind":"configmaps"},`)},
		{name: "too many operations", patchType: jsonPatch, body: "[" + strings.Repeat(`{"op":"test","path":"/data/k","value":"v"},`, 10000) + `{"op":"test","path":"/data/k","value":"v"}]`, code: 413,
			want: failure(413, "RequestEntityTooLarge", `"Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"`, "")},
		{name: "too much work", patchType: jsonPatch, body: `[{"op":"add","path":"/x","value":[` + strings.Repeat("1,", 200_000) + `1]}` +
			strings.Repeat(`,{"op":"add","path":"/x/0","value":1}`, 1999) + "]", code: 413,
			want: failure(413, "RequestEntityTooLarge", `"Request entity too large: 1999 operations on elements of lists of up to 202000 elements are too much work for one JSON patch, where as many operations may make lists of 150075 elements: send several patches"`, "")},
		{name: "too large", patchType: mergePatch, body: strings.Repeat(" ", 3<<20+1), code: 413, want: failure(413, "RequestEntityTooLarge", `"Request entity too large: limit is 3145728"`, "")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newConfigMaps()
			f := newFront(t, m, "configmaps", "ConfigMap")
			m.put(configMap("a", "k", "v"))
			code, header, answer := patch(t, f, cmPath+tc.query, tc.patchType, tc.body)
			if code != tc.code || answer != strings.ReplaceAll(tc.want, "handler_test.", "handler.") {
				t.Errorf("\ngot  %d %s\nwant %d %s", code, answer, tc.code, tc.want)
			}
			if got := strings.Join(header.Values("Warning"), ", "); got != tc.warning {
				t.Errorf("warning %q; want %q", got, tc.warning)
			}
			if changed := m.rv > 1; changed != (tc.code == 200) {
				t.Errorf("stored: %v", changed)
			}
		})
	}
}

// TestPatchStrategic: lists are merged by their keys.
func TestPatchStrategic(t *testing.T) {
	m := newMemory(func() runtime.Object { return &corev1.Pod{} }, func() runtime.Object { return &corev1.PodList{} })
	f := newFront(t, m, "pods", "Pod")
	m.put(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", Finalizers: []string{"x/y"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "one", Image: "one:1"}, {Name: "two", Image: "two:1"}, {Name: "three"}}},
	})
	body := `{"metadata":{"finalizers":["z/z"]},"spec":{"containers":[{"name":"two","image":"two:2"},{"name":"three","$patch":"delete"}]}}`
	code, _, answer := patch(t, f, "/api/v1/namespaces/default/pods/a", strategicPatch, body)
	var pod corev1.Pod
	if err := json.Unmarshal([]byte(answer), &pod); err != nil || code != 200 {
		t.Fatalf("%d %s: %v", code, answer, err)
	}
	var got []string
	for _, c := range pod.Spec.Containers {
		got = append(got, c.Name+"="+c.Image)
	}
	got = append(got, pod.Finalizers...)
	if strings.Join(got, " ") != "one=one:1 two=two:2 z/z x/y" {
		t.Errorf("got %q", got)
	}
	// A list of the wrong kind is the patch's fault.
	if code, _, answer := patch(t, f, "/api/v1/namespaces/default/pods/a", strategicPatch, `{"spec":{"containers":{"name":"x"}}}`); code != 422 {
		t.Errorf("%d %s", code, answer)
	}
}

// TestPatchDryRun: the answer is as if, the object as it was.
func TestPatchDryRun(t *testing.T) {
	m := newConfigMaps()
	f := newFront(t, m, "configmaps", "ConfigMap")
	m.put(configMap("a", "k", "v"))
	code, _, answer := patch(t, f, cmPath+"?dryRun=All", mergePatch, `{"data":{"k":"w"}}`)
	if code != 200 || !strings.Contains(answer, `"k":"w"`) || m.rv != 1 {
		t.Errorf("%d %s at %d", code, answer, m.rv)
	}
	if code, _, answer := patch(t, f, cmPath+"?dryRun=Some", mergePatch, `{}`); code != 422 || !strings.Contains(answer, `dryRun: Unsupported value`) {
		t.Errorf("%d %s", code, answer)
	}
}

// TestPatchRetries: a patch that does not say of which state it is, is applied to the state there is when it is stored.
func TestPatchRetries(t *testing.T) {
	m := newConfigMaps()
	f := newFront(t, m, "configmaps", "ConfigMap")
	m.put(configMap("a", "k", "v"))
	m.between = func() { m.put(configMap("a", "k", "v", "other", "1")) }
	code, _, answer := patch(t, f, cmPath, mergePatch, `{"data":{"k":"w"}}`)
	want := `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"default","uid":"uid-a","resourceVersion":"3"},"data":{"k":"w","other":"1"}}`
	if code != 200 || answer != want {
		t.Errorf("\ngot  %d %s\nwant %s", code, answer, want)
	}
	f.Close()
	walk := recorded(f, steps.HandlerApplyPatch)
	if len(walk) != 2 || walk[0].Why != "" || !strings.HasPrefix(walk[1].Why, "attempt 2: ") {
		t.Errorf("steps %+v", walk)
	}
	if walk[0].Subject != mergePatch || !bytes.Contains(walk[1].Before, []byte(`"other":"1"`)) || !bytes.Contains(walk[1].After, []byte(`"k":"w"`)) {
		t.Errorf("step %+v", walk[1])
	}
}

// TestPatchSecret: what a patch puts into a secret is in no trace, whether it succeeds or not.
func TestPatchSecret(t *testing.T) {
	m := newMemory(func() runtime.Object { return &corev1.Secret{} }, func() runtime.Object { return &corev1.SecretList{} })
	f := newFront(t, m, "secrets", "Secret")
	m.put(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Data: map[string][]byte{"k": []byte("hush")}})
	const path = "/api/v1/namespaces/default/secrets/a"
	for _, tc := range []struct {
		query, patchType, body string
		code                   int
	}{
		{"", mergePatch, `{"data":{"k":"aHVzaA=="}}`, 200},
		{"", strategicPatch, `{"data":{"k":"aHVzaA=="}}`, 200},
		{"", strategicPatch, `{"$patch":"ruin","data":{"k":"hush"}}`, 400},
		{"", jsonPatch, `[{"op":"add","path":"/data/n","value":"aHVzaA=="}]`, 200},
		{"", jsonPatch, `[{"op":"test","path":"/data/n","value":"hush!"}]`, 422},
		{"?fieldValidation=Strict", mergePatch, `{"x":"hush"}`, 422},
		{"?fieldValidation=Strict", strategicPatch, `{"x":"hush"}`, 422},
		{"?fieldValidation=Strict", jsonPatch, `[{"op":"add","path":"/x","value":"hush"}]`, 422},
	} {
		if code, _, answer := patch(t, f, path+tc.query, tc.patchType, tc.body); code != tc.code {
			t.Errorf("%s: %d %s", tc.body, code, answer)
		}
	}
	f.Close()
	journeys, _ := f.recorder.List()
	for _, j := range journeys {
		record := j.Journey.Record()
		for _, s := range record.Steps {
			if text := fmt.Sprintf("%+v %s %s", s, s.Before, s.After); strings.Contains(text, "hush") || strings.Contains(text, "aHVzaA==") {
				t.Errorf("%s knows the secret: %s", s.ID, text)
			}
		}
	}
	if len(journeys) != 8 {
		t.Errorf("%d journeys", len(journeys))
	}
}

// TestPatchCopies: copies can't blow an object up.
func TestPatchCopies(t *testing.T) {
	m := newConfigMaps()
	f := newFront(t, m, "configmaps", "ConfigMap")
	m.put(configMap("a", "k", strings.Repeat("x", 1000)))
	var ops []string
	for i := range 100 {
		ops = append(ops, fmt.Sprintf(`{"op":"copy","from":"/data","path":"/data/c%d"}`, i))
	}
	if code, _, answer := patch(t, f, cmPath, jsonPatch, "["+strings.Join(ops, ",")+"]"); code != 422 || !strings.Contains(answer, "rejected our request") {
		t.Errorf("%d %.300s", code, answer)
	}
}

// TestPatchTypes: a resource without Go types has no strategic merge patch.
func TestPatchTypes(t *testing.T) {
	m := newConfigMaps()
	f := newFront(t, m, "configmaps", "ConfigMap")
	f.patchTypes = handler.PatchTypes(false)
	m.put(configMap("a"))
	code, _, answer := patch(t, f, cmPath, strategicPatch, `{}`)
	if code != 415 || !strings.Contains(answer, `include: application/json-patch+json, application/merge-patch+json"`) {
		t.Errorf("%d %s", code, answer)
	}
}

func FuzzPatch(f *testing.F) {
	types := []string{jsonPatch, mergePatch, strategicPatch}
	for _, body := range []string{
		`{}`, `null`, `[]`, `"x"`, `{"spec":{"containers":[{"name":"two","$patch":"delete"}]}}`, `{"$patch":"replace"}`, `{"$retainKeys":["a"],"spec":null}`,
		`{"spec":{"$setElementOrder/containers":[{"name":"two"}],"containers":[{"name":"one","ports":[{"containerPort":1}]}]}}`,
		`{"spec":{"$deleteFromPrimitiveList/x":["a"]}}`, `{"metadata":{"name":null}}`, `{"metadata":null}`, `{"kind":"Secret"}`, `{"apiVersion":"x/v1"}`,
		`[{"op":"copy","from":"","path":"/metadata/x"}]`, `[{"op":"add","path":"/spec/containers/-","value":null}]`, `[{"op":"replace","path":"","value":[]}]`,
		`[{"op":"remove","path":"/spec/containers/-1"}]`, `[null]`, `[{"op":1}]`, `[{"op":"test","path":"/metadata","value":null}]`, `[{"op":"move","from":"/spec","path":"/spec/containers/0"}]`,
	} {
		for i := range types {
			f.Add(uint8(i), body)
		}
	}
	m := newMemory(func() runtime.Object { return &corev1.Pod{} }, func() runtime.Object { return &corev1.PodList{} })
	server := newFront(f, m, "pods", "Pod")
	m.put(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", Labels: map[string]string{"k": "v"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "one", Image: "one:1"}, {Name: "two"}}},
	})
	f.Fuzz(func(t *testing.T, i uint8, body string) {
		req := httptest.NewRequest(http.MethodPatch, "/api/v1/namespaces/default/pods/a?dryRun=All", strings.NewReader(body))
		req.Header.Set("Content-Type", types[int(i)%len(types)])
		w := httptest.NewRecorder()
		server.Config.Handler.ServeHTTP(w, req)
		if w.Code >= 500 {
			t.Fatalf("%s %q: %d %s", req.Header.Get("Content-Type"), body, w.Code, w.Body)
		}
	})
}
