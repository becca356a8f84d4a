package join

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kx-apiserver/kx/server/identity"
)

// Place holds a command's kubeconfig and its server's address.
type Place struct {
	// Kubeconfig is the file to use.
	Kubeconfig string
	// Server is the address of the data directory's server. It overrides the address in the file, which may be an
	// earlier server's.
	Server string

	users *os.File
}

// Leave releases the lock that keeps an owner's server running.
func (p *Place) Leave() {
	if p.users != nil {
		p.users.Close()
		p.users = nil
	}
}

// onlyVariable is the environment variable for the process that an owner starts. It holds the data directory: the
// process must wait for the owner's server, and not start one.
const onlyVariable = "KX_JOIN_ONLY"

const (
	usersName = "kx.users"
	// lookEvery is the interval at which a command checks whether a starting server is ready.
	lookEvery = 4 * time.Millisecond
	// startWait limits the wait for a starting server.
	startWait = time.Minute
	// dialWait limits the TLS handshake with a server on this machine.
	dialWait = 5 * time.Second
)

// ErrNone is returned if no server answers for a data directory.
var ErrNone = errors.New("no server runs")

// JoinRunning joins the server that owns a data directory. The error is [ErrNone] if no server runs.
func JoinRunning(dir string) (*Place, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	users, err := openUsers(dir, false)
	if err != nil {
		return nil, err
	}
	p := &Place{Kubeconfig: filepath.Join(dir, "kubeconfig"), users: users}
	if p.Server, err = answeringServer(dir, p.Kubeconfig); err != nil {
		p.Leave()
		return nil, err
	}
	if err := enter(users); err != nil {
		p.Leave()
		return nil, err
	}
	return p, nil
}

func openUsers(dir string, alone bool) (*os.File, error) {
	f, err := identity.OpenPrivate(filepath.Join(dir, usersName), os.O_APPEND)
	if err != nil {
		return nil, fmt.Errorf("open the list of users: %w", err)
	}
	err = lock(f, alone)
	if err == nil && alone {
		err = f.Truncate(0) // the list has only users that have left
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return f, nil
}

// answeringServer returns the address of the server that owns dir, if it answers.
func answeringServer(dir, kubeconfig string) (string, error) {
	owner, err := identity.ReadOwner(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && owner.Address == "":
		return "", ErrNone
	case err != nil:
		return "", err
	}
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		return "", ErrNone
	}
	roots := x509.NewCertPool()
	for _, cluster := range config.Clusters {
		roots.AppendCertsFromPEM(cluster.CertificateAuthorityData)
	}
	address := strings.TrimPrefix(owner.Address, "https://")
	dialer := &net.Dialer{Timeout: dialWait}
	conn, err := tls.DialWithDialer(dialer, "tcp", address, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
	if err != nil {
		return "", ErrNone // the server has stopped, or another program has its address now
	}
	conn.Close()
	return owner.Address, nil
}

// Find joins the server that owns dir, or starts one for this command. If it starts one, the command has ended when
// Find returns: place is nil, and code is the command's exit code.
func Find(ctx context.Context, dir string, say func(string)) (place *Place, code int, err error) {
	only := os.Getenv(onlyVariable) == dir
	_ = os.Unsetenv(onlyVariable) // programs that the command starts, such as an editor, must not inherit it
	place, err = JoinRunning(dir)
	if err == nil || !errors.Is(err, ErrNone) {
		return place, 0, err
	}
	if !only {
		code, err = startOwn(ctx, dir, say)
		return nil, code, err
	}
	place, err = await(ctx, dir)
	return place, 0, err
}

// await joins the starting server of dir.
func await(ctx context.Context, dir string) (*Place, error) {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	for {
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return nil, fmt.Errorf("the server that was to start over %s does not answer: %w", dir, ctx.Err())
		}
		if place, err := JoinRunning(dir); err == nil || !errors.Is(err, ErrNone) {
			return place, err
		}
	}
}

// Look finds the server that owns dir, and starts none. The caller does not count as a user, so the server may stop
// at any time.
func Look(dir string) (*Place, error) {
	p := &Place{Kubeconfig: filepath.Join(dir, "kubeconfig")}
	var err error
	if p.Server, err = answeringServer(dir, p.Kubeconfig); errors.Is(err, ErrNone) {
		err = fmt.Errorf("no kx runs on %s: start one with kx serve, or say which server to use with --kubeconfig", dir)
	}
	return p, err
}

// SelectsOther reports whether --kubeconfig, or else KUBECONFIG, selects another server than that of dir.
func SelectsOther(dir, kubeconfig string) bool {
	if kubeconfig == "" {
		kubeconfig = os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
	}
	if kubeconfig == "" {
		return false
	}
	own := filepath.Join(dir, "kubeconfig")
	if filepath.Clean(kubeconfig) == own {
		return false
	}
	a, errA := os.Stat(kubeconfig)
	b, errB := os.Stat(own)
	return errA != nil || errB != nil || !os.SameFile(a, b)
}
