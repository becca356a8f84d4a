package endpoint_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

const configMaps = "/api/v1/namespaces/default/configmaps"

// do sends a request and returns the response with its body. Headers are "Name: value".
func (s *testServer) do(t testing.TB, method, path string, body io.Reader, headers ...string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequest(method, s.URL+path, body)
	must(t, err)
	// A transport that was not asked for gzip would ask for it itself, and hide it.
	req.Header.Set("Accept-Encoding", "identity")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	must(t, err)
	return res, data
}

func (s *testServer) mustDo(t testing.TB, code int, method, path, body string, headers ...string) []byte {
	t.Helper()
	res, data := s.do(t, method, path, strings.NewReader(body), headers...)
	if res.StatusCode != code {
		t.Fatalf("%s %s: want %d, got %s: %s", method, path, code, res.Status, data)
	}
	return data
}

func wantStatus(t testing.TB, res *http.Response, body []byte, code int, reason metav1.StatusReason, message string) metav1.Status {
	t.Helper()
	var status metav1.Status
	must(t, json.Unmarshal(body, &status))
	if res.StatusCode != code || int(status.Code) != code || status.Reason != reason || status.Message != message {
		t.Fatalf("want %d %s %q, got %s: %s", code, reason, message, res.Status, body)
	}
	return status
}

func createConfigMap(t testing.TB, s *testServer, name string, bytes int) {
	t.Helper()
	s.mustDo(t, http.StatusCreated, "POST", configMaps,
		fmt.Sprintf(`{"metadata":{"name":%q},"data":{"d":%q}}`, name, strings.Repeat("x", bytes)))
}

func TestProtobuf(t *testing.T) {
	s := newServer(t)
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	codec := scheme.Codecs.CodecForVersions(info.Serializer, info.Serializer, corev1.SchemeGroupVersion, corev1.SchemeGroupVersion)
	headers := []string{"Content-Type: " + runtime.ContentTypeProtobuf, "Accept: " + runtime.ContentTypeProtobuf}

	sent := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "app"}, Data: map[string]string{"color": "blue"}}
	body, err := runtime.Encode(codec, sent)
	must(t, err)
	res, data := s.do(t, "POST", configMaps, bytes.NewReader(body), headers...)
	if res.StatusCode != http.StatusCreated || res.Header.Get("Content-Type") != runtime.ContentTypeProtobuf {
		t.Fatalf("got %s as %s: %q", res.Status, res.Header.Get("Content-Type"), data)
	}
	got, err := runtime.Decode(codec, data)
	must(t, err)
	cm := got.(*corev1.ConfigMap)
	if cm.Namespace != "default" || cm.UID == "" || cm.ResourceVersion == "" || cm.Data["color"] != "blue" {
		t.Errorf("got %v", cm)
	}
	_, data = s.do(t, "GET", configMaps, nil, headers...)
	got, err = runtime.Decode(codec, data)
	must(t, err)
	if list := got.(*corev1.ConfigMapList); len(list.Items) != 1 || list.Items[0].Name != "app" || list.ResourceVersion == "" {
		t.Errorf("got %v", list)
	}
	// Errors are protobuf as well.
	res, data = s.do(t, "GET", configMaps+"/none", nil, headers...)
	got, err = runtime.Decode(codec, data)
	must(t, err)
	if status := got.(*metav1.Status); res.StatusCode != 404 || status.Reason != metav1.StatusReasonNotFound {
		t.Errorf("got %s: %v", res.Status, status)
	}
}

func TestBodiesHaveALimit(t *testing.T) {
	s := newServer(t)
	body := func() io.Reader {
		return io.MultiReader(strings.NewReader(`{"metadata":{"name":"`), strings.NewReader(strings.Repeat("x", maxBodyBytes)), strings.NewReader(`"}}`))
	}
	const message = "Request entity too large: limit is 3145728"
	for _, method := range []string{"POST", "PUT", "DELETE"} {
		path := configMaps
		if method == "PUT" {
			path += "/app"
		}
		// A reader of unknown length is sent in chunks; the other announces its length.
		res, data := s.do(t, method, path, body())
		wantStatus(t, res, data, http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge, message)
		whole, err := io.ReadAll(body())
		must(t, err)
		res, data = s.do(t, method, path, bytes.NewReader(whole))
		wantStatus(t, res, data, http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge, message)
	}
}

