package server_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/store/transform/kms/kmstest"
)

// byPlugin has secrets encrypted with the keys of a KMS plugin.
func byPlugin(t *testing.T, p *kmstest.Plugin, timeout time.Duration) func(*options.Options) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	must(t, os.WriteFile(file, fmt.Appendf(nil, `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - kms: {apiVersion: v2, name: vault, endpoint: "unix://%s", timeout: %s}
  - identity: {}
`, p.Socket, timeout), 0o600))
	return func(o *options.Options) { o.Etcd.EncryptionProviderConfig = file }
}

// TestKMS keeps secrets with a plugin, over a restart and a change of the plugin's key, and says which plugin it is that is away.
func TestKMS(t *testing.T) {
	t.Parallel()
	ctx, dir, p := within(t), t.TempDir(), kmstest.Serve(t, "key-1")
	on := func(f func(r *running), edit ...func(*options.Options)) {
		t.Helper()
		r, stop, err := launch(append(edit, in(dir))...)
		must(t, err)
		f(r)
		must(t, stop())
	}
	keyOf := func(r *running, name string) string {
		t.Helper()
		res, err := r.etcd(t).Get(ctx, "/registry/secrets/default/"+name)
		must(t, err)
		if len(res.Kvs) != 1 || !strings.HasPrefix(string(res.Kvs[0].Value), "k8s:enc:kms:v2:vault:") || strings.Contains(string(res.Kvs[0].Value), "hidden") {
			t.Fatalf("%s is stored as %q", name, res.Kvs)
		}
		for _, key := range []string{"key-1", "key-2"} {
			if strings.Contains(string(res.Kvs[0].Value), key) {
				return key
			}
		}
		return ""
	}
	secret := func(name string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: named(name), StringData: map[string]string{"k": "hidden"}}
	}
	read := func(r *running, path string) (int, string) {
		res, body := ask(t, r.httpClient(t), "GET", r.URL+path, nil)
		return res.StatusCode, string(body)
	}
	const patience = 3 * time.Minute
	on(func(r *running) {
		for _, name := range []string{"a", "b"} {
			_, err := r.admin(t).CoreV1().Secrets("default").Create(ctx, secret(name), metav1.CreateOptions{})
			must(t, err)
			if key := keyOf(r, name); key != "key-1" {
				t.Errorf("%s is encrypted with %q", name, key)
			}
		}
		until(t, "it is ready", func() bool {
			status, body := read(r, "/readyz?verbose")
			return status == http.StatusOK && strings.Contains(body, "[+]kms-providers ok")
		})
		if _, body := read(r, "/metrics"); !strings.Contains(body, `apiserver_envelope_encryption_kms_operations_latency_seconds_count{grpc_status_code="OK",method_name="/v2.KeyManagementService/Encrypt",provider_name="vault"} 1`) {
			t.Error("the plugin's calls are not counted")
		}
	}, byPlugin(t, p, patience))
	p.Use("key-2")
	on(func(r *running) {
		secrets := r.admin(t).CoreV1().Secrets("default")
		list, err := secrets.List(ctx, metav1.ListOptions{})
		must(t, err)
		if len(list.Items) != 2 || string(list.Items[1].Data["k"]) != "hidden" {
			t.Errorf("listed %+v", list.Items)
		}
		again, err := secrets.Update(ctx, &list.Items[0], metav1.UpdateOptions{})
		must(t, err)
		if key := keyOf(r, "a"); key != "key-2" || again.ResourceVersion == list.Items[0].ResourceVersion {
			t.Errorf("a value of another key was not written again: it has %q", key)
		}
		if key := keyOf(r, "b"); key != "key-1" {
			t.Errorf("b was encrypted with %q again", key)
		}
	}, byPlugin(t, p, patience))
	p.Stop()
	on(func(r *running) {
		secrets := r.admin(t).CoreV1().Secrets("default")
		_, err := secrets.Get(ctx, "a", metav1.GetOptions{})
		for _, want := range []string{`the KMS plugin "vault" at ` + p.Endpoint(), "failed to decrypt DEK"} {
			if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), want) {
				t.Errorf("a get without the plugin: %v", err)
			}
		}
		_, err = secrets.Create(ctx, secret("c"), metav1.CreateOptions{})
		if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), `the KMS plugin "vault" at `+p.Endpoint()) {
			t.Errorf("a create without the plugin: %v", err)
		}
		if _, err := r.admin(t).CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: named("c")}, metav1.CreateOptions{}); err != nil {
			t.Errorf("a config map without the plugin: %v", err)
		}
		if status, body := read(r, "/readyz"); status != http.StatusInternalServerError || !strings.Contains(body, "[-]kms-providers failed") {
			t.Errorf("readyz without the plugin: %d %s", status, body)
		}
	}, byPlugin(t, p, 100*time.Millisecond), func(o *options.Options) { o.WatchCache.Enabled = false })
	// A cache that was filled without the plugin has the values when it is back.
	on(func(r *running) {
		first := func() watch.EventType {
			w, err := r.admin(t).CoreV1().Secrets("default").Watch(ctx, metav1.ListOptions{ResourceVersion: "0"})
			must(t, err)
			defer w.Stop()
			return (<-w.ResultChan()).Type
		}
		if got := first(); got != watch.Error {
			t.Errorf("a watch without the plugin begins with %s", got)
		}
		p.Start(t)
		until(t, "the cache has the secrets", func() bool { return first() == watch.Added })
	}, byPlugin(t, p, time.Second)) // on a busy machine an answer takes longer than the tenth of it that suffices above
}
