package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestFoundByFuzzing sends what FuzzAPI found, and wants what it should have had.
func TestFoundByFuzzing(t *testing.T) {
	t.Parallel()
	r := shared(t)
	ns := r.namespace(t, "found")
	client := r.httpClient(t)
	revisions := "/apis/apps/v1/namespaces/" + ns + "/controllerrevisions"
	huge := `{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"a"},"revision":1,"data":{"a":` + strings.Repeat("9",
		400) + `}}`
	for _, tt := range []struct {
		what, method, path, contentType, body string
		code                                  int
		says                                  string
	}{
		{"a path with empty parts", "GET", "//apis//apps//v1/namespaces/" + ns + "/statefulsets/..", "", "", 404, "page not found"},
		{"a number that no float64 holds in an embedded object", "POST", revisions, asJSON, huge, 400, "a number may be out of range"},
		{"a namespace with a name that none can have", "POST", "/apis/apps/v1/namespaces/%25/deployments", asJSON, "{}", 400,
			"Name parameter invalid"},
	} {
		req, err := http.NewRequestWithContext(within(t), tt.method, r.URL, strings.NewReader(tt.body))
		must(t, err)
		req.URL = targetURL(req.URL.Host, tt.path)
		req.Header.Set("Content-Type", tt.contentType)
		code, body := answerTo(t, client, req)
		if code != tt.code || !strings.Contains(body, tt.says) {
			t.Errorf("%s: %d %.300s, want %d and %q", tt.what, code, body, tt.code, tt.says)
		}
	}
}

func answerTo(t *testing.T, client *http.Client, req *http.Request) (int, string) {
	t.Helper()
	res, err := client.Do(req)
	must(t, err)
	defer res.Body.Close()
	var b strings.Builder
	_, err = io.Copy(&b, res.Body)
	must(t, err)
	return res.StatusCode, b.String()
}
