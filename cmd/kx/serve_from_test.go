package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestServeFrom serves copies: of a kx that runs and keeps its data, and of an archive of it, with a copy of that copy.
func TestServeFrom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	origin := serve(t, "--data-dir", dir)
	made, err := origin.client(t).CoreV1().ConfigMaps("default").Create(t.Context(), configMap("first"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), "kx.tar")
	if out, err := kx(t, "etcd", "snapshot", "save", "--archive", archive, "--data-dir", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := origin.client(t).CoreV1().ConfigMaps("default").Create(t.Context(), configMap("second"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	running := serve(t, "--ephemeral", "--from", dir)
	for copied, want := range map[*process]int{
		running: 2, serve(t, "--ephemeral", "--from", archive): 1, serve(t, "--ephemeral", "--from", filepath.Dir(running.kubeconfig)): 2,
	} {
		maps := copied.client(t).CoreV1().ConfigMaps("default")
		list, err := maps.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Items) != want || list.Items[0].UID != made.UID || list.Items[0].ResourceVersion != made.ResourceVersion {
			t.Errorf("%d of %d: %+v", len(list.Items), want, list.Items)
		}
	}
	if err := running.client(t).CoreV1().ConfigMaps("default").Delete(t.Context(), "first", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := origin.client(t).CoreV1().ConfigMaps("default").Get(t.Context(), "first", metav1.GetOptions{}); err != nil {
		t.Errorf("a copy reached its origin: %v", err)
	}
}

// TestServeFromKilled serves a copy of what a kx had that was killed: named by its directory, and by a link to it after
// its etcd has moved behind another link.
func TestServeFromKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	origin := serve(t, "--data-dir", dir)
	made, err := origin.client(t).CoreV1().ConfigMaps("default").Create(t.Context(), configMap("first"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := origin.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = origin.wait() // it was killed
	links := t.TempDir()
	link, moved := filepath.Join(links, "kx"), filepath.Join(links, "etcd")
	for _, from := range []string{dir, link} {
		if from == link {
			etcd := filepath.Join(dir, "etcd")
			if err := errors.Join(os.Rename(etcd, moved), os.Symlink(moved, etcd), os.Symlink(dir, link)); err != nil {
				t.Fatal(err)
			}
		}
		copied := serve(t, "--ephemeral", "--from", from)
		found, err := copied.client(t).CoreV1().ConfigMaps("default").Get(t.Context(), "first", metav1.GetOptions{})
		if err != nil || found.UID != made.UID || found.ResourceVersion != made.ResourceVersion {
			t.Errorf("%+v is not %+v: %v", found, made, err)
		}
		if err := copied.client(t).CoreV1().ConfigMaps("default").Delete(t.Context(), "first", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestServeFromRefused names what a server can't begin with.
func TestServeFromRefused(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	for flags, want := range map[string]string{
		"--data-dir=" + empty + " --from=x":                            "add --ephemeral",
		"--ephemeral --from=x --etcd-servers=http://127.0.0.1:1":       "--etcd-servers names another",
		"--ephemeral --from=":                                          "--from is empty",
		"--ephemeral --from=/does/not/exist":                           "/does/not/exist: no such file",
		"--ephemeral --from=" + empty:                                  "no kx runs on " + empty,
		"--ephemeral --from=" + filepath.Join("testdata", "README.md"): "--from",
	} {
		out, err := kx(t, append([]string{"serve", "--listen=127.0.0.1:0"}, strings.Fields(flags)...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%s: %v %s", flags, err, out)
		}
	}
}

// TestCopyTreeOfLinks: a copy ends at a link that leads to a directory above, or nowhere: what is behind it may be needed.
func TestCopyTreeOfLinks(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(from, "a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := copyTree(t.Context(), from, to, nil); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(to, "a")); err != nil {
		t.Error(err)
	}
	link := filepath.Join(from, "b")
	if err := os.Symlink("nowhere", link); err != nil {
		t.Fatal(err)
	}
	if err := copyTree(t.Context(), from, t.TempDir(), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a link that leads nowhere: %v", err)
	}
	if err := errors.Join(os.Remove(link), os.Symlink(from, link)); err != nil {
		t.Fatal(err)
	}
	if err := copyTree(t.Context(), from, t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "which contains it") {
		t.Errorf("a circle of links: %v", err)
	}
}
