package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/kx-apiserver/kx/cmd/kx/internal/migrate"
	"github.com/kx-apiserver/kx/store/transform/kms/kmstest"
)

// encryptionOf is a file of a configuration whose first key is the first of names.
func encryptionOf(t *testing.T, dir string, names ...string) string {
	t.Helper()
	var keys []string
	for _, name := range names {
		keys = append(keys, fmt.Sprintf("{name: %s, secret: %s}", name, base64.StdEncoding.EncodeToString([]byte((name + "0123456789abcdef")[:16]))))
	}
	file := filepath.Join(dir, strings.Join(names, "-")+".yaml")
	text := "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n" +
		"  - aescbc: {keys: [" + strings.Join(keys, ", ") + "]}\n  - identity: {}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const crontabsV2 = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.stable.example.com}
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crontabs, singular: crontab, kind: CronTab, listKind: CronTabList, shortNames: [ct]}
  versions:
  - name: v1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
  - name: v2
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// TestStorageOfPlugin shows which keys of a KMS plugin secrets have, and what is in them.
func TestStorageOfPlugin(t *testing.T) {
	t.Parallel()
	m, dir, plugin := newMachine(t), t.TempDir(), kmstest.Serve(t, "key-1")
	data, file := filepath.Join(dir, "data"), filepath.Join(dir, "encryption.yaml")
	text := fmt.Sprintf("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n"+
		"  - kms: {apiVersion: v2, name: vault, endpoint: %q, timeout: 1m}\n", plugin.Endpoint())
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := serve(t, "--data-dir", data, "--encryption-provider-config", file)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: map[string][]byte{"k": []byte("v")}}
	if _, err := p.client(t).CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	at := []string{"--data-dir", data, "--encryption-provider-config", file}
	keys := append([]string{"storage", "keys", "secrets"}, at...)
	if a := m.run("", keys...); a.code != 0 || !strings.Contains(a.out, "kms v2 vault") || !strings.Contains(a.out, "key-1") || a.err != "" {
		t.Errorf("keys: %+v", a)
	}
	if a := m.run("", append([]string{"etcd", "get", "secrets/default/s"}, at...)...); a.code != 0 || !strings.Contains(a.out, "name: s") {
		t.Errorf("get: %+v", a)
	}
	plugin.Use("key-2")
	if a := m.run("", keys...); a.code != 0 || !strings.Contains(a.err, "1 object remains") {
		t.Errorf("keys, with another one: %+v", a)
	}
}

