package bench

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// client makes connections to one server. mu guards conns.
type client struct {
	address, authority, prefix string
	tls                        *tls.Config
	headers                    []hpack.HeaderField

	mu    sync.Mutex
	conns []*conn // by number; unusable ones are replaced
}

// newClient makes a client with the address and credentials of a kubeconfig. It does not run credential plugins.
func newClient(config *rest.Config) (*client, error) {
	if config.ExecProvider != nil || config.AuthProvider != nil {
		return nil, errors.New("the kubeconfig's user gets its token from a program: use one with a client certificate or a token")
	}
	at, err := url.Parse(config.Host)
	if err != nil || at.Scheme != "https" || at.Host == "" {
		return nil, fmt.Errorf("the server's address %q is not one of https", config.Host)
	}
	c := &client{address: at.Host, authority: at.Host, prefix: strings.TrimSuffix(at.Path, "/")}
	if at.Port() == "" {
		c.address = net.JoinHostPort(at.Hostname(), "443")
	}
	if c.tls, err = rest.TLSConfigFor(config); err != nil {
		return nil, fmt.Errorf("read the kubeconfig's certificates: %w", err)
	}
	if c.tls == nil {
		c.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	c.tls.NextProtos = []string{http2.NextProtoTLS}
	token := config.BearerToken
	if config.BearerTokenFile != "" {
		data, err := os.ReadFile(config.BearerTokenFile)
		if err != nil {
			return nil, fmt.Errorf("read the token: %w", err)
		}
		token = strings.TrimSpace(string(data))
	}
	c.headers = []hpack.HeaderField{{Name: "user-agent", Value: "kx-bench"}}
	if token != "" {
		c.headers = append(c.headers, hpack.HeaderField{Name: "authorization", Value: "Bearer " + token})
	}
	return c, nil
}

// streamsEach is the number of requests that share a connection. Servers allow 100 or more.
const streamsEach = 100

// connFor returns the connection for the nth of the concurrent requests.
func (c *client) connFor(ctx context.Context, nth int) (*conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := nth / streamsEach
	for len(c.conns) <= n {
		c.conns = append(c.conns, nil)
	}
	if c.conns[n] != nil && c.conns[n].usable() {
		return c.conns[n], nil
	}
	made, err := dial(ctx, c.address, c.authority, c.tls, c.headers)
	if err != nil {
		return nil, err
	}
	c.conns[n] = made
	return made, nil
}

func (c *client) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, made := range c.conns {
		if made != nil {
			made.close(errors.New("the run has ended"))
		}
	}
	c.conns = nil
}

const jsonType = "application/json"

// answerError is the error for an unsuccessful answer.
type answerError struct {
	method, path string
	code         int
	message      string
}

func (f *answerError) Error() string {
	return fmt.Sprintf("%s %s: %d %s", f.method, f.path, f.code, f.message)
}

// send sends a request as the nth of the concurrent ones. It returns an error for an unsuccessful answer.
func (c *client) send(ctx context.Context, nth int, r *request) (a answer, err error) {
	out := *r
	out.path = c.prefix + r.path
	if out.accept == "" {
		out.accept = jsonType
	}
	if out.contentType == "" {
		out.contentType = jsonType
	}
	// A server that closes a connection gracefully has not started the requests that it refuses, so they can be sent
	// again.
	for range goodbyes {
		var made *conn
		if made, err = c.connFor(ctx, nth); err != nil {
			return answer{}, err
		}
		if a, err = made.do(ctx, &out); !errors.Is(err, errLeaving) {
			break
		}
	}
	if err == nil && (a.code < 200 || a.code > 299) {
		err = &answerError{r.method, r.path, a.code, messageOf(a.said)}
	}
	return a, err
}

// goodbyes limits the connections in a row that a server may close gracefully.
const goodbyes = 5

// messageOf returns the message of a Status.
func messageOf(body []byte) string {
	var status metav1.Status
	if json.Unmarshal(body, &status) == nil && status.Message != "" {
		return status.Message
	}
	return strings.TrimSpace(string(body))
}

// object sends a request outside of measurements and decodes the answer.
func (c *client) object(ctx context.Context, method, path string, body, into any) error {
	r := &request{method: method, path: path}
	if body != nil {
		var err error
		if r.body, err = json.Marshal(body); err != nil {
			return fmt.Errorf("encode what is sent to %s: %w", path, err)
		}
	}
	var whole []byte
	r.sink = func(data []byte) bool {
		whole = append(whole, data...)
		return true
	}
	if _, err := c.send(ctx, 0, r); err != nil {
		return err
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(whole, into); err != nil {
		return fmt.Errorf("decode what came from %s: %w", path, err)
	}
	return nil
}
