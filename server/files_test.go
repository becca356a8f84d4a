package server_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestFilesOfEtcd has etcd write snapshots, and looks at the rights on all of its files. A restart mends those of older servers.
func TestFilesOfEtcd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	serve := func() (*running, func()) {
		r, stop, err := launch(in(dir))
		must(t, err)
		return r, func() { must(t, stop()) }
	}
	snapshots := func() []string {
		names, err := filepath.Glob(filepath.Join(dir, "etcd", "member", "snap", "*.snap"))
		must(t, err)
		return names
	}
	open := func() (names []string) {
		must(t, filepath.WalkDir(filepath.Join(dir, "etcd"), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if info, err := d.Info(); err == nil && info.Mode().Perm()&0o077 != 0 {
				names = append(names, info.Mode().String()+" "+path)
			}
			return nil
		}))
		return names
	}
	r, stop := serve()
	maps := r.admin(t).CoreV1().ConfigMaps("default")
	until(t, "etcd has written a snapshot", func() bool {
		_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "one-"}}, metav1.CreateOptions{})
		must(t, err)
		return len(snapshots()) > 0
	})
	until(t, "only the owner has rights", func() bool { return len(open()) == 0 })
	stop()
	if names := open(); len(names) > 0 {
		t.Errorf("after the stop:\n%s", strings.Join(names, "\n"))
	}
	for _, name := range snapshots() {
		must(t, os.Chmod(name, 0o644))
	}
	_, stop = serve()
	if names := open(); len(names) > 0 {
		t.Errorf("after a restart:\n%s", strings.Join(names, "\n"))
	}
	stop()
}
