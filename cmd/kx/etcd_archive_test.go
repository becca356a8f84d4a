package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/embedded"
)

// boxKey is an EncryptionConfiguration for secrets with one key.
func boxKey(t *testing.T, name string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "encryption.yaml")
	text := fmt.Sprintf(`apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - secretbox: {keys: [{name: %s, secret: %s}]}
  - identity: {}
`, name, base64.StdEncoding.EncodeToString([]byte(strings.Repeat(name[:1], 32))))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// mover is an administrator of one server, who follows it to another address.
type mover struct {
	config *rest.Config
	now    atomic.Pointer[string]
}

func moverOf(t *testing.T, p *process) *mover {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	f := &mover{config: config}
	config.QPS = -1
	config.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, *f.now.Load())
	}
	f.to(t, p)
	return f
}

func (f *mover) to(t *testing.T, p *process) {
	t.Helper()
	u, err := url.Parse(p.url)
	if err != nil {
		t.Fatal(err)
	}
	f.now.Store(&u.Host)
}

// listAll lists the objects of all resources of a server as the API has them, but for those that say where it is.
func listAll(t *testing.T, f *mover) map[string]any {
	t.Helper()
	clients, client := kubernetes.NewForConfigOrDie(f.config), dynamic.NewForConfigOrDie(f.config)
	resources, err := clients.Discovery().ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{}
	for _, list := range resources {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			volatile := gv.Group == "kx.dev" || gv.Group == "coordination.k8s.io" || strings.HasPrefix(r.Name, "endpoint")
			if volatile || !strings.Contains(fmt.Sprint(r.Verbs), "list") {
				continue
			}
			got, err := client.Resource(gv.WithResource(r.Name)).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatalf("list %s: %v", r.Name, err)
			}
			for _, object := range got.Items {
				all[r.Name+"/"+object.GetNamespace()+"/"+object.GetName()] = object.Object
			}
		}
	}
	return all
}

func compareAll(t *testing.T, got, want map[string]any) {
	t.Helper()
	for name, object := range want {
		if !reflect.DeepEqual(got[name], object) {
			t.Errorf("%s is\n%v\nand was\n%v", name, got[name], object)
		}
	}
	for name := range got {
		if want[name] == nil {
			t.Errorf("%s was not there", name)
		}
	}
}

// storedIn reads all keys and values at a revision.
func storedIn(t *testing.T, s admin.Source, revision int64) map[string]any {
	t.Helper()
	all := map[string]any{}
	for kv, err := range s.Range(t.Context(), admin.Range{Revision: revision}) {
		if err != nil {
			t.Fatal(err)
		}
		all[kv.Key] = kv
	}
	if err := s.Close(); err != nil && !strings.Contains(err.Error(), "canceled") {
		t.Fatal(err)
	}
	return all
}

func storedLive(t *testing.T, dir string, revision int64) map[string]any {
	t.Helper()
	live, err := admin.Connect(t.Context(), admin.Endpoint{URLs: []string{"unix://" + filepath.Join(dir, embedded.SocketName)}})
	if err != nil {
		t.Fatal(err)
	}
	return storedIn(t, live, revision)
}

func storedFile(t *testing.T, dir string) map[string]any {
	t.Helper()
	file, err := admin.OpenFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	return storedIn(t, file, 0)
}

// stop stops a server in good order.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := p.wait(); err != nil {
		t.Fatalf("%v: %s", err, p.stderr)
	}
}

// snapshotCommand runs kx etcd snapshot.
func snapshotCommand(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	said, err := kx(t, append([]string{"etcd", "snapshot"}, args...)...).CombinedOutput()
	return string(said), err
}

func mustSnapshot(t *testing.T, args ...string) string {
	t.Helper()
	out, err := snapshotCommand(t, args...)
	if err != nil {
		t.Fatalf("kx etcd snapshot %v: %v: %s", args, err, out)
	}
	return out
}

