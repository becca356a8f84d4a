package identity

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

// clock is one that a test sets.
type clock struct{ time time.Time }

func (c *clock) now() time.Time { return c.time }

// kept is a server whose clock the test sets, and what it logs.
type kept struct {
	*TLS
	clock *clock
	dir   *DataDir
	log   *bytes.Buffer
	url   string
}

func keep(t *testing.T, files Files) *kept {
	t.Helper()
	k := &kept{clock: &clock{time.Now()}, dir: open(t, t.TempDir()), log: &bytes.Buffer{}}
	t.Cleanup(func() { k.dir.Close() })
	a, err := loadAuthority(k.dir, authorityName, k.clock.now)
	must(t, err)
	k.TLS, err = NewTLS(a, files, nil, slog.New(slog.NewTextHandler(k.log, nil)))
	must(t, err)
	k.url = serveTLS(t, k.TLS, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := "nobody"
		for _, c := range r.TLS.PeerCertificates {
			_, err := c.Verify(x509.VerifyOptions{Roots: k.ClientCAs(), CurrentTime: k.clock.now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
			if who = c.Subject.CommonName; err != nil {
				who = err.Error()
			}
		}
		_, _ = io.WriteString(w, who)
	}))
	must(t, k.WriteKubeconfig(k.dir.File("kubeconfig"), k.url))
	return k
}

// client is one with the kubeconfig as it is now, and with the server's clock.
func (k *kept) client(t *testing.T) *http.Client {
	t.Helper()
	config, err := clientcmd.LoadFromFile(k.dir.File("kubeconfig"))
	must(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(config.Clusters["kx"].CertificateAuthorityData)
	pair, err := tls.X509KeyPair(config.AuthInfos[AdminUser].ClientCertificateData, config.AuthInfos[AdminUser].ClientKeyData)
	must(t, err)
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}, Time: k.clock.now},
	}}
}

// ask is whom the server takes a client for, or why the client does not believe the server.
func (k *kept) ask(client *http.Client) string {
	res, err := client.Get(k.url)
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err.Error()
	}
	return string(body)
}

const day = 24 * time.Hour

// TestKeep goes through twelve years: whoever reads the kubeconfig comes in, whenever that is.
func TestKeep(t *testing.T) {
	k := keep(t, Files{})
	begin, authority := k.clock.time, k.authority
	old := k.client(t)
	for _, step := range []struct {
		days int // since the begin
		old  string
		log  string // what was renewed
	}{
		{0, AdminUser, ""},
		{334, AdminUser, ""},
		{336, AdminUser, "serving administrator"},
		{364, AdminUser, ""},
		{367, "expired", ""},
		{336 + 336, "expired", "serving administrator"},
		{365 * 9, "expired", "authority serving administrator"},
		{365*9 + 300, "expired", ""},
		{365 * 11, "unknown authority", "serving administrator"},
		{365 * 12, "unknown authority", "serving administrator"},
		{-400, "unknown authority", "authority serving administrator"}, // a clock that is set back
		{1, AdminUser, "serving administrator"},                        // and right again
	} {
		k.log.Reset()
		k.clock.time = begin.Add(time.Duration(step.days) * day)
		k.renew()
		if got := k.ask(k.client(t)); got != AdminUser {
			t.Errorf("day %d: who reads the kubeconfig: %s", step.days, got)
		}
		if got := k.ask(old); !strings.Contains(got, step.old) {
			t.Errorf("day %d: who has the first kubeconfig: %s, want %s", step.days, got, step.old)
		}
		var renewed []string
		for line := range strings.Lines(k.log.String()) {
			_, what, _ := strings.Cut(line, "certificate=")
			what, _, _ = strings.Cut(what, " ")
			renewed = append(renewed, what)
		}
		if got := strings.Join(renewed, " "); got != step.log {
			t.Errorf("day %d: renewed %q, want %q", step.days, got, step.log)
		}
	}
	if !k.authority.key.Equal(authority.key) {
		t.Error("the authority has another key: what it signed before is lost")
	}
}

// TestAuthorityOutlivesWhatItSigned: a kubeconfig that was written the day before the authority is renewed is good for as
// long as the certificate in it.
func TestAuthorityOutlivesWhatItSigned(t *testing.T) {
	k := keep(t, Files{})
	k.clock.time = k.authority.cert.NotAfter.Add(-renewAuthorityBefore - day)
	k.renew()
	old := k.client(t)
	written := k.kubeconfig.cert
	k.clock.time = k.clock.time.Add(2 * day)
	k.renew()
	if k.authority.cert.NotAfter.Sub(k.clock.time) < 9*365*day {
		t.Fatalf("the authority was not renewed: it ends %v", k.authority.cert.NotAfter)
	}
	for _, when := range []time.Time{k.clock.time, written.NotAfter.Add(-time.Minute)} {
		k.clock.time = when
		k.renew()
		if got := k.ask(old); got != AdminUser {
			t.Errorf("%v: %s", when, got)
		}
	}
}

