package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/store/backup"
)

// backups is an option that has archives made in dir.
func backups(dir string, keep int) func(*options.Options) {
	return func(o *options.Options) {
		o.Backup = options.Backup{Dir: dir, Interval: time.Second, Keep: keep}
	}
}

func namesIn(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return all
}

// TestBackups has a server make archives, and keep its latest three. It leaves all other files alone but what is left of its own that were
// not complete.
func TestBackups(t *testing.T) {
	t.Parallel()
	data, dir := t.TempDir(), filepath.Join(t.TempDir(), "backups")
	_, stop, err := launch(in(data), backups(dir, 3))
	must(t, err)
	until(t, "the server has made an archive", func() bool { return len(namesIn(t, dir)) > 0 && !strings.HasPrefix(namesIn(t, dir)[0], ".") })
	must(t, stop())
	if info, err := os.Stat(dir); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("the directory: %v, %v", info.Mode(), err)
	}
	first := namesIn(t, dir)[0]
	half := "." + first + ".123.part"
	others := []string{"notes.txt", "kx-20200101T000000.000Z-ffffffff.tar", "kx-backup.tar", "." + strings.Replace(first, "-", "-x", 2) + ".123.part"}
	for _, name := range append(others, half) {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("not the server's"), 0o600))
	}
	_, stop, err = launch(in(data), backups(dir, 3))
	must(t, err)
	until(t, "the first archive is deleted", func() bool { return !slices.Contains(namesIn(t, dir), first) })
	must(t, stop())
	var archives []string
	for _, name := range namesIn(t, dir) {
		if i := slices.Index(others, name); i >= 0 {
			others = slices.Delete(others, i, i+1)
			continue
		}
		archives = append(archives, name)
		a, err := backup.Open(t.Context(), filepath.Join(dir, name))
		must(t, err)
		must(t, a.Close())
	}
	if len(others) > 0 || len(archives) != 3 {
		t.Errorf("missing are %v, and the archives are %v", others, archives)
	}
}

// TestBackupStopped stops a server while it makes archives one after the other. What it leaves is whole.
func TestBackupStopped(t *testing.T) {
	t.Parallel()
	data, dir := t.TempDir(), filepath.Join(t.TempDir(), "backups")
	r, stop, err := launch(in(data), backups(dir, 3))
	must(t, err)
	c := kubernetes.NewForConfigOrDie(r.config)
	for i := range 20 {
		large := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("large-%d", i)}, Data: map[string]string{"a": strings.Repeat("a", 900<<10)}}
		_, err := c.CoreV1().ConfigMaps("default").Create(within(t), large, metav1.CreateOptions{})
		must(t, err)
	}
	until(t, "an archive is being made", func() bool {
		return slices.ContainsFunc(namesIn(t, dir), func(name string) bool { return strings.HasPrefix(name, ".") })
	})
	must(t, stop())
	for _, name := range namesIn(t, dir) {
		a, err := backup.Open(t.Context(), filepath.Join(dir, name))
		if err != nil {
			t.Errorf("left behind: %v", err)
			continue
		}
		must(t, a.Close())
	}
}

// TestBackupFails takes the directory away from a server. One failure is none of the readiness, two are.
func TestBackupFails(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "backups")
	r := start(t, backups(dir, 3))
	answer := func() (int, string) {
		res, body := ask(t, r.httpClient(t), "GET", r.URL+"/readyz", nil)
		return res.StatusCode, string(body)
	}
	until(t, "the server has made an archive", func() bool { return r.figure(t, "kx_backup_last_size_bytes") > 0 })
	if code, body := answer(); code != 200 {
		t.Errorf("with an archive: %d %s", code, body)
	}
	must(t, os.Rename(dir, dir+".away"))
	must(t, os.WriteFile(dir, nil, 0o600))
	until(t, "a backup has failed", func() bool { return r.figure(t, "kx_backup_failures_total") > 0 })
	until(t, "the server is not ready", func() bool { code, _ := answer(); return code != 200 })
	if failed := r.figure(t, "kx_backup_failures_total"); failed < 2 {
		t.Errorf("not ready after %v failures", failed)
	}
	if _, body := answer(); !strings.Contains(body, "[-]backup failed: ") || !strings.Contains(body, "in a row failed, and none was made since ") {
		t.Errorf("it says %s", body)
	}
	must(t, os.Remove(dir))
	until(t, "the server is ready", func() bool { code, _ := answer(); return code == 200 })
	if all := namesIn(t, dir); len(all) == 0 {
		t.Error("ready without an archive")
	}
}
