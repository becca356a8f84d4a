package endpoint_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// discard is a response that nobody reads.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

// BenchmarkHandlers measures requests from the router down to etcd and back, without a socket and unrecorded.
func BenchmarkHandlers(b *testing.B) {
	s := newServer(b, withAuthorizer(allowAll{}))
	s.journeys.SetOff(true)
	createConfigMap(b, s, "app", 1000)
	for _, bm := range []struct{ name, method, path, body, accept string }{
		{"get-json", "GET", configMaps + "/app", "", "application/json"},
		{"get-protobuf", "GET", configMaps + "/app", "", "application/vnd.kubernetes.protobuf"},
		{"get-missing", "GET", configMaps + "/none", "", "application/json"},
		{"create-dry-run", "POST", configMaps + "?dryRun=All", fmt.Sprintf(`{"metadata":{"name":"new"},"data":{"d":%q}}`, strings.Repeat("x", 1000)), "application/json"},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				req := httptest.NewRequest(bm.method, bm.path, strings.NewReader(bm.body))
				req.Header.Set("Accept", bm.accept)
				s.Config.Handler.ServeHTTP(discard{http.Header{}}, req)
			}
		})
	}
}