func TestLargeAnswersAreCompressed(t *testing.T) {
	s := newServer(t)
	createConfigMap(t, s, "large", 200<<10)
	createConfigMap(t, s, "small", 1)
	for _, tc := range []struct {
		path, accept string
		compressed   bool
	}{
		{configMaps + "/large", "gzip", true},
		{configMaps + "/large", "deflate, gzip;q=0.5, gzip", true},
		{configMaps + "/large", "identity", false},
		{configMaps + "/small", "gzip", false},
		{configMaps, "gzip", true},
		{configMaps + "?fieldSelector=metadata.name%3Dsmall", "gzip", false},
	} {
		for _, mediaType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeProtobuf} {
			_, plain := s.do(t, "GET", tc.path, nil, "Accept: "+mediaType)
			res, data := s.do(t, "GET", tc.path, nil, "Accept: "+mediaType, "Accept-Encoding: "+tc.accept)
			if got := res.Header.Get("Content-Encoding") == "gzip"; got != tc.compressed {
				t.Errorf("%s as %s to who accepts %q: compressed %v", tc.path, mediaType, tc.accept, got)
				continue
			}
			if !tc.compressed {
				continue
			}
			if res.Header.Get("Vary") != "Accept-Encoding" || len(data) > len(plain)/2 {
				t.Errorf("%s: Vary %q, %d bytes of %d", tc.path, res.Header.Get("Vary"), len(data), len(plain))
			}
			r, err := gzip.NewReader(bytes.NewReader(data))
			must(t, err)
			unzipped, err := io.ReadAll(r)
			must(t, err)
			if !bytes.Equal(unzipped, plain) {
				t.Errorf("%s as %s: the compressed answer is another one", tc.path, mediaType)
			}
		}
	}
}

func TestPeopleGetLines(t *testing.T) {
	s := newServer(t)
	createConfigMap(t, s, "app", 1)
	for _, tc := range []struct {
		query, agent, accept string
		pretty               bool
	}{
		{"", "kubectl/v1.37", "", false},
		{"", "curl/8", "", true},
		{"", "Wget/1", "", true},
		{"", "Mozilla/5.0 (X11)", "", true},
		{"?pretty=false", "curl/8", "", false},
		{"?pretty=1", "kubectl/v1.37", "", true},
		{"", "kubectl/v1.37", "application/json;pretty=1", true},
	} {
		_, data := s.do(t, "GET", configMaps+"/app"+tc.query, nil, "User-Agent: "+tc.agent, "Accept: "+tc.accept)
		if pretty := bytes.Contains(data, []byte("\n  \"kind\"")); pretty != tc.pretty {
			t.Errorf("%+v: got %s", tc, data)
		}
	}
}

func TestTimeIsUp(t *testing.T) {
	s := newServer(t)
	s.within = func(ctx context.Context) context.Context {
		ctx, cancel := context.WithTimeout(ctx, 0)
		defer cancel()
		return ctx
	}
	const read = "Timeout: request did not complete within the allotted timeout"
	const write = "Timeout: request did not complete within requested timeout - context deadline exceeded"
	for _, tc := range []struct{ method, path, body, message string }{
		{"GET", configMaps, "", read},
		{"GET", configMaps + "/app", "", read},
		{"POST", configMaps, `{"metadata":{"name":"app"}}`, write},
		{"PUT", configMaps + "/app", `{"metadata":{"name":"app"}}`, write},
		{"DELETE", configMaps + "/app", "", write},
		{"DELETE", configMaps, "", write},
	} {
		res, data := s.do(t, tc.method, tc.path, strings.NewReader(tc.body))
		wantStatus(t, res, data, http.StatusGatewayTimeout, metav1.StatusReasonTimeout, tc.message)
	}
}

func TestPagesAndCompaction(t *testing.T) {
	s := newServer(t)
	for _, name := range []string{"a", "b", "c"} {
		createConfigMap(t, s, name, 1)
	}
	page := func(query string) *metav1.PartialObjectMetadataList {
		list := &metav1.PartialObjectMetadataList{}
		must(t, json.Unmarshal(s.mustDo(t, 200, "GET", configMaps+query, "", "Accept: application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"), list))
		return list
	}
	first := page("?limit=1")
	if *first.RemainingItemCount != 2 || first.Items[0].Name != "a" {
		t.Fatalf("got %v", first)
	}
	second := page("?limit=1&continue=" + url.QueryEscape(first.Continue))
	if second.Items[0].Name != "b" || second.ResourceVersion != first.ResourceVersion {
		t.Fatalf("got %v", second)
	}

	createConfigMap(t, s, "later", 1)
	now := page("").ResourceVersion
	client := embedtest.Shared(t).Client()
	defer client.Close()
	var revision int64
	_, err := fmt.Sscan(now, &revision)
	must(t, err)
	_, err = client.Compact(t.Context(), revision)
	must(t, err)

	res, data := s.do(t, "GET", configMaps+"?limit=1&continue="+url.QueryEscape(first.Continue), nil)
	status := wantStatus(t, res, data, http.StatusGone, metav1.StatusReasonExpired,
		"The provided continue parameter is too old to display a consistent list result. You can start a new list without "+
			"the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "+
			"Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "+
			"deleted between the time the first chunk was returned and now may show up in the list.")
	rest := page("?continue=" + url.QueryEscape(status.Continue))
	if names := namesOf(rest); !slices.Equal(names, []string{"b", "c", "later"}) {
		t.Errorf("the inconsistent rest is %v", names)
	}
}

func namesOf(list *metav1.PartialObjectMetadataList) (names []string) {
	for _, item := range list.Items {
		names = append(names, item.Name)
	}
	return names
}

