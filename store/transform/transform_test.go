package transform_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/store/transform"
)

var at = transform.DefaultContext("/registry/secrets/default/a")

func key(b byte, size int) []byte { return bytes.Repeat([]byte{b}, size) }

func aesGCM(t testing.TB, b byte) transform.Transformer {
	t.Helper()
	tr, err := transform.NewAESGCM(key(b, 32))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func aesCBC(t testing.TB, b byte) transform.Transformer {
	t.Helper()
	tr, err := transform.NewAESCBC(key(b, 32))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func secretbox(_ testing.TB, b byte) transform.Transformer {
	return transform.NewSecretbox([32]byte(key(b, 32)))
}

func identity(testing.TB, byte) transform.Transformer { return transform.NewIdentity() }

var ciphers = []struct {
	name  string
	new   func(testing.TB, byte) transform.Transformer
	extra int // bytes that a value of 5 grows by
}{
	{"aesgcm", aesGCM, 12 + 16}, {"aescbc", aesCBC, 16 + 11}, {"secretbox", secretbox, 24 + 16}, {"identity", identity, 0},
}

func TestRoundTrip(t *testing.T) {
	for _, c := range ciphers {
		t.Run(c.name, func(t *testing.T) {
			tr := c.new(t, 1)
			for n := range 70 {
				plain := bytes.Repeat([]byte{'x'}, n)
				stored, err := tr.TransformToStorage(t.Context(), plain, at)
				if err != nil {
					t.Fatal(err)
				}
				if n == 5 && len(stored) != n+c.extra {
					t.Errorf("5 bytes are stored as %d, want %d", len(stored), 5+c.extra)
				}
				before := bytes.Clone(stored)
				got, stale, err := tr.TransformFromStorage(t.Context(), stored, at)
				if err != nil || stale || !bytes.Equal(got, plain) {
					t.Errorf("%d bytes come back as %q, stale %v, %v", n, got, stale, err)
				}
				if !bytes.Equal(before, stored) || !bytes.Equal(plain, bytes.Repeat([]byte{'x'}, n)) {
					t.Errorf("an input of %d bytes was changed", n)
				}
			}
		})
	}
}

func TestSameValueTwiceDiffers(t *testing.T) {
	for _, c := range ciphers[:3] {
		tr := c.new(t, 1)
		a, errA := tr.TransformToStorage(t.Context(), []byte("value"), at)
		b, errB := tr.TransformToStorage(t.Context(), []byte("value"), at)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if bytes.Equal(a, b) {
			t.Errorf("%s makes the same bytes of the same value: its nonce is not random", c.name)
		}
	}
}

// TestTampering flips each bit and cuts each end. Where the cipher authenticates, nothing of that may open.
func TestTampering(t *testing.T) {
	for _, c := range ciphers[:3] {
		t.Run(c.name, func(t *testing.T) {
			tr := c.new(t, 1)
			stored, err := tr.TransformToStorage(t.Context(), []byte("value"), at)
			if err != nil {
				t.Fatal(err)
			}
			authenticates := c.name != "aescbc"
			for i := range stored {
				changed := bytes.Clone(stored)
				changed[i] ^= 1
				if _, _, err := tr.TransformFromStorage(t.Context(), changed, at); err == nil && authenticates {
					t.Errorf("opens with byte %d changed", i)
				}
				if _, _, err := tr.TransformFromStorage(t.Context(), stored[:i], at); err == nil {
					t.Errorf("opens with %d of %d bytes", i, len(stored))
				}
			}
			if _, _, err := c.new(t, 2).TransformFromStorage(t.Context(), stored, at); err == nil && authenticates {
				t.Error("opens with another key")
			}
		})
	}
}

func TestKeyPathIsAuthenticated(t *testing.T) {
	elsewhere := transform.DefaultContext("/registry/secrets/default/b")
	for _, c := range ciphers {
		tr := c.new(t, 1)
		stored, err := tr.TransformToStorage(t.Context(), []byte("value"), at)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = tr.TransformFromStorage(t.Context(), stored, elsewhere)
		if opens := err == nil; opens == (c.name == "aesgcm") {
			t.Errorf("%s: a value that was moved to another key opens: %v", c.name, opens)
		}
	}
}

func TestIdentityRefusesEncrypted(t *testing.T) {
	_, _, err := transform.NewIdentity().TransformFromStorage(t.Context(), []byte("k8s:enc:aesgcm:v1:a:xxx"), at)
	if err == nil || err.Error() != "identity transformer tried to read encrypted data" {
		t.Errorf("got %v", err)
	}
}

func TestKeySizes(t *testing.T) {
	for _, n := range []int{0, 15, 31, 33} {
		if _, err := transform.NewAESGCM(key(1, n)); err == nil {
			t.Errorf("AES-GCM takes a key of %d bytes", n)
		}
		if _, err := transform.NewAESCBC(key(1, n)); err == nil {
			t.Errorf("AES-CBC takes a key of %d bytes", n)
		}
	}
}

func config(t testing.TB, providers string) *transform.Resources {
	t.Helper()
	for name, secret := range map[string]byte{"KEY1": 1, "KEY2": 2} {
		providers = strings.ReplaceAll(providers, name, base64.StdEncoding.EncodeToString(key(secret, 32)))
	}
	r, err := transform.ParseConfig([]byte(`{"kind":"EncryptionConfiguration","apiVersion":"apiserver.config.k8s.io/v1",
		"resources":[{"resources":["secrets"],"providers":[` + providers + `]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRotation follows a value through changes of the configuration.
func TestRotation(t *testing.T) {
	const (
		none = `{"identity":{}}`
		gcm1 = `{"aesgcm":{"keys":[{"name":"one","secret":"KEY1"}]}}`
		gcm2 = `{"aesgcm":{"keys":[{"name":"two","secret":"KEY2"}]}}`
		both = `{"aesgcm":{"keys":[{"name":"two","secret":"KEY2"},{"name":"one","secret":"KEY1"}]}}`
		// The same name for another key is how people rotate by mistake; both providers are tried.
		renamed = `{"aesgcm":{"keys":[{"name":"one","secret":"KEY2"}]}}`
		box     = `{"secretbox":{"keys":[{"name":"one","secret":"KEY1"}]}}`
	)
	for _, c := range []struct {
		name, written, read string
		stale               bool
		err                 string
	}{
		{"same", gcm1, gcm1, false, ""},
		{"encryption is switched on", none, gcm1 + "," + none, true, ""},
		{"encryption is switched off", gcm1, none + "," + gcm1, true, ""},
		{"identity first reads what is plain", none, none + "," + gcm1, false, ""},
		{"new key first", gcm1, both, true, ""},
		{"first key of two", gcm2, both, false, ""},
		{"new provider first", gcm1, gcm2 + "," + gcm1, true, ""},
		{"new provider with the old name", gcm1, renamed + "," + gcm1, true, ""},
		{"other cipher first", gcm1, box + "," + gcm1, true, ""},
		{"key was removed", gcm1, gcm2, false, `no key of the configuration matches a value that begins "k8s:enc:aesgcm:v1:"`},
		{"key was changed", gcm1, renamed, false, "cipher: message authentication failed"},
		{"provider was removed", gcm1, box, false, "no matching prefix found"},
		{"all was removed", gcm1, none, false, "no matching prefix found"},
		{"plain value, no identity", none, gcm1, false, "no matching prefix found"},
		{"key was removed, identity last", gcm1, gcm2 + "," + none, false, "no key of the configuration matches"},
	} {
		t.Run(c.name, func(t *testing.T) {
			secrets := schema.GroupResource{Resource: "secrets"}
			stored, err := config(t, c.written).ForResource(secrets).TransformToStorage(t.Context(), []byte("value"), at)
			if err != nil {
				t.Fatal(err)
			}
			got, stale, err := config(t, c.read).ForResource(secrets).TransformFromStorage(t.Context(), stored, at)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil || string(got) != "value" || stale != c.stale {
				t.Errorf("%q, stale %v, %v; want stale %v", got, stale, err, c.stale)
			}
		})
	}
}

func TestStoredForm(t *testing.T) {
	stored, err := config(t, `{"aesgcm":{"keys":[{"name":"my key","secret":"KEY1"}]}}`).
		ForResource(schema.GroupResource{Resource: "secrets"}).TransformToStorage(t.Context(), []byte("value"), at)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(stored, []byte("k8s:enc:aesgcm:v1:my key:")) {
		t.Errorf("stored as %q", stored)
	}
}

// TestRecordedValues reads what a kube-apiserver's transformers wrote.
func TestRecordedValues(t *testing.T) {
	resources, err := transform.LoadConfig("testdata/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("testdata/values.json")
	if err != nil {
		t.Fatal(err)
	}
	var values []struct{ Kind, Key, Plain, Stored string }
	if err := json.Unmarshal(data, &values); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, v := range values {
		stored, err := hex.DecodeString(v.Stored)
		if err != nil {
			t.Fatal(err)
		}
		tr := resources.ForResource(schema.ParseGroupResource(v.Kind + ".test"))
		got, _, err := tr.TransformFromStorage(t.Context(), stored, transform.DefaultContext(v.Key))
		if err != nil || hex.EncodeToString(got) != v.Plain {
			t.Errorf("%s %s: %x, %v; want %s", v.Kind, v.Stored, got, err, v.Plain)
		}
		seen[v.Kind]++
	}
	for _, kind := range []string{"aesgcm", "aescbc", "secretbox", "identity"} {
		if seen[kind] == 0 {
			t.Errorf("no recorded value of %s", kind)
		}
	}
}

// TestConfigFiles reads files whose first line says what becomes of them. The comparison with upstream reads them too.
func TestConfigFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/configs/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(string(data), "\n")
			want := strings.TrimPrefix(first, "# ")
			if len(data) == 0 {
				want = "the file is empty"
			}
			switch _, err := transform.LoadConfig(file); {
			case want == "accepted":
				if err != nil {
					t.Error(err)
				}
			case err == nil:
				t.Errorf("accepted, want %q", want)
			case !strings.Contains(err.Error(), want):
				t.Errorf("got %v\nwant %s", err, want)
			case !strings.Contains(err.Error(), file):
				t.Errorf("%q does not name the file", err)
			}
		})
	}
}

func TestMissingFile(t *testing.T) {
	if _, err := transform.LoadConfig("testdata/none.yaml"); err == nil || !strings.Contains(err.Error(), "testdata/none.yaml") {
		t.Errorf("got %v", err)
	}
}

func TestForResource(t *testing.T) {
	resources, err := transform.LoadConfig("testdata/configs/ok-wildcards.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for resource, prefix := range map[string]string{
		"events":                       "value",
		"secrets":                      "k8s:enc:aescbc:v1:key1:",
		"pandas.awesome.bears.example": "k8s:enc:aescbc:v1:key1:",
		"deployments.apps":             "k8s:enc:secretbox:v1:key2:",
		"pods":                         "k8s:enc:aesgcm:v1:key3:",
		"ingresses.networking.k8s.io":  "k8s:enc:aesgcm:v1:key4:",
	} {
		for r, want := range map[*transform.Resources]string{resources: prefix, nil: "value"} {
			got, err := r.ForResource(schema.ParseGroupResource(resource)).TransformToStorage(t.Context(), []byte("value"), at)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(got, []byte(want)) {
				t.Errorf("%s is stored as %q, want %q", resource, got, want)
			}
		}
	}
}

func FuzzTransformFromStorage(f *testing.F) {
	resources, err := transform.LoadConfig("testdata/config.yaml")
	if err != nil {
		f.Fatal(err)
	}
	var all []transform.Transformer
	for _, c := range ciphers {
		all = append(all, c.new(f, 1))
		all = append(all, resources.ForResource(schema.ParseGroupResource(c.name+".test")))
		stored, err := all[len(all)-1].TransformToStorage(f.Context(), []byte("value"), at)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(stored)
	}
	f.Add([]byte("k8s:enc:aescbc:v1:short:0123456789abcdef"))
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		for _, tr := range all {
			out, _, err := tr.TransformFromStorage(t.Context(), data, at)
			if err != nil && out != nil {
				t.Errorf("both %q and %v", out, err)
			}
		}
		if !bytes.Equal(before, data) {
			t.Error("the input was changed")
		}
	})
}

func FuzzParseConfig(f *testing.F) {
	files, err := filepath.Glob("testdata/configs/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		resources, err := transform.ParseConfig(data)
		if err != nil {
			return
		}
		if resources.Plugins() { // nobody is at their sockets
			if err := resources.Close(); err != nil {
				t.Error(err)
			}
			return
		}
		// Whatever is accepted can be used.
		tr := resources.ForResource(schema.GroupResource{Resource: "secrets"})
		stored, err := tr.TransformToStorage(t.Context(), []byte("value"), at)
		if err != nil {
			t.Fatal(err)
		}
		if got, stale, err := tr.TransformFromStorage(t.Context(), stored, at); err != nil || stale || string(got) != "value" {
			t.Errorf("%q, stale %v, %v", got, stale, err)
		}
	})
}

func BenchmarkTransform(b *testing.B) {
	value := bytes.Repeat([]byte{'x'}, 1024)
	for _, c := range ciphers {
		tr := c.new(b, 1)
		stored, err := tr.TransformToStorage(b.Context(), value, at)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(c.name+"/read", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := tr.TransformFromStorage(b.Context(), stored, at); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/write", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := tr.TransformToStorage(b.Context(), value, at); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
