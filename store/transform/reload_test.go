package transform_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/store/transform"
	"github.com/kx-apiserver/kx/store/transform/kms/kmstest"
)

// text is a configuration of secrets with these providers.
func text(providers string) []byte {
	for name, secret := range map[string]byte{"KEY1": 1, "KEY2": 2} {
		providers = strings.ReplaceAll(providers, name, base64.StdEncoding.EncodeToString(key(secret, 32)))
	}
	return []byte(`{"kind":"EncryptionConfiguration","apiVersion":"apiserver.config.k8s.io/v1","resources":[{"resources":["secrets"],"providers":[` + providers + `]}]}`)
}

func boxes(names ...string) string {
	var keys []string
	for _, name := range names {
		keys = append(keys, fmt.Sprintf(`{"name":"%s","secret":"%s"}`, name, strings.ToUpper(name)))
	}
	return `{"secretbox":{"keys":[` + strings.Join(keys, ",") + `]}}`
}

func reloadable(t *testing.T, providers string) *transform.Resources {
	t.Helper()
	r := config(t, providers)
	r.Measure(transform.NewMetrics(nil))
	r.Reloadable()
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func load(t *testing.T, r *transform.Resources, providers string) {
	t.Helper()
	if err := r.Reload(t.Context(), text(providers)); err != nil {
		t.Fatal(err)
	}
}

// TestReload: a transformer that was handed out works by the configuration that counts, and none of no use comes to count.
func TestReload(t *testing.T) {
	r := reloadable(t, boxes("key1"))
	secrets, pods := r.ForResource(schema.GroupResource{Resource: "secrets"}), r.ForResource(schema.GroupResource{Resource: "pods"})
	if r.ForResource(schema.GroupResource{Resource: "secrets"}) != secrets {
		t.Error("a resource has two transformers")
	}
	writes := func(want string) []byte {
		t.Helper()
		stored, err := secrets.TransformToStorage(t.Context(), []byte("value"), at)
		if err != nil || !strings.HasPrefix(string(stored), want) || !strings.HasPrefix(want, r.Prefix(schema.GroupResource{Resource: "secrets"})) {
			t.Errorf("it writes %q (%v), want %s", stored, err, want)
		}
		return stored
	}
	reads := func(stored []byte, wantStale bool) {
		t.Helper()
		got, stale, err := secrets.TransformFromStorage(t.Context(), stored, at)
		if err != nil || string(got) != "value" || stale != wantStale {
			t.Errorf("%q is read as %q, stale %v (%v)", stored, got, stale, err)
		}
	}
	one := writes("k8s:enc:secretbox:v1:key1:")
	before := r.Hash()
	for bad, want := range map[string]string{
		`{"secretbox":{"keys":[{"name":"key1","secret":"bm90IGxvbmcgZW5vdWdo"}]}}`: "resources[0].providers[0].secretbox.keys[0].secret",
		`{"secretbox":{"keys":[]}}`: "resources[0].providers[0].secretbox.keys: Required value",
	} {
		err := r.Reload(t.Context(), text(bad))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "bm90IGxvbmcgZW5vdWdo") {
			t.Errorf("%s: %v, want %s", bad, err, want)
		}
	}
	if err := r.Reload(t.Context(), []byte("kind: EncryptionConfiguration\nresources:\n- {")); err == nil || !strings.Contains(err.Error(), "yaml: line 3") {
		t.Errorf("half a file: %v", err)
	}
	if r.Hash() != before {
		t.Error("one of no use counts")
	}
	reads(writes("k8s:enc:secretbox:v1:key1:"), false)
	load(t, r, boxes("key1", "key2"))
	reads(one, false)
	load(t, r, boxes("key2", "key1"))
	reads(one, true)
	two := writes("k8s:enc:secretbox:v1:key2:")
	load(t, r, boxes("key2"))
	reads(two, false)
	if _, _, err := secrets.TransformFromStorage(t.Context(), one, at); err == nil {
		t.Error("it reads with a key that is gone")
	}
	load(t, r, `{"identity":{}},`+boxes("key2"))
	reads(two, true)
	writes("value")
	if plain, err := pods.TransformToStorage(t.Context(), []byte("value"), at); err != nil || string(plain) != "value" {
		t.Errorf("pods are %q, %v", plain, err)
	}
}

// TestErrorsHaveNoKeys: what is no configuration is not quoted, since it may be one but for a line.
func TestErrorsHaveNoKeys(t *testing.T) {
	whole := string(text(boxes("key1")))
	for lack, want := range map[string]string{
		`"kind":"EncryptionConfiguration",`:            "kind: it has none",
		`"apiVersion":"apiserver.config.k8s.io/v1",`:   "apiVersion: it has none",
		`"resources":[{"resources":["secrets"],`:       "json parse error",
		`"name":"key1",`:                               "keys[0].name: Required value",
		`"kind":"EncryptionConfiguration","apiVersion`: "",
	} {
		_, err := transform.ParseConfig([]byte(strings.Replace(whole, lack, "", 1)))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), base64.StdEncoding.EncodeToString(key(1, 32))) {
			t.Errorf("without %s: %v, want %s", lack, err, want)
		}
	}
}

