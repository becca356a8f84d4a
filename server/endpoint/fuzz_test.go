package endpoint_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

// serve answers a request without a socket, and fails if the answer is the server's fault.
func (s *testServer) serve(t *testing.T, req *http.Request) {
	t.Helper()
	w := httptest.NewRecorder()
	s.Config.Handler.ServeHTTP(w, req)
	// Clients that send a new object with a resourceVersion get a 500 from Kubernetes, too.
	if w.Code == http.StatusInternalServerError && !strings.Contains(w.Body.String(), "resourceVersion should not be set on objects to be created") {
		t.Errorf("%s %q %q: 500: %s", req.Method, req.URL.Path, req.URL.RawQuery, w.Body)
	}
}

func FuzzPaths(f *testing.F) {
	s := newServer(f, withAuthorizer(onlyAnn{}))
	for _, path := range []string{
		"/api/v1/namespaces/default/configmaps/app", "/api/v1/configmaps", "/api/v1/namespaces", "/api/v1/namespaces/a/status",
		"/api/v1/namespaces/a/finalize", "/apis/apps/v1beta1/namespaces/a/deployments/b/scale", "/api/v1/proxy/pods/a",
		"/api/v1/namespaces//pods//status", "/api/v1/watch/pods/", "/apis//v1/x", "/api", "/apis/apps", "//", "/api/v1/namespaces/a/namespaces/b",
		"/api/v1/namespaces/%00/configmaps/../a", "/api/v1/namespaces/default/configmaps/a:b%2Fc",
	} {
		for _, method := range []string{"GET", "PUT", "POST", "DELETE", "PATCH", "HEAD"} {
			f.Add(method, path, "")
		}
	}
	f.Add("GET", "/api/v1/namespaces/default/configmaps//status", "fieldSelector=metadata.name=a")
	f.Fuzz(func(t *testing.T, method, path, query string) {
		if strings.Contains(path+query, "watch") || !strings.HasPrefix(path, "/") {
			return // watches last, and their own tests are elsewhere
		}
		req := &http.Request{Method: method, URL: &url.URL{Path: path, RawQuery: query}, Header: http.Header{}, Body: http.NoBody}
		s.serve(t, req.WithContext(t.Context()))
	})
}

func FuzzSelectors(f *testing.F) {
	s := newServer(f)
	createConfigMap(f, s, "app", 1)
	f.Add("a=b,c!=d,e in (f,g),!h", "metadata.name=app,metadata.namespace!=x", "1", "0", "NotOlderThan", "x")
	f.Add("a in (", "metadata.name", "-1", "-1", "Exact", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi8ifQ")
	f.Add("=,=", "=", "99999999999999999999", "99999999999999999999", "", "")
	f.Fuzz(func(t *testing.T, labels, fields, limit, version, match, token string) {
		query := url.Values{}
		for name, value := range map[string]string{
			"labelSelector": labels, "fieldSelector": fields, "limit": limit,
			"resourceVersion": version, "resourceVersionMatch": match, "continue": token,
		} {
			if value != "" {
				query.Set(name, value)
			}
		}
		for _, method := range []string{"GET", "DELETE"} {
			req := httptest.NewRequest(method, configMaps+"?dryRun=All&"+query.Encode(), http.NoBody)
			s.serve(t, req.WithContext(t.Context()))
		}
	})
}

func FuzzBodies(f *testing.F) {
	s := newServer(f, withAdmission(&plugin{}), withAuthorizer(onlyAnn{}))
	mediaTypes := []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeProtobuf}
	for i := range mediaTypes {
		f.Add(uint8(i), []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"a":"b"}},"data":{"a":"b"}}`))
		f.Add(uint8(i), []byte("metadata:\n  name: a\n  ownerReferences: [{uid: a}, {uid: a}]\n"))
		f.Add(uint8(i), []byte("k8s\x00\n\x0f\n\x02v1\x12\tConfigMap\x12\x05\n\x03\n\x01a"))
		f.Add(uint8(i), []byte(`{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"a"}}`))
		f.Add(uint8(i), []byte(`{"metadata":{"name":"a","managedFields":[{"manager":"m","operation":"Apply","fieldsV1":{"f:a":{}}}]}}`))
	}
	f.Fuzz(func(t *testing.T, mediaType uint8, body []byte) {
		for _, to := range []struct{ method, path string }{
			{"POST", configMaps + "?dryRun=All"}, {"PUT", configMaps + "/a?dryRun=All"}, {"DELETE", configMaps + "/a"},
			{"POST", "/api/v1/namespaces/default/pods?dryRun=All"},
			{"PUT", "/api/v1/namespaces/default/events/a?dryRun=All&fieldValidation=Strict"},
			{"PUT", "/apis/apps/v1/namespaces/default/deployments/a/scale?dryRun=All"},
		} {
			req := httptest.NewRequest(to.method, to.path, strings.NewReader(string(body)))
			req.Header.Set("Content-Type", mediaTypes[int(mediaType)%len(mediaTypes)])
			s.serve(t, req.WithContext(t.Context()))
		}
	})
}

// FuzzApply applies any bytes to what is there and to what is not. As with Kubernetes, what does not fit the schema is a
// 500 that says so.
func FuzzApply(f *testing.F) {
	s := newServer(f, withAuthorizer(allowAll{}))
	v1 := fmt.Sprintf(deployments, "v1")
	for _, manager := range []string{"a", "b"} {
		res, body := s.do(f, "PATCH", v1+"/web?fieldManager="+manager, strings.NewReader(web("v1", `"replicas":1,`)), applyPatch)
		if res.StatusCode >= 300 {
			f.Fatalf("%s", body)
		}
	}
	f.Add([]byte(web("v1", `"replicas":2,`)))
	f.Add([]byte("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, labels: {a: b}}\nspec:\n  template:\n    spec:\n      containers:\n      - name: d\n      - name: c\n        ports: [{containerPort: 1}, {containerPort: 1}]\n"))
	f.Add([]byte(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"web"},"spec":{"replicas":null}}`))
	f.Add([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","annotations":null},"spec":{"containers":[null],"volumes":[{"name":"a"},{"name":"a"}]}}`))
	f.Add([]byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"strategy":{"rollingUpdate":{"maxSurge":"1%"}},"template":{"spec":{"containers":{}}}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, path := range []string{v1 + "/web", v1 + "/web/scale", v1 + "/web/status", "/api/v1/namespaces/default/pods/web"} {
			req := httptest.NewRequest("PATCH", path+"?dryRun=All&force=true&fieldManager=a", strings.NewReader(string(body)))
			req.Header.Set("Content-Type", "application/apply-patch+yaml")
			w := httptest.NewRecorder()
			s.Config.Handler.ServeHTTP(w, req.WithContext(t.Context()))
			if w.Code == http.StatusInternalServerError && !strings.Contains(w.Body.String(), `"message":"failed to c`) {
				t.Errorf("%s: 500: %s", path, w.Body)
			}
		}
	})
}
