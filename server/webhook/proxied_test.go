package webhook

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// pack compresses n zeros.
func pack(t *testing.T, n int, packer func(io.Writer) (io.WriteCloser, error)) string {
	t.Helper()
	var out bytes.Buffer
	w, err := packer(&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestPages: a page that the proxy would hold in memory has a limit, packed or not. Other answers have none.
func TestPages(t *testing.T) {
	zipped := func(n int) string {
		return pack(t, n, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil })
	}
	deflated := func(n int) string {
		return pack(t, n, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestSpeed) })
	}
	const html = "text/html; charset=utf-8"
	for name, tc := range map[string]struct {
		mediaType, encoding, body string
		refused                   bool
	}{
		"a page":                     {html, "", strings.Repeat("x", pageMost), false},
		"a large page":               {html, "", strings.Repeat("x", pageMost+1), true},
		"a packed page":              {html, "gzip", zipped(pageMost), false},
		"a large packed page":        {html, "gzip", zipped(pageMost + 1), true},
		"a large deflated page":      {html, "deflate", deflated(pageMost + 1), true},
		"a page that is not packed":  {html, "gzip", "x", false},
		"a page in another encoding": {html, "br", strings.Repeat("x", pageMost+1), false},
		"a large text":               {"text/plain", "", strings.Repeat("x", pageMost+1), false},
	} {
		t.Run(name, func(t *testing.T) {
			resp, err := Pages(roundTrip(func(*http.Request) (*http.Response, error) {
				header := http.Header{"Content-Type": {tc.mediaType}}
				if tc.encoding != "" {
					header.Set("Content-Encoding", tc.encoding)
				}
				return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(strings.NewReader(tc.body))}, nil
			})).RoundTrip(&http.Request{})
			var body []byte
			if err == nil {
				body, err = io.ReadAll(resp.Body)
			}
			if (err != nil) != tc.refused || !tc.refused && string(body) != tc.body {
				t.Errorf("%d bytes, %v", len(body), err)
			}
		})
	}
}

// TestUpgrade: a connection whose server does not answer ends with the request. One whose server has answered does not.
func TestUpgrade(t *testing.T) {
	for _, answered := range []bool{false, true} {
		near, far := net.Pipe()
		w, over := Upgrade(hijacker{httptest.NewRecorder()}, &http.Transport{
			DialContext: func(context.Context, string, string) (net.Conn, error) { return near, nil },
		})
		upgrades, ok := over.(*http.Transport)
		if !ok || upgrades.TLSClientConfig == nil {
			t.Fatal("there is no transport that verifies servers")
		}
		ctx, cancel := context.WithCancel(t.Context())
		conn, err := upgrades.DialContext(ctx, "tcp", "far:443")
		if err != nil {
			t.Fatal(err)
		}
		if answered {
			if _, _, err := w.(http.Hijacker).Hijack(); err != nil {
				t.Fatal(err)
			}
		}
		cancel()
		if answered {
			go func() { _, _ = far.Write([]byte("x")) }()
		}
		if n, err := conn.Read(make([]byte, 1)); (err == nil) != answered {
			t.Errorf("answered %t: it read %d bytes, %v", answered, n, err)
		}
		_, _ = near.Close(), far.Close()
	}
}

type hijacker struct{ http.ResponseWriter }

func (hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, nil }
