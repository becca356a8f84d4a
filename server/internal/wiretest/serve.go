package wiretest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Flags reads how a server is to be started: flags, a line each. Behind an empty line stands the file that
// --admission-control-config-file names.
func Flags(t testing.TB, text string) (flags []string) {
	t.Helper()
	lines, config, found := strings.Cut(text, "\n\n")
	flags = strings.Fields(lines)
	if !found {
		return flags
	}
	file := filepath.Join(t.TempDir(), "admission.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return append(flags, "--admission-control-config-file="+file)
}