// TestClockSetBackIsNoticedByConnecting: nobody waits for the next look at the certificates.
func TestClockSetBackIsNoticedByConnecting(t *testing.T) {
	k := keep(t, Files{})
	k.clock.time = k.clock.time.Add(-365 * day)
	_ = k.ask(k.client(t)) // does not believe the server, but wakes it
	if got := k.ask(k.client(t)); got != AdminUser {
		t.Error(got)
	}
}

// TestExpiredAtStart: the authority of a directory that was not used for ten years is renewed with its key.
func TestExpiredAtStart(t *testing.T) {
	d := open(t, t.TempDir())
	defer d.Close()
	past := &clock{time.Now().AddDate(-11, 0, 0)}
	old, err := loadAuthority(d, authorityName, past.now)
	must(t, err)
	a, err := LoadAuthority(d)
	must(t, err)
	again, err := LoadAuthority(d)
	must(t, err)
	if !a.key.Equal(old.key) || ends(a.cert, time.Now(), 9*365*day) || !again.cert.Equal(a.cert) || again.renewed {
		t.Errorf("the authority ends %v, and at the next start %v", a.cert.NotAfter, again.cert.NotAfter)
	}
	must(t, os.Remove(d.File("ca.crt")))
	if again, err = LoadAuthority(d); err != nil || !again.key.Equal(old.key) {
		t.Errorf("a key without a certificate: %v", err)
	}
}

// TestForeignAuthority: one that kx did not make is not renewed, but told of.
func TestForeignAuthority(t *testing.T) {
	k := keep(t, Files{})
	root := *k.authority
	template := *root.cert
	template.RawSubject, template.Subject.CommonName = nil, "our-company"
	der, err := root.sign(&template, root.cert, &root.key.PublicKey, 1)
	must(t, err)
	must(t, os.WriteFile(k.dir.File("ca.crt"), encodeCert(der), 0o644))
	a, err := loadAuthority(k.dir, authorityName, k.clock.now)
	must(t, err)
	k.clock.time = k.clock.time.AddDate(1, 0, -20)
	if a.ends() {
		t.Error("it would be renewed")
	}
	if given := (Files{}).certificates(a); len(given) != 1 || given[0].flag != "data-dir" {
		t.Errorf("told of: %+v", given)
	}
}

// TestWarn: what was given is told of a month before its end, once a day.
func TestWarn(t *testing.T) {
	other := keep(t, Files{})
	certPEM, keyPEM, err := other.authority.issue(&x509.Certificate{DNSNames: []string{"kx.test"}})
	must(t, err)
	cert, key, etcdCA := other.dir.File("tls.crt"), other.dir.File("tls.key"), other.dir.File("etcd-ca.crt")
	must(t, os.WriteFile(cert, append(certPEM, other.authority.CertPEM()...), 0o600))
	must(t, os.WriteFile(key, keyPEM, 0o600))
	// Of two authorities the one that ends later counts.
	must(t, os.WriteFile(etcdCA, append(bytes.Clone(other.authority.CertPEM()), certPEM...), 0o600))
	k := keep(t, Files{TLSCert: cert, TLSKey: key, EtcdCA: etcdCA})
	begin := k.clock.time
	for _, step := range []struct {
		after time.Duration
		want  string
	}{
		{0, ""},
		{334 * day, ""},
		{337 * day, "a certificate expires soon: replace it in its file"},
		{337*day + 23*time.Hour, ""},
		{338*day + time.Hour, "a certificate expires soon"},
		{366 * day, "a certificate has expired: replace it in its file"},
		{-2 * day, "a certificate is not valid yet: set the clock, or replace it in its file"},
	} {
		k.log.Reset()
		k.clock.time = begin.Add(step.after)
		k.warn()
		got := k.log.String()
		if !strings.Contains(got, step.want) || step.want == "" && got != "" {
			t.Errorf("after %v: %q, want %q", step.after, got, step.want)
		}
		if step.want != "" && step.after > 0 && (!strings.Contains(got, "flag=--tls-cert-file") || strings.Contains(got, "etcd")) {
			t.Errorf("after %v: %q", step.after, got)
		}
	}
}
