//go:build unix

package backup

import (
	"errors"
	"os"
)

// syncDir makes changes of a directory's names survive a crash of the machine.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
