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

// Place is where a command finds its server.
type Place struct {
	// Kubeconfig is the file to use.
	Kubeconfig string
	// Server is the address of the data directory's server. It goes before the one in the file, which an earlier server
	// may have written.
	Server string

	users *os.File
}

// Leave tells an owner that this command no longer uses its server.
func (p *Place) Leave() {
	if p.users != nil {
		p.users.Close()
		p.users = nil
	}
}

// onlyVariable is set, to the data directory, for the process that an owner starts: the server is about to come.
const onlyVariable = "KX_JOIN_ONLY"

const (
	usersName = "kx.users"
	// lookEvery is how often a command looks whether a server that starts is ready.
	lookEvery = 4 * time.Millisecond
	// startWait is how long it may take.
	startWait = time.Minute
	// dialWait is how long a server of this machine may take to say hello.
	dialWait = 5 * time.Second
)

// ErrNone says that no server answers for a data directory.
var ErrNone = errors.New("no server runs")

// Running joins the server that owns a data directory. The error is [ErrNone] if there is none.
func Running(dir string) (*Place, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	users, err := openUsers(dir, false)
	if err != nil {
		return nil, err
	}
	p := &Place{Kubeconfig: filepath.Join(dir, "kubeconfig"), users: users}
	if p.Server, err = answering(dir, p.Kubeconfig); err != nil {
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
		err = f.Truncate(0) // nobody is left
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return f, nil
}

// answering is the address of the server that owns dir, if it answers.
func answering(dir, kubeconfig string) (string, error) {
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
		return "", ErrNone // it is gone, or what answers now at its address is something else
	}
	conn.Close()
	return owner.Address, nil
}

// Find joins the server that owns dir, or starts one for this command. If it started one, the command is over when Find
// returns: there is no place, and code is its exit code.
func Find(ctx context.Context, dir string, say func(string)) (place *Place, code int, err error) {
	only := os.Getenv(onlyVariable) == dir
	_ = os.Unsetenv(onlyVariable) // what the command starts, an editor say, may do as it likes
	place, err = Running(dir)
	if err == nil || !errors.Is(err, ErrNone) {
		return place, 0, err
	}
	if !only {
		code, err = own(ctx, dir, say)
		return nil, code, err
	}
	place, err = await(ctx, dir)
	return place, 0, err
}

// await joins the server that is being started over dir.
func await(ctx context.Context, dir string) (*Place, error) {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	for {
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return nil, fmt.Errorf("the server that was to start over %s does not answer: %w", dir, ctx.Err())
		}
		if place, err := Running(dir); err == nil || !errors.Is(err, ErrNone) {
			return place, err
		}
	}
}

// Look finds the server that owns dir, and starts none. Who looks is no user: the server may stop at any time.
func Look(dir string) (*Place, error) {
	p := &Place{Kubeconfig: filepath.Join(dir, "kubeconfig")}
	var err error
	if p.Server, err = answering(dir, p.Kubeconfig); errors.Is(err, ErrNone) {
		err = fmt.Errorf("no kx runs on %s: start one with kx serve, or say which server to use with --kubeconfig", dir)
	}
	return p, err
}

// Elsewhere says whether a command is meant for another server than the one of dir: if --kubeconfig says so, or else
// KUBECONFIG does.
func Elsewhere(dir, kubeconfig string) bool {
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
