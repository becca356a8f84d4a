//go:build linux

package torture

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gorilla/websocket"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// socketRegister is a rawRegister that watches by WebSocket, as a browser does.
type socketRegister struct {
	rawRegister
	dialer *websocket.Dialer
}

// newDialer uses the certificates of config. A handshake may take as long as a request.
func newDialer(config *rest.Config) (*websocket.Dialer, error) {
	tls, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	return &websocket.Dialer{TLSClientConfig: tls, HandshakeTimeout: requestPatience}, nil
}

func (r socketRegister) watch(ctx context.Context, ns string, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	query, err := scheme.ParameterCodec.EncodeParameters(&options, configMaps.resource.GroupVersion())
	if err != nil {
		return nil, err
	}
	conn, err := r.dial(ctx, r.url(ns, "", query))
	if err != nil {
		return nil, err
	}
	// A half-open connection tells nothing: reading ends with the watch's own deadline.
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetReadDeadline(deadline); err != nil {
			return nil, err
		}
	}
	return watch.NewStreamWatcher(&messages{conn}, noReporter{}), nil
}

func (r socketRegister) dial(ctx context.Context, address string) (*websocket.Conn, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	u.Scheme = "wss"
	conn, res, err := r.dialer.DialContext(ctx, u.String(), http.Header{"Accept": {runtime.ContentTypeJSON}})
	if err == nil {
		return conn, nil
	}
	if res == nil || res.StatusCode < 300 {
		return nil, err
	}
	// The dialer keeps the first KiB of the refusal, which a Status fits into.
	return nil, statusError(res)
}

// messages decodes a watch that has an event in each message.
type messages struct{ conn *websocket.Conn }

func (m *messages) Decode() (watch.EventType, runtime.Object, error) {
	kind, data, err := m.conn.ReadMessage()
	if err != nil {
		return "", nil, io.EOF // cut off, as watches end
	}
	if kind != websocket.TextMessage || bytes.Count(data, []byte("\n")) != 1 || !strings.HasSuffix(string(data), "\n") {
		return "", nil, fmt.Errorf("a message of type %d is not one line of text: %q", kind, data)
	}
	return (&lines{Decoder: json.NewDecoder(bytes.NewReader(data))}).Decode()
}

// Close says farewell, and does not wait for an answer.
func (m *messages) Close() {
	farewell := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	_ = m.conn.WriteControl(websocket.CloseMessage, farewell, time.Now().Add(time.Second))
	_ = m.conn.Close()
}
