package disk

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// asked is a context that ends once it has been asked for its end some times.
type asked struct {
	context.Context
	left int
}

func (a *asked) Err() error {
	if a.left--; a.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestCopy copies a file of more than one chunk, and leaves nothing of one whose copying is interrupted in its middle.
func TestCopy(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	content := bytes.Repeat([]byte("0123456789abcdef"), 2*copyChunk/16+1)
	if err := os.WriteFile(from, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Copy(&asked{t.Context(), 2}, from, to, 0o600); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the part that was copied is still there: %v", err)
	}
	if err := Copy(t.Context(), from, to, 0o640); err != nil {
		t.Fatal(err)
	}
	if copied, err := os.ReadFile(to); err != nil || !bytes.Equal(copied, content) {
		t.Errorf("%d bytes of %d, %v", len(copied), len(content), err)
	}
	if err := Copy(t.Context(), from, to, 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file: %v", err)
	}
	if copied, err := os.ReadFile(to); err != nil || !bytes.Equal(copied, content) {
		t.Errorf("it was not left alone: %d bytes, %v", len(copied), err)
	}
}
