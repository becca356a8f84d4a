package export

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// TestBrowser opens pages in a browser, if there is one on this machine: it shows the story, what folds, and the code, and nothing
// that a journey says becomes an element.
func TestBrowser(t *testing.T) {
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" || testing.Short() {
		t.Skip("there is no Chromium on this machine")
	}
	all := recorded(t)
	evil := hostile(strings.Join(words, " "))
	for _, test := range []struct {
		name    string
		journey *v1alpha1.Journey
		shown   []string
	}{
		{"patch", all["patch"], []string{"The generic Store updates", "etcd gets a transaction on", "<details", "call(`&lt;b&gt;`"}},
		{"hostile", evil, []string{"&lt;script&gt;alert(1)&lt;/script&gt;"}},
	} {
		file := filepath.Join(t.TempDir(), test.name+".html")
		if err := os.WriteFile(file, []byte(write(t, HTML, &Document{Saved: saved, Journeys: []*v1alpha1.Journey{test.journey}, Files: files})), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--user-data-dir="+t.TempDir(),
			"--host-resolver-rules=MAP * ~NOTFOUND", "--dump-dom", "file://"+file)
		cmd.WaitDelay = 10 * time.Second
		dom, err := cmd.Output()
		if len(dom) == 0 {
			t.Skipf("%s does not run here: %v", browser, err) // such as one that is not installed whole
		}
		_, body, _ := strings.Cut(string(dom), "<body")
		for _, text := range test.shown {
			if !strings.Contains(body, text) {
				t.Errorf("%s: the browser does not show %q:\n%s", test.name, text, body)
			}
		}
		if found := regexp.MustCompile(`(?i)<(script|img|iframe|object|b)\b`).FindString(body); found != "" {
			t.Errorf("%s: what a journey says became the element %s", test.name, found)
		}
	}
}
