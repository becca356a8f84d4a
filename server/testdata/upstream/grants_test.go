package upstream

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/kx-apiserver/kx/server/internal/wiretest"
)

// TestGrants asks a kube-apiserver, whose binary the environment names, what kx's TestGrants asks kx:
//
//	KUBE_APISERVER=/tmp/kube-apiserver go test -run TestGrants -rewrite
//
// records what it answers to users who would give more than they have.
func TestGrants(t *testing.T) {
	binary := os.Getenv("KUBE_APISERVER")
	if binary == "" {
		t.Skip("KUBE_APISERVER does not name the binary of a kube-apiserver")
	}
	datadriven.Walk(t, filepath.Join("..", "grants"), func(t *testing.T, path string) {
		url, client := startKube(t, binary, "--disable-admission-plugins=ServiceAccount")
		c := &wiretest.Client{URL: url, Admin: client, Anyone: &http.Client{Transport: client.Transport.(withToken).RoundTripper}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "await" {
				return c.Await(t, d.Input)
			}
			return c.Ask(t, d.Input)
		})
	})
}
