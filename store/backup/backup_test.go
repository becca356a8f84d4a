package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/store/admin"
)

func entries(t testing.TB, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, entry := range all {
		names = append(names, entry.Name())
	}
	return names
}

// TestArchive saves an etcd and restores it: each key is as it was, and each file.
func TestArchive(t *testing.T) {
	t.Parallel()
	live := etcd(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "a.tar")
	saved, err := save(live).File(t.Context(), file)
	must(t, err)
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
	want := []admin.NeededKey{{Provider: "secretbox", Key: "key1", Values: 2}}
	if m := saved.Manifest; m.Etcd.Keys != 15 || !slices.Equal(m.Encryption, want) || m.Etcd.Cluster == "" {
		t.Errorf("the manifest is %+v", m)
	}
	if _, err := save(live).File(t.Context(), file); err == nil || !strings.Contains(err.Error(), "there already") {
		t.Errorf("saved over an archive: %v", err)
	}
	if names := entries(t, dir); !slices.Equal(names, []string{"a.tar"}) {
		t.Errorf("beside the archive: %v", names)
	}
	a, err := Open(t.Context(), file)
	must(t, err)
	defer a.Close()
	target := filepath.Join(dir, "new")
	restored, err := a.Restore(t.Context(), RestoreOptions{Dir: target, Bump: 1000, Here: here}, nil)
	must(t, err)
	revision := saved.Manifest.Etcd.Revision
	if restored.Keys != 15 || restored.Revision != revision+1000 || restored.Snapshot != revision || !slices.Equal(restored.Encryption, want) {
		t.Errorf("restored %+v", restored)
	}
	for _, part := range parts() {
		if data, err := os.ReadFile(filepath.Join(target, part.Name)); err != nil || !bytes.Equal(data, part.Data) {
			t.Errorf("%s: %q, %v", part.Name, data, err)
		}
	}
	compareKeys(t, live, target)
	_, err = a.Restore(t.Context(), RestoreOptions{Dir: target, Bump: 1000, Here: here}, nil)
	if err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("restored over what is there: %v", err)
	}
}

func compareKeys(t *testing.T, live *admin.Live, target string) {
	t.Helper()
	file, err := admin.OpenFile(target)
	must(t, err)
	defer file.Close()
	for kv, err := range live.Range(t.Context(), admin.Range{}) {
		must(t, err)
		got, err := file.Get(t.Context(), kv.Key, 0)
		must(t, err)
		if got == nil || !reflect.DeepEqual(*got, kv) {
			t.Errorf("%s is %+v, and was %+v", kv.Key, got, kv)
		}
	}
}

// TestTools unpacks an archive with tar, and has sha256sum check what is in it.
func TestTools(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"tar", "sha256sum"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	file, _ := archiveOf(t)
	dir := t.TempDir()
	for _, words := range [][]string{{"tar", "xf", file}, {"sha256sum", "--strict", "-c", sumsName}} {
		cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %v: %s", words, err, out)
		}
	}
	o := admin.RestoreOptions{File: filepath.Join(dir, snapshotName), Dir: filepath.Join(dir, "new"), Bump: 1}
	if _, err := admin.Restore(t.Context(), o, nil); err != nil {
		t.Errorf("the snapshot alone: %v", err)
	}
}

// TestStream writes an archive to what can't be read back.
func TestStream(t *testing.T) {
	t.Parallel()
	live := etcd(t)
	var out bytes.Buffer
	saved, err := save(live).Stream(t.Context(), &out)
	must(t, err)
	file := filepath.Join(t.TempDir(), "a.tar")
	must(t, os.WriteFile(file, out.Bytes(), 0o600))
	a, err := Open(t.Context(), file)
	must(t, err)
	defer a.Close()
	m := saved.Manifest
	if saved.Size != int64(out.Len()) || m.Verified || m.Etcd.Revision != a.contents.Revision || a.Manifest.Etcd.Keys != 15 {
		t.Errorf("streamed %+v, and it holds %+v", saved, a.Summary())
	}
	closed := writer(func([]byte) (int, error) { return 0, io.ErrClosedPipe })
	if _, err := save(live).Stream(t.Context(), closed); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("streamed to nobody: %v", err)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// TestInterrupted ends a save and a restore in the middle. Neither leaves anything.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	live := etcd(t)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	s := save(live)
	s.Progress = func(int) { cancel() }
	if _, err := s.File(ctx, filepath.Join(dir, "a.tar")); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted save: %v", err)
	}
	if names := entries(t, dir); len(names) > 0 {
		t.Errorf("an interrupted save left %v", names)
	}
	file, _ := archiveOf(t)
	ctx, cancel = context.WithCancel(t.Context())
	a, err := Open(ctx, file)
	must(t, err)
	defer a.Close()
	target := filepath.Join(dir, "new")
	_, err = a.Restore(ctx, RestoreOptions{Dir: target, Bump: 1, Here: here}, func(int) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted restore: %v", err)
	}
	if names := entries(t, target); len(names) > 0 {
		t.Errorf("an interrupted restore left %v", names)
	}
}

