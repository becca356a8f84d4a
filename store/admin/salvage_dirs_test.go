package admin

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/kx-apiserver/kx/store/datadir"
)

// TestNoDirectoryNamed gives "" for the directory to make, as an unset variable of a shell does. What is in the working
// directory must stay.
func TestNoDirectoryNamed(t *testing.T) {
	dir := t.TempDir()
	writeKeys(t, dir, 0, 1)
	t.Chdir(t.TempDir())
	mine := map[string]string{"part/mine": "x", "member/snap/db": "y"}
	for name, data := range mine {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, salvageErr := Salvage(t.Context(), SalvageOptions{From: dir, Bump: 1})
	_, restoreErr := Restore(t.Context(), RestoreOptions{File: datadir.DatabasePath(dir), Bump: 1}, nil)
	for name, err := range map[string]error{"salvage": salvageErr, "restore": restoreErr} {
		if err == nil || !strings.Contains(err.Error(), "no directory to make") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, data := range mine {
		if got, err := os.ReadFile(name); err != nil || string(got) != data {
			t.Errorf("%s has %d bytes, %v", name, len(got), err)
		}
	}
}

// TestSalvageFromElsewhere names the directory to make relative to the working directory, which is the one to read.
func TestSalvageFromElsewhere(t *testing.T) {
	dir := t.TempDir()
	writeKeys(t, dir, 0, 1)
	t.Chdir(dir)
	_, err := Salvage(t.Context(), SalvageOptions{From: dir, Dir: "new", Bump: 1})
	if err == nil || !strings.Contains(err.Error(), "which is only read") {
		t.Errorf("got %v", err)
	}
}

// TestSalvageNamelessKey damages the length of a key, which then is none that a database takes.
func TestSalvageNamelessKey(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "db"), filepath.Join(t.TempDir(), "db")
	err := update(from, func(tx *bolt.Tx) error {
		for _, name := range []string{string(keyBucket), string(metaBucket), "lease"} {
			b, err := tx.CreateBucket([]byte(name))
			if err != nil {
				return err
			}
			if name == "lease" {
				return b.Put([]byte("damaged"), []byte("value"))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, []byte("damagedvalue"))
	if at < 0 {
		t.Fatal("the key is not there")
	}
	overwriteAt(t, from, int64(at-8), make([]byte, 4))
	lost, err := copyPages(from, to)
	if err != nil || len(lost) != 1 || lost[0].Bucket != "lease" {
		t.Errorf("lost %v, %v", lost, err)
	}
	if _, err := datadir.ReadDatabase(to); err != nil {
		t.Error(err)
	}
}

// TestSalvageCannotWrite has no room for the new database. That says nothing about the damaged one, which is not to be taken
// for empty.
func TestSalvageCannotWrite(t *testing.T) {
	dir, part := t.TempDir(), t.TempDir()
	writeKeys(t, dir, 0, 1)
	if err := os.MkdirAll(datadir.DatabasePath(part), 0o700); err != nil { // a directory where the file will be
		t.Fatal(err)
	}
	s := &salvage{from: dir, part: part, out: &SalvageResult{}}
	if err := s.copyDatabase(); err == nil || len(s.out.Losses) > 0 {
		t.Errorf("%v, lost %v", err, s.out.Losses)
	}
}
