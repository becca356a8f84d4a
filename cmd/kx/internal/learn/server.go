package learn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"time"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kx-apiserver/kx/cmd/kx/internal/proc"
	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/identity"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/tui/play"
)

// Server is a lesson's server, in this process.
type Server struct {
	// Log gets the server's log.
	Log io.Writer

	listen string // the address, set by the first start
	server *server.Server
}

var _ play.Server = (*Server)(nil)

// Start implements play.Server.
func (s *Server) Start(ctx context.Context, dir string, flags []string) (play.Address, error) {
	o := options.New()
	// A lesson shows the reader's own writes, and counts revisions. So the controllers that create service accounts
	// and ConfigMaps in each namespace are off. The plugin is off too: it would refuse pods, whose accounts are
	// missing.
	o.Admission.Disabled = []string{"ServiceAccount"}
	o.Controllers = controller.Selection{"*", "-" + controller.ServiceAccounts, "-" + controller.RootCA}
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
	o.Allow = options.Allow{Breakpoints: options.Always, Faults: options.Always, Objects: true}
	if err := o.Validate(); err != nil {
		return play.Address{}, err
	}
	started, err := s.launch(ctx, o)
	if err != nil {
		return play.Address{}, err
	}
	s.server = started
	if u, err := url.Parse(started.URL); err == nil {
		s.listen = net.JoinHostPort("127.0.0.1", u.Port())
	}
	config, err := clientcmd.BuildConfigFromFlags("", started.Kubeconfig)
	if err != nil {
		return play.Address{}, fmt.Errorf("read the kubeconfig: %w", err)
	}
	return play.Address{Config: config, Kubeconfig: started.Kubeconfig}, nil
}

// unlockWait limits the wait for the previous server's locks.
const unlockWait = 10 * time.Second

// launch starts the server. It retries while the previous server's locks are held: they are free only when the last
// copy of their files is closed, and a child that this process forks meanwhile holds copies until its exec.
func (s *Server) launch(ctx context.Context, o *options.Options) (*server.Server, error) {
	log := slog.New(slog.NewTextHandler(s.Log, nil))
	proc.SendLogs(log.Handler())
	for deadline := time.Now().Add(unlockWait); ; {
		started, err := server.Start(ctx, o, log)
		locked := errors.Is(err, identity.ErrInUse) || errors.Is(err, fileutil.ErrLocked)
		if !locked || s.listen == "" || time.Now().After(deadline) {
			return started, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
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
