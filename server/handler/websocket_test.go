package handler_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
)

func dial(t *testing.T, f *front, query, accept string, protocols ...string) (*websocket.Conn, *http.Response) {
	t.Helper()
	dialer := websocket.Dialer{Subprotocols: protocols}
	conn, res, err := dialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(f.URL, "http")+watchPath+query, http.Header{"Accept": {accept}})
	if err != nil {
		t.Fatalf("%v: %+v", err, res)
	}
	t.Cleanup(func() { conn.Close() })
	return conn, res
}

func TestWebSocketWatch(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	m := newConfigMaps()
	f := newFront(t, m, "configmaps", "ConfigMap")
	defer f.Close()
	m.put(configMap("a"))
	conn, res := dial(t, f, "", runtime.ContentTypeJSON, "base64.binary.k8s.io", "other")
	if got := res.Header.Get("Sec-Websocket-Protocol"); got != "base64.binary.k8s.io" {
		t.Errorf("protocol %q", got)
	}
	kind, message, err := conn.ReadMessage()
	want := `{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"default","uid":"uid-a","resourceVersion":"1"}}}` + "\n"
	if err != nil || kind != websocket.TextMessage || string(message) != want {
		t.Errorf("message of kind %d: %q, %v", kind, message, err)
	}

	pong := make(chan string, 1)
	conn.SetPongHandler(func(data string) error { pong <- data; return nil })
	if err := conn.WriteControl(websocket.PingMessage, []byte("hello"), time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	// Whatever a client says is read and forgotten.
	if err := conn.WriteMessage(websocket.TextMessage, []byte(strings.Repeat("x", 100_000))); err != nil {
		t.Fatal(err)
	}
	// The pong has been read when a later event has.
	for {
		m.put(configMap("b"))
		if _, message, err = conn.ReadMessage(); err != nil || !strings.Contains(string(message), `"name":"b"`) {
			t.Fatalf("%q, %v", message, err)
		}
		if len(pong) > 0 {
			break
		}
	}
	if got := <-pong; got != "hello" {
		t.Errorf("pong %q", got)
	}

	if err := conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	<-m.stopped
	f.Close()
	if why := step(t, f, steps.HandlerWatch).Why; why != "the client closed the connection" {
		t.Errorf("ended because %q", why)
	}
}

func TestWebSocketWatchProtobuf(t *testing.T) {
	m := newConfigMaps()
	f := newFront(t, m, "configmaps", "ConfigMap")
	m.put(configMap("a"))
	conn, _ := dial(t, f, "", runtime.ContentTypeProtobuf)
	kind, message, err := conn.ReadMessage()
	if err != nil || kind != websocket.BinaryMessage {
		t.Fatalf("message of kind %d: %q, %v", kind, message, err)
	}
	var event metav1.WatchEvent
	if err := event.Unmarshal(message); err != nil {
		t.Fatal(err)
	}
	if _, gvk, err := scheme.Codecs.UniversalDeserializer().Decode(event.Object.Raw, nil, nil); err != nil || event.Type != "ADDED" || gvk.Kind != "ConfigMap" {
		t.Errorf("%s %v, %v", event.Type, gvk, err)
	}
}

// TestWebSocketWatchEnds: the client is told that the watch is over.
func TestWebSocketWatchEnds(t *testing.T) {
	for _, tc := range []struct {
		name, query string
		end         func(*front, *memory)
	}{
		{"the storage", "", func(_ *front, m *memory) { m.end() }},
		{"the server", "", func(f *front, _ *memory) { close(f.shutdown) }},
		{"the time", "&timeoutSeconds=1", func(*front, *memory) {}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newConfigMaps()
			f := newFront(t, m, "configmaps", "ConfigMap")
			m.put(configMap("a"))
			conn, _ := dial(t, f, tc.query, runtime.ContentTypeJSON)
			if _, _, err := conn.ReadMessage(); err != nil {
				t.Fatal(err)
			}
			tc.end(f, m)
			_, _, err := conn.ReadMessage()
			var closed *websocket.CloseError
			if !errors.As(err, &closed) || closed.Code != websocket.CloseNormalClosure {
				t.Errorf("read %v; want a normal closure", err)
			}
			<-m.stopped
		})
	}
}

// TestWebSocketWatchRefused: what can't be watched is refused before the upgrade.
func TestWebSocketWatchRefused(t *testing.T) {
	f := newFront(t, newConfigMaps(), "configmaps", "ConfigMap")
	res := open(t, f, watchPath+"&sendInitialEvents=true", "", "Connection", "keep-alive, Upgrade", "Upgrade", "WebSocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA==")
	if got := status(t, res); !strings.HasPrefix(got, "422 Invalid") {
		t.Error(got)
	}
}
