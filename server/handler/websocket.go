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

// isWebSocketRequest reports whether the client asks to switch to WebSocket.
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

// HandleWebSocket sends each event as a message. It accepts any Origin: the CORS filter has refused pages of other
// sites. If it returns an error, nothing has been written yet.
func (s *WatchServer) HandleWebSocket(w http.ResponseWriter, req *http.Request) error {
	w.Header().Set("Content-Type", s.format.contentType)
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return fmt.Errorf("upgrade a watch to WebSocket: %w", err)
	}
	server := websocket.Server{
		Handler: func(ws *websocket.Conn) { s.handleWS(ws, req) },
		// The server must choose one of the offered protocols; events are the same in all.
		Handshake: func(config *websocket.Config, _ *http.Request) error {
			config.Protocol = config.Protocol[:min(len(config.Protocol), 1)]
			return nil
		},
	}
	server.ServeHTTP(hijackedResponse{w, conn, rw}, req)
	return nil
}

// hijackedResponse is a response whose connection was hijacked already, by whichever of its writers could do it.
type hijackedResponse struct {
	http.ResponseWriter
	conn net.Conn
	rw   *bufio.ReadWriter
}

func (h hijackedResponse) Hijack() (net.Conn, *bufio.ReadWriter, error) { return h.conn, h.rw, nil }

func (s *WatchServer) handleWS(ws *websocket.Conn, req *http.Request) {
	stream := &webSocketStream{ws: ws, text: s.format.text, gone: make(chan struct{})}
	go stream.discard()
	defer func() {
		// The deadline is needed, since the client may not read the closing frame either.
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

// discard reads until the connection is closed. Clients send no messages; reading answers their pings and notices when
// they close.
func (s *webSocketStream) discard() {
	defer close(s.gone)
	// Any end of the connection is the same here.
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

// flush does nothing: event has sent it.
func (s *webSocketStream) flush(*watchBuffers) error { return nil }