// refused wants a restore of these bytes to be refused in one sentence, with nothing written.
func refused(t *testing.T, what string, data []byte, says string) {
	t.Helper()
	dir := t.TempDir()
	file, target := filepath.Join(dir, "a.tar"), filepath.Join(dir, "new")
	must(t, os.WriteFile(file, data, 0o600))
	a, err := Open(t.Context(), file)
	if err == nil {
		_, err = a.Restore(t.Context(), RestoreOptions{Dir: target, Bump: 1, Here: here}, nil)
		must(t, a.Close())
	}
	text := fmt.Sprint(err)
	if err == nil || strings.Contains(text, "\n") || !strings.Contains(text, says) || !strings.Contains(text, ": use ") {
		t.Errorf("%s: %v, want %q", what, err, says)
	}
	if names := entries(t, target); len(names) > 0 {
		t.Errorf("%s: it left %v", what, names)
	}
	must(t, os.RemoveAll(dir))
}

// TestDamage flips bits in each region of an archive, and cuts it off in each.
func TestDamage(t *testing.T) {
	t.Parallel()
	_, whole := archiveOf(t)
	flip := map[int]bool{}
	cut := map[int]bool{0: true, 1: true}
	for _, p := range layout(t, whole) {
		offset, last := int(p.offset), int(p.offset+p.size)
		for at := offset - blockBytes; at < offset; at++ {
			flip[at] = true // of its header
		}
		for _, at := range []int{offset, offset + int(p.size)/2, last - 1, last, last + int(padding(p.size)) - 1} {
			flip[at], cut[at] = true, true
		}
		cut[offset-blockBytes], cut[offset-blockBytes/2] = true, true
	}
	for at := 0; at < len(whole); at += 499 {
		flip[at] = true
	}
	for at := len(whole) - len(end); at < len(whole); at += 100 {
		flip[at], cut[at] = true, true
	}
	cut[len(whole)-1] = true
	for at := range flip {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 1 << (at % 8)
		refused(t, fmt.Sprintf("bit %d of byte %d", at%8, at), damaged, "")
	}
	for at := range cut {
		refused(t, fmt.Sprintf("cut off at %d", at), whole[:at], "")
	}
	t.Logf("%d bits, %d cuts of %d bytes", len(flip), len(cut), len(whole))
}

// rebuilt makes an archive of other parts, with right hashes.
func rebuilt(t *testing.T, data []byte, edit func([]Part) []Part) []byte {
	t.Helper()
	var all []Part
	for _, p := range layout(t, data) {
		if p.name != sumsName {
			all = append(all, Part{p.name, data[p.offset : p.offset+p.size]})
		}
	}
	var out bytes.Buffer
	w := &tarWriter{out: &out, made: time.Unix(1e9, 0)}
	for _, part := range edit(all) {
		must(t, w.small(part.Name, part.Data))
	}
	must(t, w.finish())
	return out.Bytes()
}

