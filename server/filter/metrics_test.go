package filter

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/server/metrics"
)

// scrape returns the lines of /metrics about a resource.
func scrape(t *testing.T, counts *metrics.Metrics, resource string) string {
	t.Helper()
	res := answer(t, dial(t, counts.Handler(), "GET / HTTP/1.1\r\nHost: kx\r\n\r\n"))
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(body)) {
		if strings.Contains(line, `resource="`+resource+`"`) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

func TestRequestsAreCountedByWhatClientsGet(t *testing.T) {
	d := newDoor(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			panic("no")
		}
	}, nil)
	const resource = "counted"
	path := "/apis/example.com/v1/namespaces/a/" + resource
	d.ask(t, d.admin, http.MethodGet, path+"/b")
	d.ask(t, d.admin, http.MethodPost, path+"?dryRun=All")
	d.ask(t, d.stranger, http.MethodGet, path+"/b", "Authorization", "Bearer x")
	lines := scrape(t, d.config.Metrics, resource)
	for _, want := range []string{
		`apiserver_request_total{code="200",component="apiserver",dry_run="",group="example.com",resource="` + resource + `",scope="resource",subresource="",verb="GET",version="v1"} 1`,
		`apiserver_request_total{code="500",component="apiserver",dry_run="All",group="example.com",resource="` + resource + `",scope="namespace",subresource="",verb="POST",version="v1"} 1`,
		`apiserver_request_total{code="401",component="apiserver",dry_run="",group="example.com",resource="` + resource + `",scope="resource",subresource="",verb="GET",version="v1"} 1`,
	} {
		if !strings.Contains(lines, want+"\n") {
			t.Errorf("no line %s in\n%s", want, lines)
		}
	}
}

func TestDryRunLabelHasFewValues(t *testing.T) {
	for query, want := range map[string]string{
		"": "", "dryRun=All": "All", "dryRun=All&dryRun=All": "All", "dryRun=x": "invalid", "dryRun=": "invalid",
		"fieldSelector=dryRun%3DAll": "",
	} {
		if got := dryRunOf(&url.URL{RawQuery: query}); got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
}