// TestStorageMigrate writes secrets with a new key, and custom resources in a new version.
func TestStorageMigrate(t *testing.T) {
	t.Parallel()
	m, dir := newMachine(t), t.TempDir()
	data := filepath.Join(dir, "data")
	ask := func(args ...string) answer {
		t.Helper()
		a := m.run("", args...)
		if a.code != 0 {
			t.Fatalf("kx %s: exit code %d\n%s%s", strings.Join(args, " "), a.code, a.out, a.err)
		}
		return a
	}
	p := serve(t, "--data-dir", data, "--encryption-provider-config", encryptionOf(t, dir, "one"))
	secrets := p.client(t).CoreV1().Secrets("default")
	for i := range 3 {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("s", i)}, Data: map[string][]byte{"k": []byte("v")}}
		if _, err := secrets.Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}

	both := encryptionOf(t, dir, "two", "one")
	p = serve(t, "--data-dir", data, "--encryption-provider-config", both)
	connection := []string{"--kubeconfig", p.kubeconfig}
	keys := []string{"storage", "keys", "secrets", "--data-dir", data, "--encryption-provider-config", both}
	if a := ask(keys...); !strings.Contains(a.err, "3 objects remain") {
		t.Errorf("before: %+v", a)
	}
	if a := ask(append([]string{"storage", "migrate", "secrets", "--rate", "0", "-o", "json"}, connection...)...); !strings.Contains(a.out, `"rewritten": 3`) {
		t.Errorf("migrate: %+v", a)
	}
	if a := ask(keys...); a.err != "" || strings.Contains(a.out, "one") {
		t.Errorf("after: %+v", a)
	}
	if a := ask(append([]string{"storage", "migrate", "--all", "--rate", "0"}, connection...)...); !strings.Contains(a.out, "secrets") || strings.Contains(a.out, "journeys") {
		t.Errorf("again, with all others: %+v", a)
	}
	if got, err := p.client(t).CoreV1().Secrets("default").Get(t.Context(), "s1", metav1.GetOptions{}); err != nil || string(got.Data["k"]) != "v" || len(got.ManagedFields) != 1 {
		t.Errorf("%+v, %v", got, err)
	}

	ask(append([]string{"create", "-f", "testdata/crontabs.yaml"}, connection...)...)
	ask(append([]string{"wait", "--for=condition=Established", "crd", "--all"}, connection...)...)
	ask(append([]string{"create", "-f", "testdata/crontab.yaml"}, connection...)...)
	file := filepath.Join(dir, "v2.yaml")
	if err := os.WriteFile(file, []byte(crontabsV2), 0o600); err != nil {
		t.Fatal(err)
	}
	ask(append([]string{"replace", "-f", file}, connection...)...)
	until(t, "the server stores in the new version", func() bool {
		a := ask(append([]string{"storage", "migrate", "ct", "-o", "json"}, connection...)...)
		return strings.Contains(a.out, `"rewritten": 1`) && strings.Contains(a.out, `"droppable": [`)
	})
	if a := ask("etcd", "get", "stable.example.com/crontabs/default/mine", "--data-dir", data); !strings.Contains(a.out, "stable.example.com/v2") {
		t.Errorf("it is stored as %s", a.out)
	}
	if a := ask(append([]string{"storage", "migrate", "ct"}, connection...)...); !strings.Contains(a.out, "v1, v2 (v1 without objects: --drop-stored-versions)") {
		t.Errorf("it offers nothing: %+v", a)
	}
	if a := ask(append([]string{"storage", "migrate", "ct", "--drop-stored-versions", "-o", "json"}, connection...)...); !strings.Contains(a.out, `"dropped": true`) {
		t.Errorf("%+v", a)
	}
	if a := ask(append([]string{"get", "crd", "crontabs.stable.example.com", "-o", "jsonpath={.status.storedVersions}"}, connection...)...); a.out != `["v2"]` {
		t.Errorf("storedVersions: %s", a.out)
	}
	for _, args := range []string{"storage migrate", "storage migrate secrets --all", "storage migrate nonsense", "storage migrate secrets --from x",
		"storage migrate secrets --from " + migrate.Cursor{Resource: "pods"}.String(), "storage migrate secrets --rate -1"} {
		if a := m.run("", append(strings.Fields(args), connection...)...); a.code != 1 || a.err == "" {
			t.Errorf("kx %s: %+v", args, a)
		}
	}
}

// stopsAfter ends a migration after some objects.
type stopsAfter struct {
	flowcontrol.RateLimiter
	left int
}

var errEnough = errors.New("enough")

func (s *stopsAfter) Wait(context.Context) error {
	if s.left--; s.left < 0 {
		return errEnough
	}
	return nil
}

