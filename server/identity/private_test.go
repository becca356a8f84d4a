//go:build unix

package identity

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestOthersInTheDirectory: what others could change is refused with what to do, what they can read is told or refused.
func TestOthersInTheDirectory(t *testing.T) {
	tests := map[string]struct {
		mode os.FileMode // of the directory
		file string      // one in it, and its mode
		as   os.FileMode
		err  string
		warn string
	}{
		"its owner's alone":                {mode: 0o700, file: "ca.crt", as: 0o644},
		"read by others":                   {mode: 0o755, file: "ca.crt", as: 0o644, warn: "can be read by others (mode 0755), and should be its owner's alone: run chmod 700"},
		"written by the group":             {mode: 0o770, file: "ca.crt", as: 0o644, err: "can be written by others (mode 0770), who could put keys of theirs into it: run chmod 700"},
		"written by all":                   {mode: 0o777, file: "ca.crt", as: 0o644, err: "can be written by others (mode 0777)"},
		"a key that others read":           {mode: 0o700, file: "ca.key", as: 0o640, err: "ca.key can be read by others (mode 0640), who could make themselves administrators"},
		"a key of tokens that others read": {mode: 0o700, file: "sa.key", as: 0o604, err: "sa.key can be read by others (mode 0604), who could make tokens of any service account"},
		"a file that others write":         {mode: 0o700, file: "ca.crt", as: 0o664, err: "ca.crt can be written by others (mode 0664): run chmod go-w"},
		"a kubeconfig that all read":       {mode: 0o700, file: "kubeconfig", as: 0o644, warn: "kubeconfig could be read by others (mode 0644), and whoever has read it is an administrator"},
		"a kubeconfig that one reads":      {mode: 0o700, file: "kubeconfig", as: 0o600},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			must(t, os.Mkdir(dir, 0o700))
			must(t, os.WriteFile(filepath.Join(dir, test.file), nil, 0o600))
			must(t, os.Chmod(filepath.Join(dir, test.file), test.as))
			must(t, os.Chmod(dir, test.mode))
			d, err := OpenDataDir(dir)
			if err == nil {
				defer d.Close()
			}
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Fatalf("%v, want %q", err, test.err)
			}
			if err != nil {
				if _, err := os.Stat(filepath.Join(dir, LockName)); err == nil {
					t.Error("a directory that is refused was written to")
				}
				return
			}
			if got := strings.Join(d.Warnings, "\n"); !strings.Contains(got, test.warn) || test.warn == "" && got != "" {
				t.Errorf("warnings %q, want %q", got, test.warn)
			}
		})
	}
}

// TestNoFile puts pipes and directories in the place of files. A pipe that is opened for reading waits for a writer, and a start
// that waits does not end when it is interrupted.
func TestNoFile(t *testing.T) {
	needed, optional := KeptFiles()
	for _, name := range slices.Concat(needed, optional) {
		for what, make := range map[string]func(path string) error{
			"pipe":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
			"directory": func(path string) error { return os.Mkdir(path, 0o700) },
			"link to a pipe": func(path string) error {
				return errors.Join(syscall.Mkfifo(path+".pipe", 0o600), os.Symlink(path+".pipe", path))
			},
		} {
			dir := t.TempDir()
			must(t, os.Chmod(dir, 0o700))
			must(t, make(filepath.Join(dir, name)))
			d, err := OpenDataDir(dir)
			if err == nil {
				d.Close()
			}
			if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, name)+" is no file") {
				t.Errorf("%s in the place of %s: %v", what, name, err)
			}
		}
	}
}

// TestEmptyDirectoryIsMadePrivate: one that was made for kx, by a shell that lets others read and write.
func TestEmptyDirectoryIsMadePrivate(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o777))
	d := open(t, dir)
	defer d.Close()
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 || len(d.Warnings) > 0 {
		t.Errorf("mode %v, %v, warnings %q", info.Mode(), err, d.Warnings)
	}
}

// TestDirectoryOfSomebodyElse needs a superuser, who alone can give a directory away.
func TestDirectoryOfSomebodyElse(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only a superuser can give a directory to somebody else")
	}
	dir := t.TempDir()
	must(t, os.Chown(dir, 12345, -1))
	if _, err := OpenDataDir(dir); err == nil || !strings.Contains(err.Error(), "belongs to user 12345, and this is user 0: run kx as its owner, or choose another with --data-dir") {
		t.Error(err)
	}
}

// TestLockIsNoOtherFile: what has the lock's name and is something else is left as it is.
func TestLockIsNoOtherFile(t *testing.T) {
	const precious = "precious\n"
	for name, test := range map[string]struct {
		put  func(target, lock string) error
		want string
	}{
		"a symbolic link":              {os.Symlink, "kx.lock is a symbolic link, which is not followed: remove it"},
		"another name of another file": {os.Link, "kx.lock is not a file of kx's own: remove it"},
		"another file":                 {os.Rename, "kx.lock holds something else than a lock of kx: move it away"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.Chmod(dir, 0o700))
			target, lock := filepath.Join(dir, "target"), filepath.Join(dir, LockName)
			must(t, os.WriteFile(target, []byte(precious), 0o600))
			must(t, test.put(target, lock))
			d, err := OpenDataDir(dir)
			if err == nil {
				d.Close()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
			if got, err := os.ReadFile(lock); err != nil || string(got) != precious {
				t.Errorf("the file was changed to %q: %v", got, err)
			}
		})
	}
}

// TestLinkOfAnotherFile: no file that kx writes in its directory is written through a link.
func TestLinkOfAnotherFile(t *testing.T) {
	const precious = "precious\n"
	target := filepath.Join(t.TempDir(), "target")
	must(t, os.WriteFile(target, []byte(precious), 0o600))
	d := open(t, t.TempDir())
	defer d.Close()
	must(t, os.Symlink(target, d.File("kubeconfig")))
	a, err := LoadAuthority(d)
	must(t, err)
	_, err = a.writeKubeconfig(d.File("kubeconfig"), "https://127.0.0.1:1", a.CertPEM())
	must(t, err)
	must(t, os.Symlink(target, d.File("private")))
	if f, err := OpenPrivate(d.File("private"), os.O_APPEND); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("%v, %v", f, err)
	}
	if got, err := os.ReadFile(target); err != nil || string(got) != precious {
		t.Errorf("the file was changed to %q: %v", got, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
