package handler

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/websocket"
)

// isWebSocketRequest says whether the client wants to go on in WebSocket.
func isWebSocketRequest(req *http.Request) bool {
	if !strings.EqualFold(req.Header.Get("Upgrade"), "websocket") {
		return false
	}
	for _, value := range req.Header.Values("Connection") {
		for token := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.TrimSpace(token), "upgrade") {
				return true
			}
		}
	}
	return false
}

// HandleWebSocket sends each event as a message. It takes any Origin: the CORS filter has refused the pages of other sites.
// An error that it returns has not been answered.
func (s *WatchServer) HandleWebSocket(w http.ResponseWriter, req *http.Request) error {
	w.Header().Set("Content-Type", s.format.contentType)
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return fmt.Errorf("upgrade a watch to WebSocket: %w", err)
	}
	server := websocket.Server{
		Handler: func(ws *websocket.Conn) { s.handleWS(ws, req) },
		// One protocol must be chosen of those that are offered; events are the same in all.
		Handshake: func(config *websocket.Config, _ *http.Request) error {
			config.Protocol = config.Protocol[:min(len(config.Protocol), 1)]
			return nil
		},
	}
	server.ServeHTTP(hijacked{w, conn, rw}, req)
	return nil
}

// hijacked is a response whose connection was taken over already, wherever in the chain of writers that was possible.
type hijacked struct {
	http.ResponseWriter
	conn net.Conn
	rw   *bufio.ReadWriter
}

func (h hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) { return h.conn, h.rw, nil }

func (s *WatchServer) handleWS(ws *websocket.Conn, req *http.Request) {
	stream := &webSocketStream{ws: ws, text: s.format.text, gone: make(chan struct{})}
	go stream.discard()
	defer func() {
		// Bounded, since the farewell may not be taken either.
		_ = ws.SetDeadline(time.Now().Add(watchWriteTimeout))
		_ = ws.Close()
		<-stream.gone
	}()
	s.serve(req.Context(), stream)
}

// webSocketStream sends events as messages.
type webSocketStream struct {
	ws   *websocket.Conn
	text bool
	gone chan struct{}
}

// discard reads until the connection is closed. Clients have nothing to say; reading answers their pings and notices
// that they close.
func (s *webSocketStream) discard() {
	defer close(s.gone)
	// How the connection ended makes no difference.
	_, _ = io.Copy(io.Discard, s.ws)
}

func (s *webSocketStream) framed() bool { return false }

func (s *webSocketStream) done() <-chan struct{} { return s.gone }

func (s *webSocketStream) event(b *watchBuffers) error {
	defer b.reset()
	if err := s.ws.SetWriteDeadline(time.Now().Add(watchWriteTimeout)); err != nil {
		return err
	}
	if s.text {
		return websocket.Message.Send(s.ws, b.out.String())
	}
	return websocket.Message.Send(s.ws, b.out.Bytes())
}

// flush has nothing to do: event sent it.
func (s *webSocketStream) flush(*watchBuffers) error { return nil }
