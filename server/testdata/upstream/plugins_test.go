package upstream

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/kx-apiserver/kx/server/internal/wiretest"
)

// TestPlugins asks a kube-apiserver, whose binary the environment names, what kx's TestPlugins asks kx:
//
//	KUBE_APISERVER=/tmp/kube-apiserver go test -run TestPlugins -rewrite
//
// records what it answers.
func TestPlugins(t *testing.T) {
	binary := os.Getenv("KUBE_APISERVER")
	if binary == "" {
		t.Skip("KUBE_APISERVER does not name the binary of a kube-apiserver")
	}
	datadriven.Walk(t, filepath.Join("..", "plugins"), func(t *testing.T, path string) {
		var c *wiretest.Client
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "serve":
				// kx has no such flag: it is the level of a namespace that says who may be privileged.
				url, client := startKube(t, binary, append(wiretest.Flags(t, d.Input), "--allow-privileged")...)
				c = &wiretest.Client{URL: url, Admin: client, Anyone: &http.Client{Transport: client.Transport.(withToken).RoundTripper}}
				return ""
			case "settle": // its plugins hear of a write some time after it, and nothing says when
				time.Sleep(2 * time.Second)
				return ""
			case "setup":
				return strings.SplitN(c.Ask(t, d.Input), "\n", 2)[0]
			}
			return c.Ask(t, d.Input)
		})
	})
}
