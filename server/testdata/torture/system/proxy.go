//go:build linux

package system

import (
	"bytes"
	"io"
	"net"
	"sync"
	"time"
)

// pieceMost is how much is passed at once.
const pieceMost = 32 << 10

// Mode is how a Proxy treats what passes.
type Mode struct {
	// Cut ends all connections and every new one.
	Cut bool
	// HoldUp and HoldDown keep connections open and let nothing through: towards the server, and back. With one of
	// them alone the connection is half open.
	HoldUp, HoldDown bool
	// Delay is for each piece of data, both ways.
	Delay time.Duration
}

// Proxy listens at an address that stays, before a server whose address may change.
type Proxy struct {
	listener net.Listener
	// sender says who opened a connection, by the first data on it; nil if that makes no difference.
	sender func(first []byte) string

	mu      sync.Mutex
	changed chan struct{}
	target  string
	mode    Mode
	// from are modes for the connections of one sender.
	from  map[string]Mode
	conns map[net.Conn]string
}

// NewProxy listens on a free port.
func NewProxy(sender func(first []byte) string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: listener, sender: sender, changed: make(chan struct{}), from: map[string]Mode{}, conns: map[net.Conn]string{}}
	go p.accept()
	return p, nil
}

// Addr is where it listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Target says where the server is now. Until it is called, connections end as they come.
func (p *Proxy) Target(addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = addr
}

// Set changes the mode for all.
func (p *Proxy) Set(m Mode) { p.change(func() { p.mode = m }) }

// SetFrom changes the mode for the connections of one sender.
func (p *Proxy) SetFrom(sender string, m Mode) { p.change(func() { p.from[sender] = m }) }

func (p *Proxy) change(set func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	set()
	close(p.changed)
	p.changed = make(chan struct{})
	for conn, sender := range p.conns {
		if p.modeOf(sender).Cut {
			_ = conn.Close()
		}
	}
}

func (p *Proxy) modeOf(sender string) Mode {
	if m := p.from[sender]; m != (Mode{}) {
		return m
	}
	return p.mode
}

// Close ends all connections.
func (p *Proxy) Close() {
	_ = p.listener.Close()
	p.Set(Mode{Cut: true})
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.serve(conn)
	}
}

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	sender, first := "", []byte(nil)
	if p.sender != nil {
		data := make([]byte, pieceMost)
		n, err := client.Read(data)
		if err != nil {
			return
		}
		first = data[:n]
		sender = p.sender(first)
	}
	p.mu.Lock()
	target, cut := p.target, p.modeOf(sender).Cut
	p.mu.Unlock()
	if cut || target == "" {
		return
	}
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	if !p.keep(sender, client, server) {
		return
	}
	defer p.forget(client, server)
	var passing sync.WaitGroup
	pass := func(to io.WriteCloser, from io.Reader, held func(Mode) bool) {
		p.pass(sender, to, from, held)
		_ = client.Close()
		_ = server.Close()
	}
	passing.Go(func() {
		pass(server, io.MultiReader(bytes.NewReader(first), client), func(m Mode) bool { return m.HoldUp })
	})
	passing.Go(func() { pass(client, server, func(m Mode) bool { return m.HoldDown }) })
	passing.Wait()
}

func (p *Proxy) keep(sender string, conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.conns[c] = sender
	}
	return !p.modeOf(sender).Cut
}

func (p *Proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.conns, c)
	}
}

// pass copies until either end is gone. What is held is passed later, as after a packet that was sent again.
func (p *Proxy) pass(sender string, to io.Writer, from io.Reader, held func(Mode) bool) {
	data := make([]byte, pieceMost)
	for {
		n, err := from.Read(data)
		if n > 0 {
			if !p.wait(sender, held) {
				return
			}
			if _, err := to.Write(data[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// wait waits as the mode wants, and says whether the connection may go on.
func (p *Proxy) wait(sender string, held func(Mode) bool) bool {
	for {
		p.mu.Lock()
		m, changed := p.modeOf(sender), p.changed
		p.mu.Unlock()
		switch {
		case m.Cut:
			return false
		case held(m):
			<-changed
			continue
		case m.Delay > 0:
			time.Sleep(m.Delay)
		}
		return true
	}
}
