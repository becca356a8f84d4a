package learn

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"

	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/tui/play"
)

// Server is a lesson's server, in this process.
type Server struct {
	// Log has what the server logs.
	Log io.Writer

	listen string // after the first start, where it listens
	server *server.Server
}

var _ play.Server = (*Server)(nil)

// Start implements play.Server.
func (s *Server) Start(ctx context.Context, dir string, flags []string) (play.Address, error) {
	o := options.New()
	fs := pflag.NewFlagSet("kx serve", pflag.ContinueOnError)
	o.AddFlags(fs)
	if err := fs.Parse(flags); err != nil {
		return play.Address{}, fmt.Errorf("read the server's flags: %w", err)
	}
	if fs.NArg() > 0 {
		return play.Address{}, fmt.Errorf("read the server's flags: %q is none", fs.Arg(0))
	}
	o.DataDir, o.Listen = dir, s.listen
	if s.listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	o.Allow.Breakpoints, o.Allow.Faults = true, true
	if err := o.Validate(); err != nil {
		return play.Address{}, err
	}
	started, err := server.Start(ctx, o, slog.New(slog.NewTextHandler(s.Log, nil)))
	if err != nil {
		return play.Address{}, err
	}
	s.server = started
	started.Journeys.SetLevel(trace.Objects)
	if u, err := url.Parse(started.URL); err == nil {
		s.listen = net.JoinHostPort("127.0.0.1", u.Port())
	}
	config, err := clientcmd.BuildConfigFromFlags("", started.Kubeconfig)
	if err != nil {
		return play.Address{}, fmt.Errorf("read the kubeconfig: %w", err)
	}
	return play.Address{Config: config, Kubeconfig: started.Kubeconfig}, nil
}

// Stop implements play.Server.
func (s *Server) Stop(ctx context.Context) error {
	if s.server == nil {
		return nil
	}
	stopped := s.server
	s.server = nil
	return stopped.Stop(ctx)
}
