//go:build unix

package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
)

// TestProxy sends through kx proxy what browsers send for pages: those of other sites neither write nor watch with it.
func TestProxy(t *testing.T) {
	t.Parallel()
	l := newMachine(t).begin("proxy", "--port=0")
	if !l.lines.Scan() {
		t.Fatalf("kx proxy ended: %s", l.stderr)
	}
	address, ok := strings.CutPrefix(l.lines.Text(), "Starting to serve on ")
	if !ok {
		t.Fatalf("kx proxy said %q", l.lines.Text())
	}
	port := address[strings.LastIndexByte(address, ':'):]
	const maps = "/api/v1/namespaces/default/configmaps"
	for name, tc := range map[string]struct {
		host   string
		header http.Header
		write  int
		watch  int
	}{
		"curl":                 {address, nil, 201, 101},
		"its-own-page":         {"localhost" + port, http.Header{"Origin": {"http://localhost" + port}, "Sec-Fetch-Site": {"same-origin"}}, 201, 101},
		"another-site":         {address, http.Header{"Origin": {"https://evil.test"}, "Sec-Fetch-Site": {"cross-site"}}, 403, 403},
		"another-site-by-name": {address, http.Header{"Origin": {"https://evil.test"}}, 403, 403},
		"a-name-of-theirs":     {"evil.test" + port, http.Header{"Origin": {"http://evil.test" + port}, "Sec-Fetch-Site": {"same-origin"}}, 403, 403},
	} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+address+maps, strings.NewReader(`{"metadata":{"name":"`+name+`"}}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = tc.host
		for key, values := range tc.header {
			req.Header[key] = values
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != tc.write {
			t.Errorf("%s creates: %s, want %d", name, res.Status, tc.write)
		}
		header := tc.header.Clone()
		if header == nil {
			header = http.Header{}
		}
		header.Set("Host", tc.host)
		conn, res, err := websocket.DefaultDialer.DialContext(t.Context(), "ws://"+address+maps+"?watch=1", header)
		if err == nil {
			conn.Close()
		}
		if res == nil {
			t.Fatal(err)
		}
		if res.StatusCode != tc.watch {
			t.Errorf("%s watches: %s, want %d", name, res.Status, tc.watch)
		}
	}
	l.interrupt()
	_ = l.ended()
}