// TestJourneys shows which steps the verbs take, and that conversion is one of them exactly when the versions differ.
func TestJourneys(t *testing.T) {
	s := newServer(t, withAdmission(&plugin{}))
	const template = `{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`
	body := func(version string) string {
		return fmt.Sprintf(`{"apiVersion":"apps/%s","kind":"Deployment","metadata":{"name":"web"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":%s}}`, version, template)
	}
	const v1, v1beta1 = "/apis/apps/v1/namespaces/default/deployments", "/apis/apps/v1beta1/namespaces/default/deployments"
	for _, tc := range []struct {
		method, path, body, accept string
		steps                      string
	}{
		{"POST", v1, body("v1"), "", "handler.create handler.decode handler.default handler.managed-fields handler.mutate rest.create handler.validate handler.encode"},
		{"GET", v1 + "/web", "", "", "handler.get rest.get handler.encode"},
		{"GET", v1beta1 + "/web", "", "", "handler.get rest.get handler.encode handler.convert"},
		{"GET", v1, "", "", "handler.list rest.list handler.encode"},
		{"GET", v1beta1, "", "", "handler.list rest.list handler.encode handler.convert"},
		{"GET", v1beta1, "", "application/json;as=Table;v=v1;g=meta.k8s.io", "handler.list rest.list handler.encode handler.table"},
		{"PUT", v1beta1 + "/web", body("v1beta1"), "",
			"handler.update handler.decode handler.default handler.convert rest.update handler.managed-fields handler.mutate handler.validate handler.encode handler.convert"},
		{"DELETE", v1 + "/web", "", "", "handler.delete rest.delete handler.mutate handler.validate handler.encode"},
		{"DELETE", v1, "", "", "handler.deletecollection rest.deletecollection handler.encode"},
	} {
		res, data := s.do(t, tc.method, tc.path, strings.NewReader(tc.body), "Accept: "+tc.accept)
		if res.StatusCode >= 300 {
			t.Fatalf("%s %s: %s", tc.method, tc.path, data)
		}
		if got := s.lastSteps(t); got != tc.steps {
			t.Errorf("%s %s\nwant %s\ngot  %s", tc.method, tc.path, tc.steps, got)
		}
	}
}

// lastSteps are the steps of the latest request in the layers of this package, without the fine ones.
func (s *testServer) lastSteps(t testing.TB) string {
	t.Helper()
	journeys, _ := s.journeys.List()
	last := journeys[len(journeys)-1].Journey
	if !last.Wait(t.Context()) {
		t.Fatal("the request does not end")
	}
	var names []string
	for _, step := range last.Record().Steps {
		info := step.ID.Info()
		if layer := info.Layer; (layer == steps.LayerHandler || layer == steps.LayerREST) && !info.Fine {
			names = append(names, step.ID.String())
		}
	}
	return strings.Join(names, " ")
}

// TestWatchPaths shows that the old paths of a watch lead to the same as watch=true.
func TestWatchPaths(t *testing.T) {
	s := newServer(t)
	createConfigMap(t, s, "app", 1)
	createConfigMap(t, s, "other", 1)
	for _, tc := range []struct {
		path  string
		names []string
	}{
		{configMaps + "?watch=true", []string{"app", "other"}},
		{configMaps + "?watch=1&fieldSelector=metadata.name%3Dother", []string{"other"}},
		{"/api/v1/configmaps?watch", []string{"app", "other"}},
		{"/api/v1/watch/configmaps", []string{"app", "other"}},
		{"/api/v1/watch/namespaces/default/configmaps", []string{"app", "other"}},
		{"/api/v1/watch/namespaces/default/configmaps/other", []string{"other"}},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, "GET", s.URL+tc.path, nil)
		must(t, err)
		res, err := http.DefaultClient.Do(req)
		must(t, err)
		if res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", tc.path, res.Status)
		}
		events := json.NewDecoder(res.Body)
		for _, name := range tc.names {
			var event struct {
				Type   string
				Object corev1.ConfigMap
			}
			must(t, events.Decode(&event))
			if event.Type != "ADDED" || event.Object.Name != name {
				t.Errorf("%s: got %s %s, want %s", tc.path, event.Type, event.Object.Name, name)
			}
		}
		cancel()
		res.Body.Close()
	}
	// What can't be watched in the old way is not there.
	for path, code := range map[string]int{
		"/api/v1/watch/configmaps/app":                           http.StatusNotFound,
		"/api/v1/watch/namespaces/default/things":                http.StatusNotFound,
		"/apis/apps/v1/watch/namespaces/default/deployments/a/b": http.StatusNotFound,
	} {
		if res, data := s.do(t, "GET", path, nil); res.StatusCode != code {
			t.Errorf("%s: got %s: %s", path, res.Status, data)
		}
	}
	if res, _ := s.do(t, "POST", "/api/v1/watch/configmaps", strings.NewReader("{}")); res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("got %s", res.Status)
	}
}
