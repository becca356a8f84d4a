package work_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/server/controller/work"
)

func certificate(t *testing.T, ends time.Time) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: ends}
	data, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: data}))
}

// TestTrust: a server on an etcd of its own says whom to trust. One of several leaves what the others say.
func TestTrust(t *testing.T) {
	future := time.Now().Add(time.Hour)
	own, other, over := certificate(t, future), certificate(t, future), certificate(t, time.Now().Add(-time.Hour))
	broken := "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
	key := "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
	for name, c := range map[string]struct {
		have          string
		alone, shared string
	}{
		"nothing":                   {"", own, own},
		"its own":                   {own, own, own},
		"no certificate":            {"rubbish", own, own},
		"another":                   {other, own, own + other},
		"both":                      {own + other, own, own + other},
		"both, the other way round": {other + own, own, other + own},
		"one that is over":          {other + over, own, own + other},
		"both, and one is over":     {own + other + over, own, own + other},
		"both, and rubbish":         {own + "rubbish\n" + other, own, own + other},
		"rubbish at the end":        {own + other + "rubbish", own, own + other},
		"a broken one":              {own + broken + other, own, own + other},
		"a key":                     {key + own + other, own, own + other},
	} {
		for _, shared := range []bool{false, true} {
			want := map[bool]string{false: c.alone, true: c.shared}[shared]
			kit := &work.Kit{ServerCA: func() ([]byte, <-chan struct{}) { return []byte(own), nil }, Shared: shared}
			got := string(kit.Trust([]byte(c.have)))
			if got != want {
				t.Errorf("%s, shared %v:\ngot\n%s\nwant\n%s", name, shared, got, want)
			}
			if again := string(kit.Trust([]byte(got))); again != got {
				t.Errorf("%s, shared %v: it is not the same when it is looked at again", name, shared)
			}
		}
	}
}
