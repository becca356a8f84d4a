package server_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"k8s.io/client-go/rest"
)

// rapid opens streams on a connection of its own and ends each at once with end, as fast as it can. It returns with the code of
// the GOAWAY that it got when the connection closed, or after more streams than any connection may have.
func rapid(t *testing.T, r *running, end func(f *http2.Framer, stream uint32) error) (code http2.ErrCode, closed bool) {
	t.Helper()
	config, err := rest.TLSConfigFor(r.config)
	must(t, err)
	config.NextProtos = []string{http2.NextProtoTLS}
	conn, err := tls.Dial("tcp", strings.TrimPrefix(r.URL, "https://"), config)
	must(t, err)
	defer func() { _ = conn.Close() }()
	out := bufio.NewWriterSize(conn, 4<<10)
	_, err = out.WriteString(http2.ClientPreface)
	f := http2.NewFramer(out, conn)
	f.AllowIllegalWrites = true
	must(t, errors.Join(err, f.WriteSettings(), out.Flush()))
	ended, answered := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			frame, err := f.ReadFrame()
			switch frame := frame.(type) {
			case *http2.GoAwayFrame:
				code = frame.ErrCode
			case *http2.PingFrame:
				close(answered)
			}
			if err != nil {
				return
			}
		}
	}()
	var block bytes.Buffer
	for _, field := range []hpack.HeaderField{
		{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "https"}, {Name: ":authority", Value: "kx"}, {Name: ":path", Value: "/version"},
	} {
		// Without a dynamic table, the block is the same for each stream.
		must(t, hpack.NewEncoder(&block).WriteField(hpack.HeaderField{Name: field.Name, Value: field.Value, Sensitive: true}))
	}
	for stream := uint32(1); stream < 2*20_000; stream += 2 {
		err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true})
		if errors.Join(err, end(f, stream)) != nil {
			break // it is closed
		}
	}
	_ = errors.Join(f.WritePing(false, [8]byte{}), out.Flush())
	select {
	case <-ended:
		return code, true
	case <-answered:
		return 0, false
	}
}

// cutOff is the metric of the connections that were closed because of their resets.
func cutOff(t *testing.T, r *running) (value string) {
	t.Helper()
	_, body := ask(t, r.httpClient(t), "GET", r.URL+"/metrics", nil)
	for line := range strings.Lines(string(body)) {
		if text, ok := strings.CutPrefix(line, "kx_cut_off_connections_total "); ok {
			value = strings.TrimSpace(text)
		}
	}
	return value
}

// TestRapidResets has clients that open and reset requests as fast as they can, beside one that does not.
func TestRapidResets(t *testing.T) {
	for name, end := range map[string]func(f *http2.Framer, stream uint32) error{
		"by the client": func(f *http2.Framer, stream uint32) error { return f.WriteRSTStream(stream, http2.ErrCodeCancel) },
		"without an error": func(f *http2.Framer, stream uint32) error {
			return f.WriteRSTStream(stream, http2.ErrCodeNo)
		},
		"by the server, of wrong frames": func(f *http2.Framer, stream uint32) error { return f.WriteWindowUpdate(stream, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t)
			good := r.httpClient(t)
			over, done := context.WithCancel(t.Context())
			served := make(chan error, 1)
			go func() {
				for over.Err() == nil {
					res, err := good.Get(r.URL + "/api/v1/namespaces")
					if err == nil {
						_, err = io.Copy(io.Discard, res.Body)
						err = errors.Join(err, res.Body.Close())
					}
					if err == nil && res.StatusCode != http.StatusOK {
						err = errors.New(res.Status)
					}
					if err != nil {
						served <- err
						return
					}
				}
				served <- nil
			}()
			code, closed := rapid(t, r, end)
			done()
			if err := <-served; err != nil {
				t.Errorf("the client that resets nothing: %v", err)
			}
			if !closed {
				t.Fatal("the connection that resets was not closed")
			}
			// The system may lose a GOAWAY to a client that goes on to send.
			if code != http2.ErrCodeEnhanceYourCalm && code != http2.ErrCodeNo {
				t.Errorf("GOAWAY with %s", code)
			}
			if n := cutOff(t, r); n != "1" {
				t.Errorf("%q connections were counted", n)
			}
		})
	}
}

// TestCancelsAreNoAttack stops more watches than a connection may have resets, one after the other as fast as they begin.
func TestCancelsAreNoAttack(t *testing.T) {
	t.Parallel()
	r := start(t)
	config, err := rest.TLSConfigFor(r.config)
	must(t, err)
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	connections := 0
	traced := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if !info.Reused {
			connections++
		}
	}})
	for range 1500 {
		ctx, cancel := context.WithCancel(traced)
		req, err := http.NewRequestWithContext(ctx, "GET", r.URL+"/api/v1/configmaps?watch=1", nil)
		must(t, err)
		res, err := transport.RoundTrip(req)
		must(t, err)
		if res.ProtoMajor != 2 || res.StatusCode != http.StatusOK {
			t.Fatal(res.Proto, res.Status)
		}
		cancel()
		_ = res.Body.Close()
	}
	if n := cutOff(t, r); connections != 1 || n != "0" {
		t.Errorf("the client needed %d connections, %s were cut off", connections, n)
	}
}
