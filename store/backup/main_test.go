package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var here = Version{Release: "devel", Kubernetes: "v1.37.2+kx"}

// etcd starts an etcd with some keys: of 20, one in two was written twice, one in four deleted, and two are encrypted.
func etcd(t testing.TB) *admin.Live {
	t.Helper()
	client := embedtest.New(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	for i := range 20 {
		key := fmt.Sprintf("/registry/configmaps/default/c%d", i)
		value := fmt.Sprintf("value %d", i)
		if i%10 == 1 {
			value = "k8s:enc:secretbox:v1:key1:" + value
		}
		for range 1 + i%2 {
			_, err := client.Put(context.Background(), key, value)
			must(t, err)
		}
		if i%4 == 0 {
			_, err := client.Delete(context.Background(), key)
			must(t, err)
		}
	}
	return admin.NewLive(client, "the etcd of the test")
}

// parts are files as a server has them. One is empty, and one fills its blocks.
func parts() []Part {
	return []Part{
		{"ca.crt", []byte("a certificate")}, {"ca.key", []byte("a key")},
		{"sa.key", make([]byte, blockBytes)}, {"flags/tls-cert-file", nil},
	}
}

func save(live *admin.Live) *Save {
	flags := map[string][]string{"tls-cert-file": {"/x"}}
	return &Save{Live: live, Parts: parts(), Describe: Manifest{KX: here, Prefix: "/registry", Flags: flags}}
}

// archiveOf saves an archive, and returns its file and bytes.
func archiveOf(t testing.TB) (file string, data []byte) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "a.tar")
	saved, err := save(etcd(t)).File(t.Context(), file)
	must(t, err)
	data, err = os.ReadFile(file)
	must(t, err)
	if saved.Size != int64(len(data)) || saved.Manifest.Etcd.Keys != 15 || !saved.Manifest.Verified {
		t.Fatalf("%+v, %d bytes", saved, len(data))
	}
	return file, data
}

// layout finds the headers of an archive, and where each part ends.
func layout(t testing.TB, data []byte) (all []place) {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "a.tar"), data, 0o600))
	a, err := Open(t.Context(), filepath.Join(dir, "a.tar"))
	must(t, err)
	defer a.Close()
	return a.parts
}

// small is an archive of a database with one key, made without an etcd: one that runs beside a fuzzer would look like coverage.
func small(t testing.TB) []byte {
	t.Helper()
	db, err := bolt.Open(filepath.Join(t.TempDir(), "db"), 0o600, &bolt.Options{PageSize: 1 << 10})
	must(t, err)
	must(t, db.Update(func(tx *bolt.Tx) error {
		for _, bucket := range []string{"key", "meta"} {
			b, err := tx.CreateBucket([]byte(bucket))
			must(t, err)
			if bucket == "key" {
				revision := append([]byte{7: 2, 8: '_'}, make([]byte, 8)...)
				must(t, b.Put(revision, []byte("\n\x01a\x10\x02\x18\x02 \x01*\x01b")))
			}
		}
		return nil
	}))
	var database, out bytes.Buffer
	must(t, db.View(func(tx *bolt.Tx) error {
		_, err := tx.WriteTo(&database)
		return err
	}))
	must(t, db.Close())
	sum := sha256.Sum256(database.Bytes())
	w := &tarWriter{out: &out, made: time.Unix(1e9, 0)}
	must(t, w.small("ca.crt", []byte("a certificate")))
	must(t, w.small(snapshotName, append(database.Bytes(), sum[:]...)))
	must(t, finish(w, &Manifest{Format: format, KX: here, Verified: true, Etcd: Etcd{Revision: 2, Keys: 1}}))
	return out.Bytes()
}

func dump(data []byte) string { return hex.EncodeToString(data[:min(len(data), 32)]) }
