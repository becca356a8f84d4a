package play

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports of lessons lie below the range that systems use for outgoing connections, so that no connection takes one in
// the meantime.
const (
	portsFrom = 20000
	portsTo   = 32000
	portTries = 100
)

// freePorts finds n free ports in a row. It starts at a random port, so that lessons which start at the same time get
// different ones.
func freePorts(n int) ([]int, error) {
	if n == 0 {
		return nil, nil
	}
	var err error
	for range portTries {
		ports := make([]int, n)
		first := portsFrom + rand.IntN(portsTo-portsFrom-n)
		for i := range ports {
			ports[i] = first + i
		}
		if err = tryPorts(ports); err == nil {
			return ports, nil
		}
	}
	return nil, fmt.Errorf("find %d free ports for the lesson: %w", n, err)
}

// tryPorts listens on all of them for a moment.
func tryPorts(ports []int) (err error) {
	for _, port := range ports {
		l, listenErr := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if listenErr != nil {
			return listenErr
		}
		defer func() { err = errors.Join(err, l.Close()) }()
	}
	return nil
}

// variable returns the value of a variable for flags of servers and for commands; ok is false if there is no such
// variable.
func (p *Play) variable(name string) (value string, ok bool) {
	if name == "PWD" {
		return p.work(), true
	}
	for i, port := range p.ports {
		if name == portVariable(i) {
			return strconv.Itoa(port), true
		}
	}
	return "", false
}

// portVariable names the port of an index: the first is PORT1.
func portVariable(i int) string { return "PORT" + strconv.Itoa(i+1) }
