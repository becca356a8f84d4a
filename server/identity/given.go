package identity

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/kx-apiserver/kx/server/reload"
)

// Reload takes over the serving certificate and the authorities of clients from their files whenever these change,
// until ctx ends. A file that is of no use changes nothing.
func (t *TLS) Reload(ctx context.Context) {
	var running sync.WaitGroup
	for _, keeper := range t.keepers {
		running.Go(func() { keeper.Run(ctx) })
	}
	running.Wait()
}

// load takes over files, and has Reload do so again when they change.
func (t *TLS) load(what string, source reload.Source, take func(files []reload.File) error) error {
	files, hash, err := source.Read()
	if err == nil {
		err = take(files)
	}
	if err != nil {
		return err
	}
	t.keepers = append(t.keepers, reload.New(reload.Config{
		Source: source, What: what, Log: t.log,
		Take: func(_ context.Context, files []reload.File, _ string) error { return t.retake(files, take) },
	}, hash))
	return nil
}

// retake takes over changed files.
func (t *TLS) retake(files []reload.File, take func(files []reload.File) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := take(files); err != nil {
		return err
	}
	t.given = t.files.certificates(t.authority)
	t.measure()
	next := t.Config.Clone()
	next.GetConfigForClient, next.ClientCAs = nil, t.hint()
	t.changed.Store(next)
	return nil
}

// takeClientCA takes over the authorities of --client-ca-file. The caller holds t.mu, or is NewTLS.
func (t *TLS) takeClientCA(files []reload.File) error {
	if !x509.NewCertPool().AppendCertsFromPEM(files[0].Data) {
		return fmt.Errorf("%s holds no certificate in PEM", files[0].Path)
	}
	t.clientCA = files[0].Data
	t.believe(t.authority)
	return nil
}

// takeServing takes over a serving certificate and its key. The caller holds t.mu, or is NewTLS.
func (t *TLS) takeServing(files []reload.File) error {
	cert, err := tls.X509KeyPair(files[0].Data, files[1].Data)
	if err != nil {
		return fmt.Errorf("%s with the key of %s: %w", files[0].Path, files[1].Path, err)
	}
	t.serving.Store(&cert)
	// A given certificate may be its own authority or include its chain, so kubeconfigs trust the whole file.
	t.replaceServerCA(files[0].Data)
	if t.kubeconfig.cert != nil {
		t.renewKubeconfig()
	}
	return nil
}

// replaceServerCA replaces the certificates by which clients verify the server. The caller holds t.mu, or is NewTLS.
func (t *TLS) replaceServerCA(pem []byte) {
	t.serverCA = pem
	close(t.renewedCA)
	t.renewedCA = make(chan struct{})
}

// hint returns the authorities that the server names to clients, which send a certificate only if one of them has
// signed it. The caller holds t.mu, or is NewTLS.
func (t *TLS) hint() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(slices.Concat(t.authority.CertPEM(), t.clientCA, t.requestHeaderCA))
	return pool
}

// readRequestHeaderCA reads the authorities of proxies that name users in headers.
func (t *TLS) readRequestHeaderCA(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read --requestheader-client-ca-file: %w", err)
	}
	t.requestHeaderCAs = x509.NewCertPool()
	if !t.requestHeaderCAs.AppendCertsFromPEM(data) {
		return fmt.Errorf("read --requestheader-client-ca-file: %s holds no certificate in PEM", file)
	}
	t.requestHeaderCA = data
	return nil
}
