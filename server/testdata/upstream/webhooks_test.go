package upstream

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/kx-apiserver/kx/server/internal/hooktest"
	"github.com/kx-apiserver/kx/server/internal/wiretest"
)

// TestWebhooks asks a kube-apiserver, whose binary the environment names, what kx's TestWebhooks asks kx. Its webhook is kx's, too.
func TestWebhooks(t *testing.T) {
	binary := os.Getenv("KUBE_APISERVER")
	if binary == "" {
		t.Skip("KUBE_APISERVER does not name the binary of a kube-apiserver")
	}
	url, client := startKube(t, binary, "--disable-admission-plugins=ServiceAccount")
	c := &wiretest.Client{URL: url, Admin: client, Anyone: client}
	w := hooktest.New(t)
	w.Configure(t, c)
	datadriven.Walk(t, filepath.Join("..", "webhooks"), func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return w.Answer(t, c, d.Cmd, d.Input) })
	})
}