// fillAll makes objects of several kinds, and returns a token of a service account.
func fillAll(t *testing.T, f *mover) (token string) {
	t.Helper()
	c, ctx := kubernetes.NewForConfigOrDie(f.config), t.Context()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"stays", "changes", "goes"} {
		_, err := c.CoreV1().ConfigMaps("default").Create(ctx, configMap(name), metav1.CreateOptions{})
		check(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "sealed"}, Data: map[string][]byte{"a": []byte("b")}}
	_, err := c.CoreV1().Secrets("default").Create(ctx, secret, metav1.CreateOptions{})
	check(err)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}
	_, err = c.CoreV1().ServiceAccounts("default").Create(ctx, account, metav1.CreateOptions{})
	check(err)
	request, err := c.CoreV1().ServiceAccounts("default").CreateToken(ctx, "robot", &authv1.TokenRequest{}, metav1.CreateOptions{})
	check(err)
	for _, file := range []string{"testdata/crontabs.yaml", "testdata/crontab.yaml"} {
		cmd := kx(t, "--kubeconfig", kubeconfigOf(t, f), "create", "-f", file)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %s", err, out)
		}
		said := newMachine(t).run("", "--kubeconfig", kubeconfigOf(t, f), "wait", "--for=condition=Established", "crd", "--all")
		if said.code != 0 {
			t.Fatalf("%+v", said)
		}
	}
	return request.Status.Token
}