// TestForged wants archives refused that kx would not write, though their hashes are right.
func TestForged(t *testing.T) {
	t.Parallel()
	_, whole := archiveOf(t)
	same := func(all []Part) []Part { return all }
	without := func(name string) func([]Part) []Part {
		return func(all []Part) []Part {
			return slices.DeleteFunc(all, func(p Part) bool { return p.Name == name })
		}
	}
	with := func(part Part) func([]Part) []Part { return func(all []Part) []Part { return append(all, part) } }
	manifest := func(old, replacement string) func([]Part) []Part {
		return func(all []Part) []Part {
			for i, p := range all {
				if p.Name == manifestName {
					if !bytes.Contains(p.Data, []byte(old)) {
						t.Errorf("the manifest has no %q", old)
					}
					all[i].Data = bytes.Replace(p.Data, []byte(old), []byte(replacement), 1)
				}
			}
			return all
		}
	}
	const devel, kubernetes = `"release": "devel"`, `"kubernetes": "v1.37.2+kx"`
	for _, test := range []struct {
		what, says string
		data       []byte
	}{
		{"no snapshot", "etcd/snapshot.db is missing", rebuilt(t, whole, without(snapshotName))},
		{"no manifest", "manifest.json is missing", rebuilt(t, whole, without(manifestName))},
		{"a path upwards", "no part of an archive", rebuilt(t, whole, with(Part{"../evil", nil}))},
		{"a path within", "no part of an archive", rebuilt(t, whole, with(Part{"flags/../../evil", nil}))},
		{"an absolute path", "no part of an archive", rebuilt(t, whole, with(Part{"/etc/passwd", nil}))},
		{"an unknown part", "no part of an archive", rebuilt(t, whole, with(Part{"other", nil}))},
		{"a part twice", "holds ca.crt twice", rebuilt(t, whole, with(Part{"ca.crt", nil}))},
		{"a large part", "no such part has more", rebuilt(t, whole, with(Part{"kubeconfig", make([]byte, partBytes+1)}))},
		{"something behind the end", "behind its end", append(bytes.Clone(whole), make([]byte, blockBytes)...)},
		{"a part behind the last", "behind its last part", slices.Concat(whole[:len(whole)-len(end)], whole[:2*blockBytes], end)},
		{"a key too few", "its manifest says", rebuilt(t, whole, manifest(`"keys": 15`, `"keys": 16`))},
		{"another form of manifest", "not as kx writes it", rebuilt(t, whole, manifest("  ", "   "))},
		{"a manifest with more", "not as kx writes it", rebuilt(t, whole, manifest(`"format": 1,`, `"format": 1, "other": 1,`))},
		{"a later format", "a newer kx made it: its format is 2", rebuilt(t, whole, manifest(`"format": 1,`, `"format": 2, "other": 1,`))},
		{"a later Kubernetes", "a newer kx made it: it stores objects as Kubernetes 1.38",
			rebuilt(t, whole, manifest(kubernetes, `"kubernetes": "v1.38.0+kx"`))},
		{"no Kubernetes", "no version of Kubernetes", rebuilt(t, whole, manifest(kubernetes, `"kubernetes": "x"`))},
		{"a symbolic link", "no plain file", linked(t, whole)},
		{"a huge size", "cut off", huge(t)},
		{"nothing", "cut off", nil},
		{"no archive", "", bytes.Repeat([]byte("text"), 1000)},
	} {
		refused(t, test.what, test.data, test.says)
	}
	for _, edit := range []func([]Part) []Part{same, manifest(devel, `"release": "v9.0.0"`)} {
		file := filepath.Join(t.TempDir(), "a.tar")
		must(t, os.WriteFile(file, rebuilt(t, whole, edit), 0o600))
		a, err := Open(t.Context(), file)
		must(t, err)
		older := Version{Release: "v1.2.3", Kubernetes: here.Kubernetes}
		_, err = a.Restore(t.Context(), RestoreOptions{Dir: filepath.Join(t.TempDir(), "new"), Bump: 1, Here: older}, nil)
		if isNewer := a.Manifest.KX.Release == "v9.0.0"; isNewer != errors.Is(err, errNewer) {
			t.Errorf("of release %s: %v", a.Manifest.KX.Release, err)
		}
		must(t, a.Close())
	}
}

// linked has a symbolic link before its other parts.
func linked(t *testing.T, whole []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	link := &tar.Header{Typeflag: tar.TypeSymlink, Name: "ca.crt", Linkname: "/etc/passwd", Format: tar.FormatGNU}
	must(t, tar.NewWriter(&b).WriteHeader(link))
	return append(b.Bytes(), whole...)
}

// huge says of its snapshot that it has more bytes than any disk.
func huge(t *testing.T) []byte {
	t.Helper()
	block, err := head(snapshotName, 1<<62, time.Unix(1e9, 0))
	must(t, err)
	return slices.Concat(block, make([]byte, 4*blockBytes))
}

// FuzzOpen: whatever is taken for an archive is one that kx could have written, byte by byte.
func FuzzOpen(f *testing.F) {
	whole := small(f)
	if _, err := readAll(f.Context(), bytes.NewReader(whole), int64(len(whole)), nil); err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add(end)
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := readAll(t.Context(), bytes.NewReader(data), int64(len(data)), nil)
		if err != nil {
			return
		}
		var out bytes.Buffer
		w := &tarWriter{out: &out}
		for _, p := range a.parts {
			if p.name == sumsName {
				break
			}
			h, err := tar.NewReader(bytes.NewReader(data[p.offset-blockBytes:])).Next()
			must(t, err)
			w.made = h.ModTime
			must(t, w.small(p.name, data[p.offset:p.offset+p.size]))
		}
		must(t, w.finish())
		if !bytes.Equal(out.Bytes(), data) {
			t.Errorf("taken for an archive: %s", dump(data))
		}
	})
}
