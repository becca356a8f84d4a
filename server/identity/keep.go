package identity

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"os"
	"time"
)

const (
	// keepEvery is the time between checks of certificates, and warnEvery the time between warnings of those that kx
	// can't renew.
	keepEvery = time.Hour
	warnEvery = 24 * time.Hour
)

// Keep renews kx's certificates before they end, and warns of foreign ones, until ctx ends.
func (t *TLS) Keep(ctx context.Context) {
	ticker := time.NewTicker(keepEvery)
	defer ticker.Stop()
	for {
		t.renew()
		t.warn()
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// WriteKubeconfig writes an administrator's kubeconfig for the server at an address. From then on Keep renews it.
func (t *TLS) WriteKubeconfig(file, server string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kubeconfig.file, t.kubeconfig.server = file, server
	return t.writeKubeconfig()
}

// writeKubeconfig makes a new certificate for the kubeconfig. The caller holds t.mu.
func (t *TLS) writeKubeconfig() (err error) {
	k := &t.kubeconfig
	k.cert, err = t.authority.writeKubeconfig(k.file, k.server, t.serverCA)
	return err
}

// renew renews certificates that end soon, or are not valid yet because a clock was wrong. After a failure, Keep tries
// again an hour later.
func (t *TLS) renew() {
	t.mu.Lock()
	defer t.mu.Unlock()
	renewed := false
	if t.authority.ends() {
		next, err := t.authority.renew()
		if err == nil {
			t.authority, renewed = next, true
			t.believe(next)
			if t.ownServing {
				t.replaceServerCA(next.CertPEM())
			}
		}
		t.tellRenewal("authority", t.authority.cert, err)
	}
	if t.ownServing && (renewed || ends(t.serving.Load().Leaf, t.now(), renewBefore)) {
		err := t.serveOwn(t.authority)
		t.tellRenewal("serving", t.serving.Load().Leaf, err)
	}
	if cert := t.kubeconfig.cert; cert != nil && (renewed || t.kubeconfig.stale || ends(cert, t.now(), renewBefore)) {
		t.renewKubeconfig()
	}
	t.measure()
}

// renewKubeconfig writes the kubeconfig again, or leaves that to the next renew. The caller holds t.mu.
func (t *TLS) renewKubeconfig() {
	k := &t.kubeconfig
	cert := k.cert
	err := t.writeKubeconfig()
	if k.stale = err != nil; k.stale {
		k.cert = cert
	}
	t.tellRenewal("administrator", k.cert, err)
}

func (t *TLS) tellRenewal(what string, cert *x509.Certificate, err error) {
	if err != nil {
		t.log.Error("a certificate could not be renewed", "certificate", what, "ends", cert.NotAfter, "error", err)
		return
	}
	t.log.Info("renewed a certificate", "certificate", what, "ends", cert.NotAfter)
}

// measure sets the metrics of certificates' ends. The caller holds t.mu.
func (t *TLS) measure() {
	t.Metrics.CertificateEnds("authority", t.authority.cert.NotAfter)
	t.Metrics.CertificateEnds("serving", t.serving.Load().Leaf.NotAfter)
	if cert := t.kubeconfig.cert; cert != nil {
		t.Metrics.CertificateEnds("administrator", cert.NotAfter)
	}
	for _, g := range t.given {
		t.Metrics.CertificateEnds(g.flag, g.cert.NotAfter)
	}
}

// fileCertificate is a certificate from a file, which kx can't renew.
type fileCertificate struct {
	flag, file string
	cert       *x509.Certificate
}

// isReloaded reports whether Reload reads the file again when it changes.
func (c fileCertificate) isReloaded() bool {
	return c.flag == "tls-cert-file" || c.flag == "client-ca-file"
}

// certificates returns the certificate of each file whose end makes the file useless: in a chain the first one to end,
// among authorities the last one.
func (f Files) certificates(a *Authority) (all []fileCertificate) {
	add := func(flag, file string, better func(a, b *x509.Certificate) bool) {
		var chosen *x509.Certificate
		for _, cert := range certificates(file) {
			if chosen == nil || better(cert, chosen) {
				chosen = cert
			}
		}
		if chosen != nil {
			all = append(all, fileCertificate{flag, file, chosen})
		}
	}
	first := func(a, b *x509.Certificate) bool { return a.NotAfter.Before(b.NotAfter) }
	last := func(a, b *x509.Certificate) bool { return a.NotAfter.After(b.NotAfter) }
	add("tls-cert-file", f.TLSCert, first)
	add("client-ca-file", f.ClientCA, last)
	add("requestheader-client-ca-file", f.RequestHeaderCA, last)
	add("etcd-certfile", f.EtcdCert, first)
	add("etcd-cafile", f.EtcdCA, last)
	if !a.isOwn() {
		add("data-dir", a.dir.File("ca.crt"), first)
	}
	return all
}

// certificates returns the certificates of a PEM file. It ignores errors, because the code that uses the file reports
// them.
func certificates(file string) (certs []*x509.Certificate) {
	if file == "" {
		return nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			certs = append(certs, cert)
		}
	}
	return certs
}

// warn warns once a day of foreign certificates that end soon.
func (t *TLS) warn() {
	now := t.now()
	if since := now.Sub(t.warned); since >= 0 && since < warnEvery {
		return
	}
	t.warned = now
	t.mu.Lock()
	given := t.given
	t.mu.Unlock()
	for _, g := range given {
		advice := "give another and start again"
		if g.isReloaded() {
			advice = "replace it in its file"
		}
		text := ""
		switch {
		case now.Before(g.cert.NotBefore):
			text = "a certificate is not valid yet: set the clock, or " + advice
		case now.After(g.cert.NotAfter):
			text = "a certificate has expired: " + advice
		case ends(g.cert, now, renewBefore):
			text = "a certificate expires soon: " + advice
		default:
			continue
		}
		t.log.Warn(text, "flag", "--"+g.flag, "file", g.file, slog.String("subject", g.cert.Subject.String()), "begins",
			g.cert.NotBefore, "ends", g.cert.NotAfter)
	}
}
