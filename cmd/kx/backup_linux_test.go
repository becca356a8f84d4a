package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/kubernetes"

	"github.com/kx-apiserver/kx/store/backup"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

// raw asks a server for a path, and returns the answer's text.
func raw(t *testing.T, c *kubernetes.Clientset, path string) (text string, ok bool) {
	t.Helper()
	body, err := c.CoreV1().RESTClient().Get().AbsPath(path).DoRaw(t.Context())
	return string(body), err == nil
}

// TestBackupFullDisk lets a server on an etcd cluster write no file, as on a disk that is full. It goes on, says that it has no new
// backups, and keeps those it has. When there is room again it makes some.
func TestBackupFullDisk(t *testing.T) {
	t.Parallel()
	cluster := embedtest.StartCluster(t)
	dir := t.TempDir()
	data, backups := filepath.Join(dir, "data"), filepath.Join(dir, "backups")
	p := serve(t, "--data-dir", data, "--etcd-servers", strings.Join(cluster.Endpoints(), ","),
		"--backup-dir", backups, "--backup-interval=1s", "--backup-keep=2")
	c := p.client(t)
	archives := func() []string {
		found, err := filepath.Glob(filepath.Join(backups, "kx-*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	until(t, "there are two archives", func() bool { return len(archives()) == 2 })
	limit := func(most uint64) {
		l := unix.Rlimit{Cur: most, Max: unix.RLIM_INFINITY}
		if err := unix.Prlimit(p.Process.Pid, unix.RLIMIT_FSIZE, &l, nil); err != nil {
			t.Fatal(err)
		}
	}
	limit(4096)
	until(t, "it is not ready", func() bool { _, ok := raw(t, c, "/readyz/backup"); return !ok })
	if text, ok := raw(t, c, "/readyz"); ok || !strings.Contains(text, "[-]backup failed: ") || !strings.Contains(text, "file too large") {
		t.Errorf("/readyz says %s", text)
	}
	metrics, _ := raw(t, c, "/metrics")
	if strings.Contains(metrics, "\nkx_backup_failures_total 0\n") || !strings.Contains(metrics, "\nkx_backup_last_success_timestamp_seconds 1.") {
		t.Errorf("the metrics: %s", metrics)
	}
	kept := archives()
	if len(kept) != 2 {
		t.Errorf("the directory has %v", kept)
	}
	until(t, "nothing is left of what failed", func() bool { // the next attempt may have begun
		half, _ := filepath.Glob(filepath.Join(backups, ".kx-*"))
		return len(half) == 0
	})
	limit(unix.RLIM_INFINITY)
	until(t, "it is ready again", func() bool { _, ok := raw(t, c, "/readyz"); return ok })
	until(t, "there is a new archive", func() bool { now := archives(); return len(now) == 2 && now[0] > kept[1] })
	byHand := filepath.Join(dir, "by-hand.tar")
	mustSnapshot(t, "save", "--archive", byHand, "--data-dir", data)
	p.stop(t)
	for _, path := range append(archives(), byHand) {
		archive, err := backup.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if !archive.Manifest.External() || len(archive.Parts()) < 4 {
			t.Errorf("%s has %v of an etcd at %v", path, archive.Parts(), archive.Manifest.Etcd.Servers)
		}
		if err := archive.Close(); err != nil {
			t.Error(err)
		}
	}
	restoreExternal(t, archives()[0], filepath.Join(dir, "again"))
}

// restoreExternal wants the archive of a cluster to be refused, with the steps that help.
func restoreExternal(t *testing.T, archive, to string) {
	t.Helper()
	for _, more := range [][]string{nil, {"--endpoints", "http://127.0.0.1:1"}} {
		out, err := snapshotCommand(t, append([]string{"restore", archive, "--to", to}, more...)...)
		if err == nil || !strings.Contains(out, "etcdutl snapshot restore") || !strings.Contains(out, "--bump-revision 1000000000 --mark-compacted") {
			t.Errorf("%v: %s", err, out)
		}
		if _, err := os.Stat(to); err == nil {
			t.Errorf("%s was made", to)
		}
	}
}
