package upstream

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/kx-apiserver/kx/server/internal/wiretest"
)

// TestAccess asks a kube-apiserver, whose binary the environment names, what kx's TestAccess asks kx:
//
//	KUBE_APISERVER=/tmp/kube-apiserver go test -run TestAccess -rewrite
//
// records what it answers to each identity.
func TestAccess(t *testing.T) {
	binary := os.Getenv("KUBE_APISERVER")
	if binary == "" {
		t.Skip("KUBE_APISERVER does not name the binary of a kube-apiserver")
	}
	datadriven.Walk(t, filepath.Join("..", "access"), func(t *testing.T, path string) {
		url, client := startKube(t, binary, "--disable-admission-plugins=ServiceAccount", "--enable-bootstrap-token-auth")
		c := &wiretest.Client{URL: url, Admin: client, Anyone: &http.Client{Transport: client.Transport.(withToken).RoundTripper}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "await" {
				return c.Await(t, d.Input)
			}
			return c.Ask(t, d.Input)
		})
	})
}