// TestStorageMigrateGoesOn stops a migration and goes on where it was: all objects are looked at, and none before the page
// that it was at comes twice.
func TestStorageMigrateGoesOn(t *testing.T) {
	const objects, page = 510, 500
	dir := t.TempDir()
	s := startServer(t, dir)
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	m := &migrate.Migration{Metadata: metadata.NewForConfigOrDie(config), Dynamic: dynamic.NewForConfigOrDie(config)}
	p := &process{kubeconfig: s.Kubeconfig}
	c := p.client(t).CoreV1().ConfigMaps("default")
	var creating sync.WaitGroup
	for i := range 10 {
		creating.Go(func() {
			for k := range objects / 10 {
				if _, err := c.Create(t.Context(), configMap(fmt.Sprintf("c-%d-%d", i, k)), metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	creating.Wait()
	gvr := corev1.SchemeGroupVersion.WithResource("configmaps")
	stops := &stopsAfter{left: page + 3}
	m.Pace = stops
	result, err := m.Resource(t.Context(), gvr, nil)
	if !errors.Is(err, errEnough) && (err == nil || !strings.Contains(err.Error(), "stopped")) || result.Objects != page+3 {
		t.Fatalf("%+v, %v", result, err)
	}
	cursor, err := migrate.ParseCursor(result.Cursor)
	if err != nil {
		t.Fatal(err)
	}
	// Nobody has to hurry: the server's token may be too old by then.
	if _, err := c.Create(t.Context(), configMap("z-later"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if a := typeCommand("etcd", "compact", "--data-dir", dir); a.code != 0 {
		t.Fatalf("%+v", a)
	}
	stops.left = 10 * objects
	result, err = m.Resource(t.Context(), gvr, cursor)
	if err != nil || result.Objects != objects+1-page || result.Cursor != "" {
		data, _ := json.Marshal(result)
		t.Errorf("%s, %v", data, err)
	}
}

// TestStorageReload replaces the key of secrets while two servers on one etcd run, by the steps of the documentation.
func TestStorageReload(t *testing.T) {
	t.Parallel()
	m, dir := newMachine(t), t.TempDir()
	file := filepath.Join(dir, "encryption.yaml")
	write := func(names ...string) []byte {
		t.Helper()
		text, err := os.ReadFile(encryptionOf(t, dir, names...))
		if err == nil {
			err = os.WriteFile(file+".new", text, 0o600)
		}
		if err == nil {
			err = os.Rename(file+".new", file)
		}
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	write("one")
	data := filepath.Join(dir, "data")
	reloads := []string{"--encryption-provider-config", file, "--encryption-provider-config-automatic-reload"}
	first := serve(t, append(reloads, "--data-dir", data)...)
	second := serve(t, append(reloads, "--data-dir", t.TempDir(), "--etcd-servers", "unix://"+data+"/etcd.sock")...)
	servers := []*kubernetes.Clientset{first.client(t), second.client(t)}
	rotate := func(names ...string) {
		t.Helper()
		hash := fmt.Sprintf(`hash="sha256:%x"} 1`, sha256.Sum256(write(names...)))
		for _, s := range servers {
			until(t, fmt.Sprintf("the keys %v count", names), func() bool {
				text, err := s.RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return strings.Contains(string(text), "apiserver_encryption_config_controller_last_config_info") && strings.Contains(string(text), hash)
			})
		}
	}
	for i := range 4 {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("s", i)}, Data: map[string][]byte{"k": []byte("v")}}
		if _, err := servers[i%2].CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	watched, err := servers[1].CoreV1().Secrets("default").Watch(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	defer watched.Stop()
	keys := []string{"storage", "keys", "secrets", "--data-dir", data, "--encryption-provider-config", file}
	rotate("one", "two")
	if a := m.run("", keys...); a.code != 0 || a.err != "" || strings.Contains(a.out, "two") {
		t.Errorf("with another key to read: %+v", a)
	}
	rotate("two", "one")
	if a := m.run("", keys...); !strings.Contains(a.err, "4 objects remain") {
		t.Errorf("with another key to write: %+v", a)
	}
	if a := m.run("", "storage", "migrate", "secrets", "--rate", "0", "-o", "json", "--kubeconfig", second.kubeconfig); a.code != 0 || !strings.Contains(a.out, `"rewritten": 4`) {
		t.Errorf("migrate: %+v", a)
	}
	rotate("two")
	if a := m.run("", keys...); a.code != 0 || a.err != "" || strings.Contains(a.out, "one") || !strings.Contains(a.out, "two") {
		t.Errorf("with the other key alone: %+v", a)
	}
	for i, s := range servers {
		list, err := s.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) != 4 || string(list.Items[3].Data["k"]) != "v" {
			t.Errorf("server %d lists %v, %v", i, list, err)
		}
	}
	for n := range 8 { // each as it was, and written again
		if e := <-watched.ResultChan(); e.Type != watch.Added && e.Type != watch.Modified {
			t.Fatalf("event %d is %v", n, e)
		}
	}
}

// TestResumeCommand goes on with the server and the pace of the migration that was stopped.
func TestResumeCommand(t *testing.T) {
	cmd := newStorageMigrateCommand()
	if err := cmd.ParseFlags([]string{"secrets", "--from", "old", "--data-dir", "my data", "--rate", "5", "--drop-stored-versions"}); err != nil {
		t.Fatal(err)
	}
	if got, want := resumeCommand(cmd), "migrate secrets '--data-dir=my data' --drop-stored-versions --rate=5"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
