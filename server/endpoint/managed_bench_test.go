package endpoint_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkManagedFields measures writes whose owners are noted, without a socket, unrecorded and as dry runs, so that
// etcd's disk is not measured: GET's are subtracted by whoever reads.
func BenchmarkManagedFields(b *testing.B) {
	s := newServer(b, withAuthorizer(allowAll{}))
	s.journeys.SetOff(true)
	send := func(method, path, contentType, body string) int {
		req := httptest.NewRequest(method, path, strings.NewReader(body))
		req.Header.Set("Content-Type", contentType)
		req.Header.Set("Accept", "application/json")
		res := httptest.NewRecorder()
		s.Config.Handler.ServeHTTP(res, req)
		if res.Code >= 300 {
			b.Fatalf("%s %s: %s", method, path, res.Body)
		}
		return res.Code
	}
	v1 := fmt.Sprintf(deployments, "v1")
	const apply, merge = "application/apply-patch+yaml", "application/merge-patch+json"
	send("PATCH", v1+"/web?fieldManager=ann", apply, web("v1", `"replicas":1,`))
	send("PATCH", v1+"/web/status?fieldManager=c", merge, `{"status":{"observedGeneration":1,"replicas":1}}`)
	var yaml = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n" +
		"  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers:\n      - {name: c, image: i}\n"
	for _, bm := range []struct{ name, method, path, contentType, body string }{
		{"create", "POST", v1 + "?dryRun=All", "application/json", strings.Replace(web("v1", ""), `"web"}`, `"new"}`, 1)},
		{"update", "PUT", v1 + "/web?dryRun=All", "application/json", web("v1", `"replicas":2,`)},
		{"merge-patch", "PATCH", v1 + "/web?dryRun=All", merge, `{"spec":{"replicas":2}}`},
		{"apply", "PATCH", v1 + "/web?fieldManager=ann&dryRun=All", apply, web("v1", `"replicas":2,`)},
		{"apply-yaml", "PATCH", v1 + "/web?fieldManager=ann&dryRun=All", apply, yaml},
		{"apply-new", "PATCH", v1 + "/new?fieldManager=ann&dryRun=All", apply, strings.Replace(web("v1", ""), `"web"}`, `"new"}`, 1)},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				send(bm.method, bm.path, bm.contentType, bm.body)
			}
		})
	}
}
