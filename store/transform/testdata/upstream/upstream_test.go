package upstream

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage/value"

	"github.com/kx-apiserver/kx/store/transform"
	"github.com/kx-apiserver/kx/store/transform/kms/kmstest"
)

var rewrite = flag.Bool("rewrite", false, "record ../values.json")

var kinds = []string{"aesgcm", "aescbc", "secretbox", "identity"}

// plain are values of every length around a block, the two real beginnings among them.
func plain() [][]byte {
	out := [][]byte{[]byte("k8s\x00\n\x0c\n\x02v1\x12\x06Secret"), []byte(`{"kind":"Panda"}` + "\n"), bytes.Repeat([]byte("long"), 1000)}
	for n := range 34 {
		out = append(out, bytes.Repeat([]byte{byte('a' + n%26)}, n))
	}
	return out
}

func upstreamConfig(t *testing.T, config []byte) (*encryptionconfig.EncryptionConfiguration, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	return encryptionconfig.LoadEncryptionConfig(t.Context(), file, false, "")
}

// both are upstream's and our transformer of a resource of config.
func both(t *testing.T, config []byte, kind string) (value.Transformer, transform.Transformer) {
	t.Helper()
	theirs, err := upstreamConfig(t, config)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := transform.ParseConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	resource := schema.ParseGroupResource(kind + ".test")
	return encryptionconfig.StaticTransformers(theirs.Transformers).TransformerForResource(resource), ours.ForResource(resource)
}

