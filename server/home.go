package server

import (
	"context"
	cryptotls "crypto/tls"
	"fmt"
	"net"
	"slices"

	"github.com/kx-apiserver/kx/server/backup"
	"github.com/kx-apiserver/kx/server/identity"
)

// home is where a server is and who it is: its data directory, its address, and its certificates.
type home struct {
	*base
	dir      *identity.DataDir
	listener net.Listener
	// within is true for a server whose clients are in its process.
	within bool
	// address is the one for clients on this machine.
	address string
	tls     *identity.TLS
	// proxy makes the client certificate that this server presents to the servers of APIServices, unless flags name
	// another one.
	proxy *identity.FrontProxy
}

// start opens the data directory, listens, and reads or makes the certificates.
func (h *home) start(context.Context) (err error) {
	o := h.options
	if err := h.openDataDir(); err != nil {
		return err
	}
	if !h.within {
		if h.listener, err = net.Listen("tcp", o.Listen); err != nil {
			return fmt.Errorf("listen on %s: %w; choose another address with --listen", o.Listen, err)
		}
	}
	h.address = reachable(h.listener.Addr())
	h.onClose(func() error { _ = h.listener.Close(); return nil }) // serve closes it first, unless the start fails
	authority, err := identity.LoadAuthority(h.dir)
	if err != nil {
		return err
	}
	host, _, _ := net.SplitHostPort(o.Listen)
	h.tls, err = identity.NewTLS(authority, identity.Files{
		TLSCert: o.Serving.TLSCertFile, TLSKey: o.Serving.TLSPrivateKeyFile, ClientCA: o.Access.ClientCAFile,
		RequestHeaderCA: o.Access.RequestHeader.ClientCAFile,
		EtcdCert:        o.Etcd.CertFile, EtcdCA: o.Etcd.CAFile,
	}, []string{host}, h.log)
	if err != nil {
		return err
	}
	h.tls.Metrics = h.metrics
	h.proxy = identity.NewFrontProxy(h.dir)
	return h.checkProxyCertificate()
}

func (h *home) openDataDir() (err error) {
	path := h.options.EphemeralDir
	switch {
	case !h.options.Ephemeral:
		h.dir, err = identity.OpenDataDir(h.options.DataDir)
	case path == "":
		if path, err = identity.MakeEphemeral(); err != nil {
			return err
		}
		fallthrough
	default:
		h.dir, err = identity.OpenEphemeral(path)
	}
	if err != nil {
		return err
	}
	h.onClose(h.dir.Close)
	for _, warning := range slices.Concat(h.dir.Warnings, backup.MissingParts(h.dir.Path, h.options)) {
		h.log.Warn(warning)
	}
	return nil
}

// checkProxyCertificate verifies the files that flags name for the certificate of a front proxy.
func (h *home) checkProxyCertificate() error {
	a := &h.options.Aggregator
	if a.CertFile == "" {
		return nil
	}
	if err := identity.CheckSecret("--proxy-client-key-file", a.KeyFile); err != nil {
		return err
	}
	if _, err := h.proxyCertificate(); err != nil {
		return fmt.Errorf("--proxy-client-cert-file: %w", err)
	}
	return nil
}

// proxyCertificate returns the client certificate for the servers of APIServices, or nil if there is none. It reads
// files anew for each connection, so that a renewed certificate counts at once.
func (h *home) proxyCertificate() (*cryptotls.Certificate, error) {
	a := &h.options.Aggregator
	switch {
	case a.CertFile != "":
		certificate, err := cryptotls.LoadX509KeyPair(a.CertFile, a.KeyFile)
		return &certificate, err
	case a.Own(&h.options.Access.RequestHeader):
		return h.proxy.Certificate()
	}
	return nil, nil
}

// openBackups makes the keeper of backup archives, and records for commands how this server was started.
func (s *Server) openBackups(context.Context) error {
	dir := s.home.dir
	record, err := backup.NewRecord(s.options)
	if err == nil {
		err = record.Write(dir)
	}
	if err != nil {
		return err
	}
	s.backups, err = backup.New(backup.Config{
		Options: s.options.Backup, DataDir: dir.Path, Record: record, Live: s.storage.below.Live, Registry: s.metrics.Registry,
		Log: s.log,
	})
	return err
}

// announce tells clients and commands where the server is, and keeps what they find there up to date.
func (s *Server) announce(context.Context) error {
	if s.Kubeconfig = s.options.KubeconfigOut; s.Kubeconfig == "" {
		s.Kubeconfig = s.home.dir.File("kubeconfig")
	}
	if err := s.home.tls.WriteKubeconfig(s.Kubeconfig, s.URL); err != nil {
		return err
	}
	s.run(s.home.tls.Keep, s.home.tls.Reload, s.backups.Run)
	return s.home.dir.SetOwner(s.URL)
}

// reachable returns an address for clients on this machine: a server on all interfaces is also on loopback.
func reachable(a net.Addr) string {
	if tcp, ok := a.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		a = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: tcp.Port}
	}
	return a.String()
}
