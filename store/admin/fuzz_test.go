package admin

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func FuzzDecode(f *testing.F) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{"a": "b"}}, Spec: corev1.PodSpec{NodeName: "n"}}
	whole := protobufOf(f, podKind, pod)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"}}`))
	f.Add([]byte("\xd9\xd9\xf7\xa2\x4aapiVersion\x42v1\x44kind\x43Pod"))
	f.Add([]byte("k8s:enc:aescbc:v1:two:0123456789abcdef0123456789abcdef"))
	f.Add([]byte("k8s:enc:"))
	d := &Decoder{Prefix: defaultPrefix, Encryption: encryptionConfig(f, "aescbc two", "identity")}
	f.Fuzz(func(t *testing.T, value []byte) {
		for _, key := range []string{"/registry/pods/default/web", secretKey, "/registry/example.com/pandas/a", "compact_rev_key"} {
			v, err := d.Decode(key, value)
			if err == nil {
				_ = v.Metadata()
				_, jsonErr := v.JSON()
				_, yamlErr := v.YAML()
				if jsonErr != nil || yamlErr != nil {
					t.Errorf("%s is decoded and can't be shown: %v, %v", key, jsonErr, yamlErr)
				}
			}
			_, _ = d.Metadata(key, value)
		}
	})
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte("\x0a\x03key\x10\x02\x18\x03\x20\x01\x2a\x05value\x30\x07"))
	f.Add([]byte("\x0a\x80"))
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = parseRecord(data) })
}

// FuzzContents: no database makes its reader panic, or claim what it can't have.
func FuzzContents(f *testing.F) {
	path := filepath.Join(f.TempDir(), "db")
	db, err := bolt.Open(path, 0o600, &bolt.Options{PageSize: 1 << 10})
	if err != nil {
		f.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		meta, err := tx.CreateBucket(metaBucket)
		if err != nil {
			return err
		}
		keys, err := tx.CreateBucket(keyBucket)
		if err != nil {
			return err
		}
		for revision := range int64(100) {
			value := []byte("\n\x01a\x10\x02\x18\x02 \x01*\x18k8s:enc:kms:v2:plugin:ab")
			if err := keys.Put(place{main: revision, deleted: revision%3 == 0}.bytes(), value); err != nil {
				return err
			}
		}
		return meta.Put(finishedCompact, place{main: 2}.bytes())
	})
	if err := errors.Join(err, db.Close()); err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	if _, err := readDatabase(f.Context(), bytes.NewReader(whole), int64(len(whole))); err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := readDatabase(t.Context(), bytes.NewReader(data), int64(len(data)))
		if err == nil && (c.Keys > int64(len(data)) || c.Database != int64(len(data))) {
			t.Errorf("%+v", c)
		}
	})
}
