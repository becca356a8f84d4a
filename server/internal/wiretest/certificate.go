package wiretest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"
)

// certificates has what requests of signers may name. Servers compare it with their clock, so it is made anew each
// time:
//
//	{stub}                    a request for a certificate, of a key that is always the same
//	{certificate}             the answer, valid from {notBefore} to {notAfter}; {refreshAt} lies between
//	{short certificate}       one that is valid for half an hour, until {shortAfter}
//	{certificate of another}  one for another key
//
// All values are as JSON has them between the quotes.
func certificates(t testing.TB) map[string]string {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	stub, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	must(err)
	before := time.Now().UTC().Add(-time.Minute).Truncate(time.Second)
	sign := func(key ed25519.PrivateKey, lifetime time.Duration) string {
		template := &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "pod"}, NotBefore: before, NotAfter: before.Add(lifetime),
		}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		must(err)
		return strings.ReplaceAll(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), "\n", `\n`)
	}
	at := func(after time.Duration) string { return before.Add(after).Format(time.RFC3339) }
	return map[string]string{
		"stub":                   base64.StdEncoding.EncodeToString(stub),
		"certificate":            sign(key, 2*time.Hour),
		"short certificate":      sign(key, 30*time.Minute),
		"certificate of another": sign(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, ed25519.SeedSize)), 2*time.Hour),
		"notBefore":              at(0),
		"notAfter":               at(2 * time.Hour),
		"refreshAt":              at(time.Hour),
		"shortAfter":             at(30 * time.Minute),
	}
}