// kubeconfigOf is the file of the server that f follows now.
func kubeconfigOf(t *testing.T, f *mover) string {
	t.Helper()
	config := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
clusters: [{name: c, cluster: {server: "https://%s", certificate-authority-data: %s}}],
users: [{name: u, user: {client-certificate-data: %s, client-key-data: %s}}]}`, *f.now.Load(),
		base64.StdEncoding.EncodeToString(f.config.CAData), base64.StdEncoding.EncodeToString(f.config.CertData),
		base64.StdEncoding.EncodeToString(f.config.KeyData))
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// informerOf is an informer's memory of the config maps in a namespace.
func informerOf(t *testing.T, f *mover) corelisters.ConfigMapNamespaceLister {
	t.Helper()
	factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(f.config), 0)
	lister := factory.Core().V1().ConfigMaps().Lister()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); factory.Shutdown() })
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return lister.ConfigMaps("default")
}

// knows waits until the informer knows these config maps and no others, by name and the value of the key "k".
func knows(t *testing.T, lister corelisters.ConfigMapNamespaceLister, want map[string]string) {
	t.Helper()
	var got map[string]string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		all, err := lister.List(labels.Everything())
		if err != nil {
			t.Fatal(err)
		}
		got = map[string]string{}
		for _, m := range all {
			got[m.Name] = m.Data["k"]
		}
		if reflect.DeepEqual(got, want) {
			return
		}
	}
	t.Fatalf("the informer has %v, want %v", got, want)
}

// TestArchive saves a server that has all that a server may have, and serves it again elsewhere. To its clients it is the server of
// before, as it was when it was saved.
func TestArchive(t *testing.T) {
	t.Parallel()
	dir, again := t.TempDir(), filepath.Join(t.TempDir(), "again")
	archive, key := filepath.Join(dir, "a.tar"), boxKey(t, "key1")
	data := filepath.Join(dir, "data")
	p := serve(t, "--data-dir", data, "--encryption-provider-config", key)
	f := moverOf(t, p)
	token := fillAll(t, f)
	lister := informerOf(t, f)
	knows(t, lister, map[string]string{"stays": "", "changes": "", "goes": ""})

	mustSnapshot(t, "save", "--archive", archive, "--data-dir", data)
	restored := storedLive(t, data, 0)
	served := listAll(t, f)
	before, err := lister.Get("stays")
	if err != nil {
		t.Fatal(err)
	}

	// The informer sees what the archive does not have.
	maps := kubernetes.NewForConfigOrDie(f.config).CoreV1().ConfigMaps("default")
	ghost, changed := configMap("ghost"), configMap("changes")
	changed.Data = map[string]string{"k": "later"}
	if _, err := maps.Create(t.Context(), ghost, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := maps.Update(t.Context(), changed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := maps.Delete(t.Context(), "goes", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	knows(t, lister, map[string]string{"stays": "", "changes": "later", "ghost": ""})
	restoreRefused(t, archive, data, "a kx runs on "+data)
	p.stop(t)
	restoreRefused(t, archive, data, "is not empty")

	if out := mustSnapshot(t, "restore", archive, "--to", again); !strings.Contains(out, "missing: the key key1 of secretbox, which 1 values need") {
		t.Errorf("the missing key is not named: %s", out)
	}
	compareAll(t, storedFile(t, again), restored)
	p = serve(t, "--data-dir", again, "--encryption-provider-config", key)
	// Other clients are faster: without a higher revision, the informer's would mean something else now.
	for i := range 20 {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("lease-", i)}}
		if _, err := p.client(t).CoordinationV1().Leases("default").Create(t.Context(), lease, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	f.to(t, p)
	knows(t, lister, map[string]string{"stays": "", "changes": "", "goes": ""})
	if m, err := lister.Get("stays"); err != nil || m.UID != before.UID || m.ResourceVersion != before.ResourceVersion {
		t.Errorf("the informer has %v, %v, and had %v", m, err, before)
	}
	compareAll(t, listAll(t, f), served)
	afterRestore(t, f, lister, token)
}

// afterRestore uses a restored server as clients of before do.
func afterRestore(t *testing.T, f *mover, lister corelisters.ConfigMapNamespaceLister, token string) {
	t.Helper()
	c := kubernetes.NewForConfigOrDie(f.config)
	created, err := c.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("new"), metav1.CreateOptions{})
	if err != nil || len(created.ResourceVersion) < len("1000000000") {
		t.Fatalf("created %v, %v", created, err)
	}
	knows(t, lister, map[string]string{"stays": "", "changes": "", "goes": "", "new": ""})
	review := &authv1.TokenReview{Spec: authv1.TokenReviewSpec{Token: token}}
	reviewed, err := c.AuthenticationV1().TokenReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil || reviewed.Status.User.Username != "system:serviceaccount:default:robot" {
		t.Errorf("the token of before: %+v, %v", reviewed, err)
	}
	tabs := dynamic.NewForConfigOrDie(f.config).Resource(schema.GroupVersionResource{Group: "stable.example.com", Version: "v1", Resource: "crontabs"})
	another := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": map[string]any{"name": "another"},
	}}
	if _, err := tabs.Namespace("default").Create(t.Context(), another, metav1.CreateOptions{}); err != nil {
		t.Errorf("a custom resource: %v", err)
	}
	if secret, err := c.CoreV1().Secrets("default").Get(t.Context(), "sealed", metav1.GetOptions{}); err != nil || string(secret.Data["a"]) != "b" {
		t.Errorf("the secret: %v, %v", secret, err)
	}
}

func restoreRefused(t *testing.T, archive, to, says string) {
	t.Helper()
	out, err := snapshotCommand(t, "restore", archive, "--to", to)
	if err == nil || !strings.Contains(out, says) || strings.Count(out, "\n") != 1 {
		t.Errorf("restored to %s: %v: %s, want %q", to, err, out, says)
	}
}

// TestArchiveKeys tries the keys of configurations on the values of an archive, and files that flags name.
func TestArchiveKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, signing := filepath.Join(dir, "data"), filepath.Join(dir, "signing.key")
	first := serve(t, "--data-dir", filepath.Join(dir, "other"))
	first.stop(t)
	pem, err := os.ReadFile(filepath.Join(dir, "other", "sa.key"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(signing, pem, 0o600); err != nil {
		t.Fatal(err)
	}
	p := serve(t, "--data-dir", data, "--encryption-provider-config", boxKey(t, "key1"), "--service-account-signing-key-file", signing)
	f := moverOf(t, p)
	token := fillAll(t, f)
	archive, plain := filepath.Join(dir, "a.tar"), filepath.Join(dir, "s.db")
	mustSnapshot(t, "save", plain, "--data-dir", data)
	stdout, err := kx(t, "etcd", "snapshot", "save", "--archive", "-", "--data-dir", data).Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(archive, stdout, 0o600); err != nil {
		t.Fatal(err)
	}
	p.stop(t)
	for i, test := range []struct {
		file, config string
		missing      bool
	}{
		{archive, "", true}, {archive, boxKey(t, "key1"), false}, {archive, boxKey(t, "other"), true},
		{plain, "", true}, {plain, boxKey(t, "key1"), false},
	} {
		to := filepath.Join(dir, fmt.Sprint("to", i))
		out := mustSnapshot(t, "restore", test.file, "--to", to, "--encryption-provider-config", test.config)
		if named := strings.Contains(out, "missing: the key key1 of secretbox"); named != test.missing {
			t.Errorf("%v: %s", test, out)
		}
		if kept := filepath.Join(to, "flags", "service-account-signing-key-file"); test.file == archive && !strings.Contains(out, "--service-account-signing-key-file="+kept) {
			t.Errorf("the flag is not named: %s", out)
		}
	}
	if err := os.Remove(signing); err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(dir, "to0")
	f.to(t, serve(t, "--data-dir", again, "--service-account-signing-key-file", filepath.Join(again, "flags", "service-account-signing-key-file")))
	review := &authv1.TokenReview{Spec: authv1.TokenReviewSpec{Token: token}}
	reviewed, err := kubernetes.NewForConfigOrDie(f.config).AuthenticationV1().TokenReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil || !reviewed.Status.Authenticated {
		t.Errorf("the token of before: %+v, %v", reviewed, err)
	}
}
