package server_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/store/transform/kms/kmstest"
)

// secretOf is the key of a name.
func secretOf(name string) string {
	return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(name[len(name)-1:], 32)))
}

// allEnabled is a configuration of all resources with these keys, or with another provider before them.
func allEnabled(before string, keys ...string) string {
	var b strings.Builder
	b.WriteString("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: ['*.*']\n  providers:\n" + before)
	if len(keys) > 0 {
		b.WriteString("  - secretbox:\n      keys:\n")
	}
	for _, k := range keys {
		fmt.Fprintf(&b, "      - {name: %s, secret: %s}\n", k, secretOf(k))
	}
	return b.String()
}

// reloading is a server that reads its configuration again.
type reloading struct {
	*running
	file   string
	log    *syncBuffer
	stored *clientv3.Client
}

// syncBuffer is a log that is read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func startReloading(t *testing.T, text string, edit ...func(*options.Options)) *reloading {
	t.Helper()
	s := &reloading{file: filepath.Join(t.TempDir(), "encryption.yaml"), log: &syncBuffer{}}
	must(t, os.WriteFile(s.file, []byte(text), 0o600))
	edit = append(edit, func(o *options.Options) {
		o.Etcd.EncryptionProviderConfig, o.Etcd.EncryptionReload = s.file, true
	})
	r, stop, err := launchLogging(slog.New(slog.NewTextHandler(s.log, nil)), nil, edit...)
	must(t, err)
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
		if strings.Contains(s.log.String(), secretOf("key1")) {
			t.Error("a key is in the log")
		}
	})
	s.running = r
	if len(r.options.Etcd.Servers) == 0 {
		s.stored = r.etcd(t)
		return s
	}
	s.stored, err = clientv3.New(clientv3.Config{Endpoints: r.options.Etcd.Servers})
	must(t, err)
	t.Cleanup(func() { _ = s.stored.Close() })
	return s
}

func (s *reloading) read(t *testing.T, path string) (int, string) {
	t.Helper()
	res, body := ask(t, s.httpClient(t), "GET", s.URL+path, nil)
	return res.StatusCode, string(body)
}

// replace replaces the server's file, as a volume does: nobody reads half of it.
func (s *reloading) replace(t *testing.T, text string) {
	t.Helper()
	must(t, os.WriteFile(s.file+".new", []byte(text), 0o600))
	must(t, os.Rename(s.file+".new", s.file))
}

// reload replaces the file of each server, and waits until all of them work by it.
func reload(t *testing.T, text string, servers ...*reloading) {
	t.Helper()
	for _, s := range servers {
		s.replace(t, text)
	}
	hash := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text)))
	for _, s := range servers {
		until(t, "the server works by the file", func() bool {
			_, body := s.read(t, "/metrics")
			return strings.Contains(body, `apiserver_encryption_config_controller_last_config_info{apiserver_id_hash="sha256:`) && strings.Contains(body, `hash="`+hash+`"} 1`)
		})
	}
}

// underKeys counts the values below a prefix by the key that they are written with.
func (s *reloading) underKeys(t *testing.T, prefix string) map[string]int {
	t.Helper()
	res, err := s.stored.Get(t.Context(), prefix, clientv3.WithPrefix())
	must(t, err)
	counts := map[string]int{}
	for _, kv := range res.Kvs {
		parts := strings.SplitN(string(kv.Value[:min(len(kv.Value), 100)]), ":", 6)
		if len(parts) < 6 {
			counts["none"]++
			continue
		}
		counts[parts[4]]++
	}
	return counts
}

