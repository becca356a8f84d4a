//go:build linux

package torture

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLogsAreRead shows which lines of a log are found.
func TestLogsAreRead(t *testing.T) {
	lines := map[string]bool{
		`time=2026-01-01T00:00:00.000Z level=INFO msg="stopping: requests in flight may finish"`: false,
		`time=2026-01-01T00:00:00.000Z level=WARN msg="slow"`:                                    false,
		`time=2026-01-01T00:00:00.000Z level=ERROR msg="stopping" error="no space left"`:         true,
		`panic: runtime error: index out of range`:                                               true,
		`WARNING: DATA RACE`:     true,
		`goroutine 7 [running]:`: true,
		`{"level":"fatal","ts":"2026-01-01T00:00:00.000Z","msg":"failed to save"}`: true,
	}
	for line, alarming := range lines {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "kx-0.log"), []byte("first\n"+line+"\nlast\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := checkLogs(dir); (err != nil) != alarming || alarming && !strings.Contains(err.Error(), line) {
			t.Errorf("%s: %v", line, err)
		}
	}
}
