package server_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"k8s.io/client-go/rest"
)

// rawClient sends requests over one HTTP/2 connection, one after the other, and allocates next to nothing: what is
// allocated meanwhile is the server's. It does not decode the headers of answers, so it tells failures by their bodies.
type rawClient struct {
	conn    *tls.Conn
	out     *bufio.Writer
	framer  *http2.Framer
	block   bytes.Buffer
	encoder *hpack.Encoder
	stream  uint32
	host    string
	answer  []byte // the body of the last answer
}

func newRawClient(b *testing.B, s *bench) *rawClient {
	b.Helper()
	config, err := rest.TLSConfigFor(s.config)
	must(b, err)
	config.NextProtos = []string{http2.NextProtoTLS}
	host := strings.TrimPrefix(s.URL, "https://")
	conn, err := tls.Dial("tcp", host, config)
	must(b, err)
	b.Cleanup(func() { _ = conn.Close() })
	c := &rawClient{conn: conn, out: bufio.NewWriterSize(conn, 64<<10), stream: 1, host: host, answer: make([]byte, 0, 1<<20)}
	c.framer = http2.NewFramer(c.out, bufio.NewReaderSize(conn, 64<<10))
	c.framer.SetReuseFrames()
	c.encoder = hpack.NewEncoder(&c.block)
	const window = 1 << 30
	_, err = c.out.WriteString(http2.ClientPreface)
	must(b, err)
	must(b, c.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window}))
	must(b, c.framer.WriteWindowUpdate(0, window))
	return c
}

// send sends a request and reads its answer, which must not be a failure.
func (c *rawClient) send(b *testing.B, method, path, contentType string, body []byte) {
	c.block.Reset()
	field := func(name, value string, once bool) {
		must(b, c.encoder.WriteField(hpack.HeaderField{Name: name, Value: value, Sensitive: once}))
	}
	field(":method", method, false)
	field(":scheme", "https", false)
	field(":authority", c.host, false)
	field(":path", path, true) // it differs each time, and must not push others out of the table
	field("accept", "application/json", false)
	field("user-agent", "bench/v1", false)
	if len(body) > 0 {
		field("content-type", contentType, false)
		field("content-length", strconv.Itoa(len(body)), false)
	}
	must(b, c.framer.WriteHeaders(
		http2.HeadersFrameParam{StreamID: c.stream, BlockFragment: c.block.Bytes(), EndStream: len(body) == 0, EndHeaders: true}))
	for len(body) > 0 {
		n := min(len(body), 16<<10)
		must(b, c.framer.WriteData(c.stream, n == len(body), body[:n]))
		body = body[n:]
	}
	must(b, c.out.Flush())
	c.read(b)
	if bytes.Contains(c.answer, []byte(`"status":"Failure"`)) || len(c.answer) == 0 {
		b.Fatalf("%s %s: %s", method, path, c.answer)
	}
	c.stream += 2
}

// read reads frames until the answer has ended.
func (c *rawClient) read(b *testing.B) {
	c.answer = c.answer[:0]
	for {
		frame, err := c.framer.ReadFrame()
		must(b, err)
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				must(b, c.framer.WriteSettingsAck())
			}
		case *http2.PingFrame:
			if !f.IsAck() {
				must(b, c.framer.WritePing(true, f.Data))
			}
		case *http2.DataFrame:
			c.answer = append(c.answer, f.Data()...)
			if f.StreamEnded() {
				return
			}
		case *http2.RSTStreamFrame, *http2.GoAwayFrame:
			b.Fatal(fmt.Errorf("the server ended the request: %v", f))
		}
	}
}