// TestEncryptionReload rotates the key of everything that two servers keep in one etcd, while others write, read and watch.
func TestEncryptionReload(t *testing.T) {
	t.Parallel()
	ctx := within(t)
	etcd := (&rival{}).startEtcd(t)
	on := func(o *options.Options) { o.Etcd.Servers = []string{etcd} }
	a := startReloading(t, allEnabled("", "key1"), on)
	b := startReloading(t, allEnabled("", "key1"), on)
	both := []*kubernetes.Clientset{a.admin(t), b.admin(t)}
	const objects = 20
	secret := func(i int) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: named(fmt.Sprintf("s-%d", i)), StringData: map[string]string{"k": "hidden", "n": "0"}}
	}
	for i := range objects {
		_, err := both[i%2].CoreV1().Secrets("default").Create(ctx, secret(i), metav1.CreateOptions{})
		must(t, err)
	}
	var watches []watch.Interface
	for _, c := range both {
		w, err := c.CoreV1().Secrets("default").Watch(ctx, metav1.ListOptions{ResourceVersion: "0"})
		must(t, err)
		defer w.Stop()
		watches = append(watches, w)
	}

	// Two clients of each server write and read until the end. The last object is theirs.
	load, stop := context.WithCancel(ctx)
	var loading sync.WaitGroup
	for n := range 4 {
		loading.Go(func() {
			secrets := both[n%2].CoreV1().Secrets("default")
			mine := secret(100 + n)
			if _, err := secrets.Create(ctx, mine, metav1.CreateOptions{}); err != nil {
				t.Error(err)
				return
			}
			for i := 1; load.Err() == nil; i++ {
				patch := fmt.Appendf(nil, `{"stringData":{"n":"%d"}}`, i)
				if _, err := secrets.Patch(ctx, mine.Name, "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
					t.Error(err)
					return
				}
				got, err := secrets.Get(ctx, mine.Name, metav1.GetOptions{})
				if err != nil || string(got.Data["n"]) != fmt.Sprint(i) || string(got.Data["k"]) != "hidden" {
					t.Errorf("%v, %v", got, err)
					return
				}
				if _, err := secrets.List(ctx, metav1.ListOptions{ResourceVersion: []string{"", "0"}[i%2]}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	readable := func() {
		t.Helper()
		for _, c := range both {
			for _, version := range []string{"", "0"} {
				list, err := c.CoreV1().Secrets("default").List(ctx, metav1.ListOptions{ResourceVersion: version})
				must(t, err)
				for _, s := range list.Items {
					if string(s.Data["k"]) != "hidden" {
						t.Errorf("got %v", s)
					}
				}
			}
		}
	}
	reload(t, allEnabled("", "key1", "key2"), a, b)
	readable()
	reload(t, allEnabled("", "key2", "key1"), a, b)
	readable()
	_, err := both[1].CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: named("new")}, metav1.CreateOptions{})
	must(t, err)
	if got := a.underKeys(t, "/registry/configmaps/default/new"); got["key2"] != 1 {
		t.Errorf("what is created then has the keys %v", got)
	}
	if got := a.underKeys(t, "/registry/secrets/default/s-0"); got["key1"] != 1 {
		t.Errorf("what was there has the keys %v", got)
	}
	// What kx storage migrate does: an update of each object that changes nothing.
	for i := range objects {
		_, err := both[i%2].CoreV1().Secrets("default").Patch(ctx, secret(i).Name, "application/merge-patch+json", []byte(`{}`), metav1.PatchOptions{})
		must(t, err)
	}
	until(t, "all secrets have the new key", func() bool { // others update them, too, and may be in the midst of it
		got := a.underKeys(t, "/registry/secrets/default/s-")
		return got["key1"] == 0 && got["key2"] == objects+4
	})
	stop()
	loading.Wait()
	reload(t, allEnabled("", "key2"), a, b)
	readable()
	last := secret(99)
	_, err = both[0].CoreV1().Secrets("default").Create(ctx, last, metav1.CreateOptions{})
	must(t, err)
	// The watches have been open since the first key, and miss nothing.
	for n, w := range watches {
		seen := map[string]int{}
		for e := range w.ResultChan() {
			s, ok := e.Object.(*corev1.Secret)
			if !ok {
				t.Fatalf("the watch of server %d ended with %v", n, e.Object)
			}
			if seen[s.Name]++; s.Name == last.Name {
				break
			}
		}
		for i := range objects {
			if seen[secret(i).Name] < 2 {
				t.Errorf("the watch of server %d saw %v", n, seen)
			}
		}
		if seen[last.Name] == 0 {
			t.Errorf("the watch of server %d ended early", n)
		}
	}
	if code, body := a.read(t, "/apis/kx.dev/v1alpha1/keys?limit=500"); code != http.StatusOK || strings.Contains(body, "secrets/default/s-0") && strings.Contains(body, "secretbox key1") && !strings.Contains(body, "secretbox key2") {
		t.Errorf("the keys of etcd: %d", code)
	}
}

// TestEncryptionReloadBroken: a file of no use changes nothing and is told, until it is mended.
func TestEncryptionReloadBroken(t *testing.T) {
	t.Parallel()
	ctx := within(t)
	good := allEnabled("", "key1")
	s := startReloading(t, good)
	secrets := s.admin(t).CoreV1().Secrets("default")
	failures := 0
	for _, broken := range []string{
		strings.Replace(good, secretOf("key1"), "c2hvcnQ=", 1), strings.Replace(good, "kind: EncryptionConfiguration\n", "", 1), good[:len(good)-8], "",
	} {
		s.replace(t, broken)
		until(t, "the server says so", func() bool {
			code, body := s.read(t, "/readyz/encryption")
			return code == http.StatusInternalServerError && strings.Contains(body, "the keys of stored objects are not as their file says: see the log")
		})
		failures++
		if code, _ := s.read(t, "/livez"); code != http.StatusOK {
			t.Error("another start of the server does not help a file of no use")
		}
		_, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: named(fmt.Sprint("s-", failures))}, metav1.CreateOptions{})
		must(t, err)
		s.replace(t, good)
		until(t, "all is well", func() bool { code, _ := s.read(t, "/readyz"); return code == http.StatusOK })
		// The server tells of a failure before it counts it.
		if _, body := s.read(t, "/metrics"); !strings.Contains(body, fmt.Sprintf(`status="failure"} %d`, failures)) {
			t.Errorf("%d failures are not counted", failures)
		}
	}
	if got := s.underKeys(t, "/registry/secrets/default/s-"); got["key1"] != failures {
		t.Errorf("secrets have the keys %v", got)
	}
	if log := s.log.String(); !strings.Contains(log, "resources[0].providers[0].secretbox.keys[0].secret") || !strings.Contains(log, s.file) {
		t.Errorf("the log names neither file nor field: %s", log)
	}
}

