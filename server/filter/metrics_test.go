package filter

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/steps"
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
	labels := ", group=example.com, version=v1, resource=" + resource + ", scope="
	for _, test := range []struct {
		client       *http.Client
		method, path string
		reason       string
		code, labels string
		headers      []string
	}{
		{d.admin, http.MethodGet, path + "/b", "counted-read", "code 200", "verb=GET" + labels + "resource", nil},
		{d.admin, http.MethodPost, path + "?dryRun=All", "counted-write", "code 500", "verb=POST, dry_run=All" + labels + "namespace", nil},
		{d.stranger, http.MethodGet, path + "/b", "counted-read", "code 401", "verb=GET" + labels + "resource", []string{"Authorization", "Bearer x"}},
	} {
		res, _ := d.ask(t, test.client, test.method, test.path, test.headers...)
		j := d.config.Journeys.Get(res.Header.Get(JourneyHeader))
		j.Wait(t.Context())
		taken := j.Record().Steps
		last := taken[len(taken)-1]
		if last.ID != steps.HandlerMetrics || last.Reason.String() != test.reason || !strings.Contains(last.Why, test.code) || !strings.Contains(last.Why, test.labels) {
			t.Errorf("%s %s: the last step is %s, %s: %s", test.method, test.path, last.ID, last.Reason, last.Why)
		}
	}
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
