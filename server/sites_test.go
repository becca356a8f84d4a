package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/server/options"
)

// TestPagesOfOtherSites sends, with an administrator's certificate, what a browser sends for pages.
func TestPagesOfOtherSites(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *options.Options) { o.Access.CORSAllowedOrigins = []string{`^https://ok\.test$`} })
	host := strings.TrimPrefix(r.URL, "https://")
	for i, tc := range []struct {
		origin, site string
		refused      bool
	}{
		{"", "", false}, // no browser
		{"https://" + host, "", false},
		{"https://" + host, "same-origin", false},
		{"http://127.0.0.1:8001", "same-origin", false}, // a page of the proxy that it goes through
		{"", "none", false},
		{"https://ok.test", "", false},
		{"https://ok.test", "cross-site", false},
		{"https://evil.test", "", true},
		{"https://evil.test", "cross-site", true},
		{"https://ok.test.evil.test", "cross-site", true},
		{"https://127.0.0.1", "", true},
		{"https://127.0.0.1:1", "same-site", true},
		{"null", "", true},
		{"null", "cross-site", true},
		{"", "cross-site", true},
	} {
		t.Run(fmt.Sprintf("%s from %s", tc.site, tc.origin), func(t *testing.T) {
			r.page(t, fmt.Sprintf("page-%d", i), tc.origin, tc.site, tc.refused)
		})
	}
}

// page creates and deletes a config map without a Content-Type, as a page can unasked, reads, and watches.
func (r *running) page(t *testing.T, name, origin, site string, refused bool) {
	const maps = "/api/v1/namespaces/default/configmaps"
	var headers []string
	dial := http.Header{}
	for key, value := range map[string]string{"Origin": origin, "Sec-Fetch-Site": site} {
		if value != "" {
			headers = append(headers, key+": "+value)
			dial.Set(key, value)
		}
	}
	client := r.httpClient(t)
	answer := func(what string, code, want int, status []byte) {
		t.Helper()
		var s metav1.Status
		if refused {
			want = http.StatusForbidden
			if err := json.Unmarshal(status, &s); err != nil || s.Reason != metav1.StatusReasonForbidden || !strings.Contains(s.Message, "--cors-allowed-origins") {
				t.Errorf("%s: %s", what, status)
			}
		}
		if code != want {
			t.Errorf("%s: %d, want %d", what, code, want)
		}
	}
	body := strings.NewReader(`{"metadata":{"name":"` + name + `"}}`)
	res, data := ask(t, client, "POST", r.URL+maps, body, headers...)
	answer("create", res.StatusCode, http.StatusCreated, data)
	res, data = ask(t, client, "DELETE", r.URL+maps+"/"+name, nil, headers...)
	answer("delete", res.StatusCode, http.StatusOK, data)
	// A read's answer stays in the browser.
	if res, _ = ask(t, client, "GET", r.URL+maps, nil, headers...); res.StatusCode != http.StatusOK {
		t.Errorf("list: %s", res.Status)
	}

	certificate, err := rest.TLSConfigFor(r.config)
	must(t, err)
	dialer := websocket.Dialer{TLSClientConfig: certificate}
	conn, res, err := dialer.DialContext(within(t), "wss"+strings.TrimPrefix(r.URL, "https")+maps+"?watch=1", dial)
	if err == nil {
		conn.Close()
	}
	if res == nil {
		t.Fatal(err)
	}
	refusal := make([]byte, 4096)
	n, _ := res.Body.Read(refusal)
	answer("WebSocket", res.StatusCode, http.StatusSwitchingProtocols, refusal[:n])
}
