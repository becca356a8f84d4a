package zpages

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/server/builtin/scheme"
)

func TestPages(t *testing.T) {
	started := time.Now().Add(-3723 * time.Second)
	pages := map[string]http.Handler{
		"/statusz": NewStatusz(Status{Start: started, Go: "go1.26.8", Binary: "1.37.1", Emulation: "1.37", Paths: []string{
			"/version", "/api/v1", "/healthz/ping", "/healthz", "/openapi/v2", "/.well-known/x", "/",
		}}, scheme.Codecs),
		"/flagz": NewFlagz(map[string]string{"profiling": "true", "listen": "127.0.0.1:7443"}, scheme.Codecs),
	}
	at := started.UTC()
	const refused = "only the following media types are accepted: application/json, application/yaml, text/plain"
	for _, tc := range []struct {
		path, accept string
		code         int
		contentType  string
		want         string
	}{
		{"/statusz", "", 200, "text/plain; charset=utf-8", "\napiserver statusz\n" + warning + "\n\nStarted: " + at.Format(time.UnixDate) +
			"\nUp: 1 hr 02 min 03 sec\nGo version: go1.26.8\nBinary version: 1.37.1\nEmulation version: 1.37\nPaths: /healthz /version\n"},
		{"/flagz", "*/*", 200, "text/plain; charset=utf-8", "\napiserver flagz\n" + warning + "\nlisten: 127.0.0.1:7443\nprofiling: true\n"},
		{"/statusz", "application/json;g=config.k8s.io;v=v1beta1;as=Statusz", 200, "application/json;g=config.k8s.io;v=v1beta1;as=Statusz",
			`{"kind":"Statusz","apiVersion":"config.k8s.io/v1beta1","metadata":{"name":"apiserver"},"startTime":"` + at.Format(time.RFC3339) +
				`","uptimeSeconds":3723,"goVersion":"go1.26.8","binaryVersion":"1.37.1","emulationVersion":"1.37","paths":["/healthz","/version"]}` + "\n"},
		{"/flagz", "application/yaml;g=config.k8s.io;v=v1alpha1;as=Flagz", 200, "application/yaml;g=config.k8s.io;v=v1alpha1;as=Flagz",
			"apiVersion: config.k8s.io/v1alpha1\nflags:\n  listen: 127.0.0.1:7443\n  profiling: \"true\"\nkind: Flagz\nmetadata:\n  name: apiserver\n"},
		{"/statusz", "application/json", 406, "application/json", refused},
		{"/statusz", "application/json;g=config.k8s.io;v=v1;as=Statusz", 406, "application/json", refused},
		{"/statusz", "application/json;g=config.k8s.io;v=v1beta1;as=Flagz", 406, "application/json", refused},
		{"/flagz", "text/plain;g=config.k8s.io;v=v1beta1;as=Flagz", 406, "application/json", refused},
		{"/flagz", "text/html, application/json;q=0.5, text/plain;q=0.1", 200, "text/plain; charset=utf-8", "profiling: true"},
	} {
		r := httptest.NewRequest(http.MethodGet, tc.path, nil)
		if tc.accept != "" {
			r.Header.Set("Accept", tc.accept)
		}
		w := httptest.NewRecorder()
		pages[tc.path].ServeHTTP(w, r)
		if got := w.Body.String(); w.Code != tc.code || w.Header().Get("Content-Type") != tc.contentType || !strings.Contains(got, tc.want) {
			t.Errorf("%s as %q: %d %s\n%s", tc.path, tc.accept, w.Code, w.Header().Get("Content-Type"), got)
		}
		if deprecated := w.Header().Get("Warning") != ""; deprecated != strings.Contains(tc.accept, old) {
			t.Errorf("%s as %q: Warning %q", tc.path, tc.accept, w.Header().Get("Warning"))
		}
	}
}