// configs are ../config.yaml with its keys rotated, so that each of them is once the one that writes.
func configs(t *testing.T) [][]byte {
	t.Helper()
	config, err := os.ReadFile("../config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(config), "\n")
	out := [][]byte{config}
	for range 2 {
		var rotated []string
		for i := 0; i < len(lines); {
			j := i
			for j < len(lines) && strings.Contains(lines[j], "- {name:") {
				j++
			}
			if j > i {
				rotated = append(append(rotated, lines[i+1:j]...), lines[i])
				i = j
				continue
			}
			rotated = append(rotated, lines[i])
			i++
		}
		lines = rotated
		out = append(out, []byte(strings.Join(lines, "\n")))
	}
	return out
}

func TestEachReadsTheOther(t *testing.T) {
	key := []byte("/registry/secrets/default/a")
	for _, config := range configs(t) {
		for _, kind := range kinds {
			theirs, ours := both(t, config, kind)
			for _, want := range plain() {
				stored, err := theirs.TransformToStorage(t.Context(), want, value.DefaultContext(key))
				if err != nil {
					t.Fatal(err)
				}
				got, stale, err := ours.TransformFromStorage(t.Context(), stored, transform.DefaultContext(key))
				if err != nil || stale || !bytes.Equal(got, want) {
					t.Errorf("%s: ours reads theirs as %q, stale %v, %v; want %q", kind, got, stale, err, want)
				}
				stored, err = ours.TransformToStorage(t.Context(), want, transform.DefaultContext(key))
				if err != nil {
					t.Fatal(err)
				}
				got, stale, err = theirs.TransformFromStorage(t.Context(), stored, value.DefaultContext(key))
				if err != nil || stale || !bytes.Equal(got, want) {
					t.Errorf("%s: theirs reads ours as %q, stale %v, %v; want %q", kind, got, stale, err, want)
				}
			}
		}
	}
}

// TestOneOpinion compares what both make of values that one of the keys wrote at one place: readable or not, at that
// place and at another, stale or not.
func TestOneOpinion(t *testing.T) {
	all := configs(t)
	key, other := []byte("/registry/secrets/default/a"), []byte("/registry/secrets/default/b")
	for _, writer := range all {
		for _, writerKind := range kinds {
			theirWriter, _ := both(t, writer, writerKind)
			stored, err := theirWriter.TransformToStorage(t.Context(), []byte("value"), value.DefaultContext(key))
			if err != nil {
				t.Fatal(err)
			}
			for _, reader := range all {
				for _, kind := range kinds {
					theirs, ours := both(t, reader, kind)
					for _, at := range [][]byte{key, other} {
						a, staleA, errA := theirs.TransformFromStorage(t.Context(), stored, value.DefaultContext(at))
						b, staleB, errB := ours.TransformFromStorage(t.Context(), stored, transform.DefaultContext(at))
						if !bytes.Equal(a, b) || staleA != staleB || (errA == nil) != (errB == nil) {
							t.Errorf("%s read by %s at %s: theirs %q %v %v, ours %q %v %v",
								writerKind, kind, at, a, staleA, errA, b, staleB, errB)
						}
					}
				}
			}
		}
	}
}

// TestOneOpinionOnFiles parses the files that store/transform's own tests parse.
func TestOneOpinionOnFiles(t *testing.T) {
	files, err := filepath.Glob("../configs/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		config, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, ours := transform.ParseConfig(config)
		_, theirs := upstreamConfig(t, config)
		if (theirs == nil) != (ours == nil) {
			t.Errorf("%s: theirs says %v, ours %v", file, theirs, ours)
		}
	}
}

// TestPlugin has both encrypt with the keys of one KMS plugin, and read what the other has written.
func TestPlugin(t *testing.T) {
	p := kmstest.Serve(t, "1")
	config := fmt.Appendf(nil, `kind: EncryptionConfiguration
apiVersion: apiserver.config.k8s.io/v1
resources:
- resources: [kms.test]
  providers:
  - kms: {apiVersion: v2, name: vault, endpoint: 'unix://%s', timeout: 1m}
  - identity: {}
`, p.Socket)
	place, other := []byte("/registry/secrets/default/a"), []byte("/registry/secrets/default/b")
	theirs, ours := both(t, config, "kms")
	var first [2][]byte
	for _, want := range plain() {
		for i, write := range []func() ([]byte, error){
			func() ([]byte, error) {
				return theirs.TransformToStorage(t.Context(), want, value.DefaultContext(place))
			},
			func() ([]byte, error) {
				return ours.TransformToStorage(t.Context(), want, transform.DefaultContext(place))
			},
		} {
			stored, err := write()
			if err != nil {
				t.Fatal(err)
			}
			first[i] = stored
			if !bytes.HasPrefix(stored, []byte("k8s:enc:kms:v2:vault:")) {
				t.Errorf("stored is %q", stored)
			}
			a, staleA, errA := theirs.TransformFromStorage(t.Context(), stored, value.DefaultContext(place))
			b, staleB, errB := ours.TransformFromStorage(t.Context(), stored, transform.DefaultContext(place))
			if errA != nil || errB != nil || staleA || staleB || !bytes.Equal(a, want) || !bytes.Equal(b, want) {
				t.Errorf("writer %d: theirs %q %v %v, ours %q %v %v; want %q", i, a, staleA, errA, b, staleB, errB, want)
			}
			_, _, errA = theirs.TransformFromStorage(t.Context(), stored, value.DefaultContext(other))
			_, _, errB = ours.TransformFromStorage(t.Context(), stored, transform.DefaultContext(other))
			if errA == nil || errB == nil || errA.Error() != errB.Error() {
				t.Errorf("at another place: theirs %v, ours %v", errA, errB)
			}
		}
	}
	p.Use("2")
	theirs, ours = both(t, config, "kms")
	for i, stored := range first {
		_, staleA, errA := theirs.TransformFromStorage(t.Context(), stored, value.DefaultContext(place))
		_, staleB, errB := ours.TransformFromStorage(t.Context(), stored, transform.DefaultContext(place))
		if errA != nil || errB != nil || !staleA || !staleB {
			t.Errorf("writer %d, another key: theirs %v %v, ours %v %v", i, staleA, errA, staleB, errB)
		}
	}
}

type golden struct{ Kind, Key, Plain, Stored string }

const goldenFile = "../values.json"

// TestGolden says that upstream reads the recorded values, which the tests read that must not depend on it. With
// -rewrite it records them first.
func TestGolden(t *testing.T) {
	if *rewrite {
		recordGolden(t)
	}
	data, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatal(err)
	}
	var values []golden
	if err := json.Unmarshal(data, &values); err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		theirs, _ := both(t, configs(t)[0], v.Kind)
		stored, err := hex.DecodeString(v.Stored)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := theirs.TransformFromStorage(t.Context(), stored, value.DefaultContext(v.Key))
		if err != nil || hex.EncodeToString(got) != v.Plain {
			t.Errorf("%s %s: %x, %v", v.Kind, v.Stored, got, err)
		}
	}
}

func recordGolden(t *testing.T) {
	t.Helper()
	const key = "/registry/secrets/default/golden"
	var values []golden
	for _, config := range configs(t) {
		for _, kind := range kinds {
			theirs, _ := both(t, config, kind)
			for _, want := range plain()[:22] {
				if len(want) > 100 {
					continue
				}
				stored, err := theirs.TransformToStorage(t.Context(), want, value.DefaultContext(key))
				if err != nil {
					t.Fatal(err)
				}
				values = append(values, golden{kind, key, hex.EncodeToString(want), hex.EncodeToString(stored)})
			}
		}
	}
	data, err := json.MarshalIndent(values, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(goldenFile, append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}
