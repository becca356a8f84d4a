package webhook

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// pageMost limits a page of HTML, packed and unpacked.
const pageMost = 16 << 20

// Pages returns a transport for the library's proxy. The proxy changes the links of a page of HTML, and holds the whole
// page in memory for that. So a page that exceeds a limit is an error. Other answers have no limit.
func Pages(next http.RoundTripper) http.RoundTripper { return pages{next} }

type pages struct{ next http.RoundTripper }

var _ utilnet.RoundTripperWrapper = pages{}

// WrappedRoundTripper returns the inner transport, so that the proxy finds its dialer.
func (p pages) WrappedRoundTripper() http.RoundTripper { return p.next }

func (p pages) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := p.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	mediaType, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if strings.TrimSpace(mediaType) != "text/html" || resp.Header.Get("Location") != "" {
		return resp, nil // the proxy does not change it
	}
	limited := &answer{ReadCloser: resp.Body, left: pageMost, most: pageMost, exchange: &Exchange{}}
	switch resp.Header.Get("Content-Encoding") { // the proxy passes pages in any other encoding on as they are
	case "":
		resp.Body = limited
	case "gzip":
		err = unpack(resp, limited, func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) })
	case "deflate":
		err = unpack(resp, limited, func(r io.Reader) (io.Reader, error) { return flate.NewReader(r), nil })
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// unpack reads the packed body of an answer. It returns an error if the page exceeds a limit, also when it is unpacked.
func unpack(resp *http.Response, body io.ReadCloser, unpacker func(io.Reader) (io.Reader, error)) error {
	data, err := io.ReadAll(body)
	_ = body.Close() // all of it was read
	if err != nil {
		return err
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	page, err := unpacker(bytes.NewReader(data))
	if err != nil {
		return nil // the proxy has its own error for it
	}
	if n, _ := io.Copy(io.Discard, io.LimitReader(page, pageMost+1)); n > pageMost {
		return fmt.Errorf("it answered a page of more than %d bytes when unpacked, which is the most that is read", pageMost)
	}
	return nil
}

// Upgrade prepares a request that upgrades its connection for the library's proxy. It returns the client's writer, and
// the transport by which the proxy dials. The proxy waits for the other server's answer whatever the request's
// context says. Here the connection closes if the context ends before the answer comes, so a server that never answers
// holds a goroutine and a seat no longer than that. After the answer the proxy takes over the client's connection, and
// the context no longer counts: a console stays open.
func Upgrade(w http.ResponseWriter, next http.RoundTripper) (http.ResponseWriter, http.RoundTripper) {
	client, ok := w.(http.Hijacker)
	dial, err := utilnet.DialerFor(next)
	config, configErr := utilnet.TLSClientConfig(next)
	if !ok || err != nil || configErr != nil || dial == nil {
		return w, next
	}
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12} // without one, the proxy would not verify the server
	}
	u := &upgrading{ResponseWriter: w, client: client, answered: func() bool { return true }}
	return u, &http.Transport{TLSClientConfig: config, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		u.answered = context.AfterFunc(ctx, func() { _ = conn.Close() }) // the proxy may have closed it before
		return conn, nil
	}}
}

// upgrading is the writer of a request whose connection is upgraded. The goroutine that dials also takes over.
type upgrading struct {
	http.ResponseWriter
	client   http.Hijacker
	answered func() bool
}

// Hijack is called when the other server has answered.
func (u *upgrading) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	u.answered()
	return u.client.Hijack()
}
