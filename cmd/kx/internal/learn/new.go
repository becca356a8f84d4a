package learn

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/kx-apiserver/kx/docs"
)

// Template returns a commented lesson to begin from.
func Template() ([]byte, error) { return fs.ReadFile(docs.Files, "learn/template.md") }

// WriteNew writes a new lesson. It does not overwrite a file.
func WriteNew(file string, data []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already: name another file", file)
	}
	if err != nil {
		return fmt.Errorf("write the lesson: %w", err)
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
