package factory_test

import (
	"io"
	"net"
	"testing"
)

// proxy forwards connections and tells of them.
type proxy struct {
	address string
	opened  chan struct{}
	closed  chan struct{}
}

func countConnections(t *testing.T, to string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	p := &proxy{listener.Addr().String(), make(chan struct{}, 100), make(chan struct{}, 100)}
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			p.opened <- struct{}{}
			go p.forward(from, to)
		}
	}()
	return p
}

func (p *proxy) forward(from net.Conn, address string) {
	defer func() { p.closed <- struct{}{} }()
	defer func() { _ = from.Close() }()
	to, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	go func() { _, _ = io.Copy(from, to) }()
	_, _ = io.Copy(to, from)
}
