package check

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/options"
)

// Options returns the options of the server that checks.
func Options() *options.Options {
	o := options.New()
	o.Ephemeral = true
	o.Listen = hostname + ":443"
	// A check is over before a controller of its own accord changes what it created, and objects stay as documents have
	// them. What the verdict needs of controllers, package check does itself.
	o.Controllers = controller.Selection{"-*"}
	o.InitialObjects = false
	o.EndpointReconciler = options.ReconcilerNone
	// A set may have priority levels and webhooks, which are not to stand in the way of the check.
	o.Limits.PriorityAndFairness = false
	o.Admission.Disabled = []string{"MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"}
	o.Access.AnonymousAuth = false
	return o
}

// hostname is the name that the server's certificate has. It is never looked up.
const hostname = "localhost"

// localServer is a server in this process.
type localServer struct {
	server *server.Server
	config *rest.Config
}

// start starts a server that is reached through its config alone.
func start(ctx context.Context, o *options.Options, log *slog.Logger) (*localServer, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	within := newListener()
	s, err := server.StartWithin(ctx, o, log, within)
	if err != nil {
		return nil, fmt.Errorf("start a server to ask: %w", err)
	}
	local := &localServer{server: s}
	if local.config, err = clientcmd.BuildConfigFromFlags("", s.Kubeconfig); err != nil {
		return nil, errors.Join(fmt.Errorf("start a server to ask: %w", err), local.stop())
	}
	local.config.Dial = within.dial
	local.config.Proxy = nil
	return local, nil
}

// stopWait limits the wait for requests that an interrupt left behind.
const stopWait = time.Second

func (r *localServer) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopWait)
	defer cancel()
	return r.server.Stop(ctx)
}

// listener is a net.Listener whose connections begin and end in this process.
type listener struct {
	dialed chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newListener() *listener {
	return &listener{dialed: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.dialed:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return address{} }

func (l *listener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.dialed <- server:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// address is the address of a listener.
type address struct{}

func (address) Network() string { return "pipe" }
func (address) String() string  { return hostname + ":443" }