// TestEncryptionReloadHeals: what a server could not read, since another one had its key first, can be read when it has the key, too:
// objects, lists and watches from its cache, and roles.
func TestEncryptionReloadHeals(t *testing.T) {
	t.Parallel()
	ctx := within(t)
	etcd := (&rival{}).startEtcd(t)
	on := func(o *options.Options) {
		o.Etcd.Servers = []string{etcd}
		o.Access.TokenAuthFile = filepath.Join(t.TempDir(), "tokens.csv")
		must(t, os.WriteFile(o.Access.TokenAuthFile, []byte("token-of-ann,ann,ann\n"), 0o600))
	}
	late := startReloading(t, allEnabled("", "key1"), on)
	early := startReloading(t, allEnabled("", "key2", "key1"), on)
	maps := late.admin(t).CoreV1().ConfigMaps("default")
	_, err := maps.List(ctx, metav1.ListOptions{ResourceVersion: "0"}) // its cache begins
	must(t, err)
	other := early.admin(t)
	_, err = other.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: named("c")}, metav1.CreateOptions{})
	must(t, err)
	_, err = other.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: named("reader"), Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}}},
	}, metav1.CreateOptions{})
	must(t, err)
	_, err = other.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: named("reader"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "reader"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "ann"}},
	}, metav1.CreateOptions{})
	must(t, err)
	until(t, "the late server has met what it can't read", func() bool {
		return strings.Contains(late.log.String(), "clusterrolebindings/reader")
	})
	if _, err := maps.Get(ctx, "c", metav1.GetOptions{}); err == nil {
		t.Fatal("it is read without its key")
	}
	reload(t, allEnabled("", "key1", "key2"), late)
	config := restclient.AnonymousClientConfig(late.config)
	config.BearerToken = "token-of-ann"
	ann, err := kubernetes.NewForConfig(config)
	must(t, err)
	until(t, "the role counts", func() bool {
		_, err := ann.CoreV1().ConfigMaps("default").Get(ctx, "c", metav1.GetOptions{})
		return err == nil
	})
	until(t, "a watch from the cache has the object", func() bool {
		w, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: "0", FieldSelector: "metadata.name=c"})
		must(t, err)
		defer w.Stop()
		e := <-w.ResultChan()
		_, ok := e.Object.(*corev1.ConfigMap)
		return ok && e.Type == watch.Added
	})
}

// TestEncryptionReloadPlugin replaces a KMS plugin by another one, which counts when it is well.
func TestEncryptionReloadPlugin(t *testing.T) {
	t.Parallel()
	ctx := within(t)
	first, second := kmstest.Serve(t, "key-1"), kmstest.Serve(t, "key-2")
	provider := func(name string, p *kmstest.Plugin) string {
		return fmt.Sprintf("  - kms: {apiVersion: v2, name: %s, endpoint: %q, timeout: 1m}\n", name, p.Endpoint())
	}
	s := startReloading(t, allEnabled(provider("first", first)))
	secrets := s.admin(t).CoreV1().Secrets("default")
	create := func(name, want string) {
		t.Helper()
		_, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: named(name), StringData: map[string]string{"k": "hidden"}}, metav1.CreateOptions{})
		must(t, err)
		if got := s.underKeys(t, "/registry/secrets/default/"+name); got[want] != 1 {
			t.Errorf("%s has the keys %v, want %s", name, got, want)
		}
	}
	create("a", "first")
	until(t, "the server is ready", func() bool {
		code, body := s.read(t, "/readyz?verbose")
		return code == http.StatusOK && strings.Contains(body, "[+]kms-providers ok") && strings.Contains(body, "[+]encryption ok")
	})
	second.Say("dizzy", "v2")
	both := allEnabled(provider("second", second) + provider("first", first))
	s.replace(t, both)
	until(t, "the server says that the plugin is not well", func() bool {
		code, _ := s.read(t, "/readyz/encryption")
		return code == http.StatusInternalServerError && strings.Contains(s.log.String(), "dizzy")
	})
	create("b", "first")
	second.Say("ok", "v2") // the file stays as it is
	until(t, "the file counts", func() bool { code, _ := s.read(t, "/readyz/encryption"); return code == http.StatusOK })
	create("c", "second")
	for _, name := range []string{"a", "b"} {
		_, err := secrets.Patch(ctx, name, "application/merge-patch+json", []byte(`{}`), metav1.PatchOptions{})
		must(t, err)
	}
	reload(t, allEnabled(provider("second", second)), s)
	first.Stop()
	list, err := secrets.List(ctx, metav1.ListOptions{})
	must(t, err)
	if got := s.underKeys(t, "/registry/secrets/default/"); got["second"] != 3 || len(list.Items) != 3 {
		t.Errorf("%d secrets, of the keys %v", len(list.Items), got)
	}
	if code, body := s.read(t, "/readyz?verbose"); code != http.StatusOK {
		t.Errorf("without the first plugin: %d %s", code, body)
	}
}
