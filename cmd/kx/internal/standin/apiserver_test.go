package standin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHalfAPair: a certificate or a key that is alone in --cert-dir is not overwritten.
func TestHalfAPair(t *testing.T) {
	t.Parallel()
	for _, name := range []string{certFile, keyFile} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("of the user"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ParseAPIServer([]string{"--etcd-servers=http://127.0.0.1:1", "--cert-dir=" + dir}, "")
		if err == nil || !strings.Contains(err.Error(), dir+" has only one of ") {
			t.Errorf("%s alone: %v", name, err)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != "of the user" {
			t.Errorf("%s is %q, %v", name, text, err)
		}
	}
}
