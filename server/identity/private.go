package identity

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// The permissions of a file's group and of all other users.
const (
	othersRead  fs.FileMode = 0o044
	othersWrite fs.FileMode = 0o022
	worldRead   fs.FileMode = 0o004
)

// secure refuses a data directory into which another user could put their own keys. It makes an empty directory
// private; one with content may have other uses and keeps its mode. If others can only read, it adds warnings.
func (d *DataDir) secure() error {
	info, err := os.Stat(d.Path)
	if err != nil {
		return fmt.Errorf("look at the data directory: %w", err)
	}
	if err := checkOwner("the data directory "+d.Path, info, "--data-dir"); err != nil {
		return err
	}
	entries, err := os.ReadDir(d.Path)
	if err != nil {
		return fmt.Errorf("look into the data directory: %w; choose another with --data-dir", err)
	}
	mode := permissions(info)
	if len(entries) == 0 && mode&(othersRead|othersWrite) != 0 {
		if err := os.Chmod(d.Path, 0o700); err != nil {
			return fmt.Errorf("keep the data directory to its owner: %w; choose another with --data-dir", err)
		}
		mode = 0o700
	}
	switch {
	case mode&othersWrite != 0:
		return fmt.Errorf("the data directory %s can be written by others (mode %04o), who could put keys of theirs into "+
			"it: run chmod 700 %s, or choose another with --data-dir",
			d.Path, mode, d.Path)
	case mode&othersRead != 0:
		d.Warnings = append(d.Warnings,
			fmt.Sprintf("the data directory %s can be read by others (mode %04o), and should be its owner's alone: run chmod 700 %s",
				d.Path, mode, d.Path))
	}
	for _, entry := range entries {
		if err := d.secureEntry(entry); err != nil {
			return err
		}
	}
	return nil
}

// secureEntry checks an existing entry of the directory.
func (d *DataDir) secureEntry(entry fs.DirEntry) error {
	info, err := entry.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a command has removed it meanwhile
	}
	if err != nil {
		return fmt.Errorf("look into the data directory: %w", err)
	}
	if err := d.checkKept(entry.Name()); err != nil {
		return err
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return nil
	}
	path, mode := d.File(entry.Name()), permissions(info)
	if mode&othersWrite != 0 {
		return fmt.Errorf("%s can be written by others (mode %04o): run chmod go-w %s, if nobody has changed it", path, mode, path)
	}
	if mode&othersRead == 0 {
		return nil
	}
	switch entry.Name() {
	case "ca.key":
		return fmt.Errorf("%s can be read by others (mode %04o), who could make themselves administrators with it: remove "+
			"it and %s to have new ones made, or, if nobody has read it, run chmod 600 %s",
			path, mode, d.File("ca.crt"), path)
	case proxyName + ".key":
		return fmt.Errorf("%s can be read by others (mode %04o), who could say to extension API servers that they are "+
			"anybody: remove it and %s to have new ones made, or, if nobody has read it, run chmod 600 %s",
			path, mode, d.File(proxyName+".crt"), path)
	case tokenKeyName:
		return fmt.Errorf("%s can be read by others (mode %04o), who could make tokens of any service account with it: "+
			"remove it to have a new one made, which makes all tokens so far invalid, or, if nobody has read it, run chmod 600 %s",
			path, mode, path)
	case "kubeconfig":
		d.Warnings = append(d.Warnings,
			fmt.Sprintf("%s could be read by others (mode %04o), and whoever has read it is an administrator: remove ca.crt "+
				"and ca.key in %s to have new ones made", path, mode, d.Path))
	}
	return nil
}

// checkKept refuses an entry that has the name of one of the directory's files and is no regular file: a start would
// wait for the writer of a pipe.
func (d *DataDir) checkKept(name string) error {
	needed, optional := KeptFiles()
	if name != "kubeconfig" && !slices.Contains(needed, name) && !slices.Contains(optional, name) {
		return nil
	}
	info, err := os.Stat(d.File(name))
	if err != nil || info.Mode().IsRegular() {
		return nil // reading the file reports the error
	}
	return fmt.Errorf("%s is no file (mode %s): put the file of a backup in its place", d.File(name), info.Mode())
}

// CheckSecret refuses a secret file, named by a flag, that every user may read or another user may write. Its group may
// read it, because services often get secrets that way.
func CheckSecret(flag, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", flag, err)
	}
	if mode := permissions(info); mode&(worldRead|othersWrite) != 0 {
		return fmt.Errorf("%s: %s can be read or written by others (mode %04o): run chmod 600 %s, and give out new secrets "+
			"if somebody has read it", flag, path, mode, path)
	}
	return nil
}

// OpenPrivate opens or creates a file in a data directory for reading and writing. It refuses symbolic links and files
// with a second hard link, because writing to them could change a file elsewhere.
func OpenPrivate(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, flag|os.O_RDWR|os.O_CREATE|noFollow, 0o600)
	if err != nil {
		return nil, notFollowed(path, err)
	}
	if err := checkPlain(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// notFollowed explains the error of a symbolic link.
func notFollowed(path string, err error) error {
	if errors.Is(err, syscall.ELOOP) {
		return fmt.Errorf("%s is a symbolic link, which is not followed: remove it", path)
	}
	return err
}

// checkPlain refuses anything but a regular file with one hard link.
func checkPlain(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || links(info) > 1 {
		return fmt.Errorf("%s is not a file of kx's own: remove it", f.Name())
	}
	return nil
}

// checkLock refuses to overwrite a file that kx has not written.
func checkLock(f *os.File) error {
	if err := checkPlain(f); err != nil {
		return err
	}
	begins := make([]byte, len(lockBegins))
	if n, _ := f.ReadAt(begins, 0); n > 0 && !bytes.Equal(begins, []byte(lockBegins)) {
		return fmt.Errorf("%s holds something else than a lock of kx: move it away", f.Name())
	}
	return nil
}