// TestReloadOfPlugins: a configuration counts when its plugins are well, and what began with a plugin ends with it.
func TestReloadOfPlugins(t *testing.T) {
	first, second := kmstest.Serve(t, "1"), kmstest.Serve(t, "2")
	plugin := func(name string, p *kmstest.Plugin) string {
		return fmt.Sprintf(`{"kms":{"apiVersion":"v2","name":"%s","endpoint":"%s","timeout":"1m"}}`, name, p.Endpoint())
	}
	r := reloadable(t, plugin("first", first))
	if !r.Plugins() || r.Check(t.Context()) != nil {
		t.Error("the first plugin is not well")
	}
	secrets := r.ForResource(schema.GroupResource{Resource: "secrets"})
	stored, err := secrets.TransformToStorage(t.Context(), []byte("value"), at)
	if err != nil {
		t.Fatal(err)
	}
	second.Say("I feel dizzy", "v2")
	both := plugin("second", second) + "," + plugin("first", first)
	if err := r.Reload(t.Context(), text(both)); err == nil || !strings.Contains(err.Error(), "dizzy") || !strings.Contains(err.Error(), `"second"`) {
		t.Errorf("a plugin that is not well: %v", err)
	}
	second.Say("ok", "v2")

	// Another server reads for the first time, and the plugin takes its time.
	other := reloadable(t, plugin("first", first))
	reader := other.ForResource(schema.GroupResource{Resource: "secrets"})
	first.Answer(false)
	read := make(chan error, 1)
	go func() {
		_, _, err := reader.TransformFromStorage(t.Context(), stored, at)
		read <- err
	}()
	for first.Waiting() == 0 {
		runtime.Gosched()
	}
	load(t, other, plugin("second", second))
	if _, _, err := reader.TransformFromStorage(t.Context(), stored, at); err == nil || !strings.Contains(err.Error(), "no matching prefix") {
		t.Errorf("it reads what only the plugin of before could: %v", err)
	}
	first.Answer(true)
	if err := <-read; err != nil {
		t.Errorf("what had begun did not end: %v", err)
	}

	load(t, r, both)
	if got, stale, err := secrets.TransformFromStorage(t.Context(), stored, at); err != nil || !stale || string(got) != "value" {
		t.Errorf("%q, stale %v, %v", got, stale, err)
	}
	again, err := secrets.TransformToStorage(t.Context(), []byte("value"), at)
	if err != nil || !strings.HasPrefix(string(again), "k8s:enc:kms:v2:second:") {
		t.Errorf("%q, %v", again, err)
	}
}

// TestReloadUnderLoad: a value that was written with any configuration can be read with the next one, whoever reloads meanwhile, and
// resources may be added.
func TestReloadUnderLoad(t *testing.T) {
	r := reloadable(t, boxes("key1", "key2"))
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				tr := r.ForResource(schema.GroupResource{Resource: "secrets"})
				r.ForResource(schema.GroupResource{Group: fmt.Sprint(n), Resource: fmt.Sprint(i % 300)})
				stored, err := tr.TransformToStorage(ctx, []byte("value"), at)
				if err == nil {
					_, _, err = tr.TransformFromStorage(ctx, stored, at)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 200 {
		load(t, r, [...]string{boxes("key2", "key1"), boxes("key1", "key2")}[i%2])
	}
	stop()
	all.Wait()
}

// TestManyResources: there is a bound to the transformers that are looked up in advance, and none to those that work.
func TestManyResources(t *testing.T) {
	r := reloadable(t, boxes("key1"))
	for i := range 5000 {
		r.ForResource(schema.GroupResource{Group: fmt.Sprint(i), Resource: "pandas"})
	}
	secrets := r.ForResource(schema.GroupResource{Resource: "secrets"})
	load(t, r, boxes("key2"))
	stored, err := secrets.TransformToStorage(t.Context(), []byte("value"), at)
	if err != nil || !strings.HasPrefix(string(stored), "k8s:enc:secretbox:v1:key2:") {
		t.Errorf("%q, %v", stored, err)
	}
}

// BenchmarkReloadable is what it costs that another configuration may come to count, beside what the identity costs.
func BenchmarkReloadable(b *testing.B) {
	for name, reloads := range map[string]bool{"fixed": false, "reloadable": true} {
		r := config(b, boxes("key1"))
		if reloads {
			r.Reloadable()
		}
		tr := r.ForResource(schema.GroupResource{Resource: "pods"})
		value, place, ctx := []byte("value"), transform.Context(at), b.Context()
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := tr.TransformFromStorage(ctx, value, place); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
