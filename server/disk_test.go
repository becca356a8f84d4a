package server_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	clientv3 "go.etcd.io/etcd/client/v3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/kx-apiserver/kx/server/internal/wiretest"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/store/embedded"
)

// upstreamCodec is what upstream's own serializer of a media type makes of objects in a version.
func upstreamCodec(t testing.TB, mediaType string, gv schema.GroupVersion) runtime.Codec {
	t.Helper()
	info, ok := runtime.SerializerInfoForMediaType(clientscheme.Codecs.SupportedMediaTypes(), mediaType)
	if !ok {
		t.Fatalf("upstream has no serializer of %s", mediaType)
	}
	return clientscheme.Codecs.CodecForVersions(info.Serializer, clientscheme.Codecs.UniversalDeserializer(), gv, gv)
}

// reencode gives stored bytes to upstream's serializer and takes them back: they must be the same. Then it does so with
// what differs from run to run set to what does not.
func reencode(t testing.TB, mediaType, key string, stored []byte) []byte {
	t.Helper()
	obj, gvk, err := clientscheme.Codecs.UniversalDeserializer().Decode(stored, nil, nil)
	if err != nil {
		t.Fatalf("upstream can't read %s: %v: %q", key, err, stored)
	}
	codec := upstreamCodec(t, mediaType, gvk.GroupVersion())
	again, err := runtime.Encode(codec, obj)
	must(t, err)
	if string(again) != string(stored) {
		t.Errorf("%s is\n%q\nand upstream would store\n%q", key, stored, again)
	}
	if m, err := meta.Accessor(obj); err == nil {
		if created := m.GetCreationTimestamp(); m.GetUID() == "" || created.IsZero() || m.GetResourceVersion() != "" {
			t.Errorf("%s has uid %q, creationTimestamp %v, resourceVersion %q", key, m.GetUID(), m.GetCreationTimestamp(), m.GetResourceVersion())
		}
		m.SetUID("11111111-2222-3333-4444-555555555555")
		fixed := metav1.Unix(1e9, 0)
		m.SetCreationTimestamp(fixed)
		owners := m.GetManagedFields()
		for i := range owners {
			owners[i].Time = &fixed
		}
	}
	fixed, err := runtime.Encode(codec, obj)
	must(t, err)
	return fixed
}

// TestDisk creates what the transcripts say and shows what is then in etcd, byte for byte but for uids and times. Each
// value is what upstream's serializer makes of the object. -rewrite accepts what is there.
func TestDisk(t *testing.T) {
	t.Parallel()
	for _, mediaType := range []string{runtime.ContentTypeProtobuf, runtime.ContentTypeJSON, runtime.ContentTypeYAML} {
		_, form, _ := strings.Cut(mediaType, "/")
		t.Run(form, func(t *testing.T) {
			r := start(t, func(o *options.Options) {
				o.Etcd.StorageMediaType = mediaType
				o.RuntimeConfig = map[string]string{"apps/v1beta1": "true"}
			})
			c := &wiretest.Client{URL: r.URL, Admin: r.httpClient(t)}
			etcd := r.etcd(t)
			datadriven.RunTest(t, filepath.Join("testdata", "disk", form+".txt"), func(t *testing.T, d *datadriven.TestData) string {
				now, err := etcd.Get(t.Context(), "/", clientv3.WithCountOnly())
				must(t, err)
				if answer := c.Ask(t, d.Input); !strings.HasPrefix(answer, "201") {
					d.Fatalf(t, "%s", answer)
				}
				written, err := etcd.Get(t.Context(), "/registry/", clientv3.WithPrefix(), clientv3.WithMinModRev(now.Header.Revision+1))
				must(t, err)
				var out strings.Builder
				for _, kv := range written.Kvs {
					fmt.Fprintf(&out, "%s\n", kv.Key)
					if !strings.HasPrefix(string(kv.Key), "/registry/ranges/") {
						show(&out, reencode(t, mediaType, string(kv.Key), kv.Value))
					}
				}
				return out.String()
			})
		})
	}
}

// show writes text as it is, and other bytes as Go would write them, in lines.
func show(out *strings.Builder, value []byte) {
	text := string(value)
	if !strings.ContainsRune(text, 0) {
		fmt.Fprintf(out, "%s\n", strings.TrimRight(text, "\n"))
		return
	}
	for len(text) > 0 {
		n := min(len(text), 80)
		fmt.Fprintf(out, "%q\n", text[:n])
		text = text[n:]
	}
}

// encryption writes an EncryptionConfiguration for secrets.
func encryption(t testing.TB, provider string, keys ...string) func(*options.Options) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n  - %s:\n      keys:\n", provider)
	for _, k := range keys {
		secret := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(k[len(k)-1:], 32)))
		fmt.Fprintf(&b, "      - {name: %s, secret: %s}\n", k, secret)
	}
	b.WriteString("  - identity: {}\n")
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	must(t, os.WriteFile(file, []byte(b.String()), 0o600))
	return func(o *options.Options) { o.Etcd.EncryptionProviderConfig = file }
}

// in keeps a server's data in a directory.
func in(dir string) func(*options.Options) {
	return func(o *options.Options) { o.Ephemeral, o.DataDir = false, dir }
}

func TestEncryptionAtRest(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"aescbc", "aesgcm", "secretbox"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			testEncryption(t, provider)
		})
	}
}

// testEncryption writes with one key, rotates to another, and then loses the first.
func testEncryption(t *testing.T, provider string) {
	ctx, dir := within(t), t.TempDir()
	on := func(f func(r *running), edit ...func(*options.Options)) {
		t.Helper()
		r, stop, err := launch(append(edit, in(dir))...)
		must(t, err)
		f(r)
		must(t, stop())
	}
	const key = "/registry/secrets/default/"
	stored := func(r *running, name, want string) {
		t.Helper()
		res, err := r.etcd(t).Get(ctx, key+name)
		must(t, err)
		if len(res.Kvs) != 1 || !strings.HasPrefix(string(res.Kvs[0].Value), want) || strings.Contains(string(res.Kvs[0].Value), "hidden") != (want == "k8s\x00") {
			t.Errorf("%s is stored as %q", name, res.Kvs)
		}
	}
	secret := func(name string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: named(name), StringData: map[string]string{"k": "hidden"}}
	}
	on(func(r *running) {
		for _, name := range []string{"plain", "kept"} {
			_, err := r.admin(t).CoreV1().Secrets("default").Create(ctx, secret(name), metav1.CreateOptions{})
			must(t, err)
			stored(r, name, "k8s\x00")
		}
	})
	on(func(r *running) {
		secrets := r.admin(t).CoreV1().Secrets("default")
		for _, name := range []string{"a", "b"} {
			_, err := secrets.Create(ctx, secret(name), metav1.CreateOptions{})
			must(t, err)
			stored(r, name, "k8s:enc:"+provider+":v1:key1:")
		}
		// What is not encrypted can be read, and the next update encrypts it.
		plain, err := secrets.Get(ctx, "plain", metav1.GetOptions{})
		must(t, err)
		_, err = secrets.Update(ctx, plain, metav1.UpdateOptions{})
		must(t, err)
		stored(r, "plain", "k8s:enc:"+provider+":v1:key1:")
		stored(r, "kept", "k8s\x00")
		_, err = r.admin(t).CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: named("c")}, metav1.CreateOptions{})
		must(t, err)
		res, err := r.etcd(t).Get(ctx, "/registry/configmaps/default/c")
		must(t, err)
		if !strings.HasPrefix(string(res.Kvs[0].Value), "k8s\x00") {
			t.Errorf("a config map is stored as %q", res.Kvs[0].Value)
		}
	}, encryption(t, provider, "key1"))
	on(func(r *running) {
		secrets := r.admin(t).CoreV1().Secrets("default")
		list, err := secrets.List(ctx, metav1.ListOptions{})
		must(t, err)
		if len(list.Items) != 4 {
			t.Errorf("listed %d", len(list.Items))
		}
		a, err := secrets.Get(ctx, "a", metav1.GetOptions{})
		must(t, err)
		again, err := secrets.Update(ctx, a, metav1.UpdateOptions{})
		must(t, err)
		stored(r, "a", "k8s:enc:"+provider+":v1:key2:")
		if again.ResourceVersion == a.ResourceVersion {
			t.Error("a stale value was not written again")
		}
		third, err := secrets.Update(ctx, again, metav1.UpdateOptions{})
		must(t, err)
		if third.ResourceVersion != again.ResourceVersion {
			t.Error("a value that is not stale was written again")
		}
	}, encryption(t, provider, "key2", "key1"))
	on(func(r *running) { testLostKey(t, r, key+"b", key+"plain") }, encryption(t, provider, "key2"))
}

// testLostKey reads and deletes what nobody can decrypt any more.
func testLostKey(t *testing.T, r *running, lost ...string) {
	ctx, secrets := within(t), r.admin(t).CoreV1().Secrets("default")
	for _, name := range []string{"a", "kept"} {
		got, err := secrets.Get(ctx, name, metav1.GetOptions{})
		must(t, err)
		if string(got.Data["k"]) != "hidden" {
			t.Errorf("got %v", got)
		}
	}
	_, err := secrets.Get(ctx, "b", metav1.GetOptions{})
	if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "/secrets/default/b,") {
		t.Errorf("GET of what can't be read: %v", err)
	}
	_, err = secrets.List(ctx, metav1.ListOptions{})
	status, ok := err.(apierrors.APIStatus)
	if !ok || status.Status().Reason != metav1.StatusReasonStoreReadError || len(status.Status().Details.Causes) != len(lost) {
		t.Fatalf("LIST: %v", err)
	}
	for i, cause := range status.Status().Details.Causes {
		if cause.Field != lost[i] {
			t.Errorf("LIST names %s, not %s", cause.Field, lost[i])
		}
	}
	// An update, a patch and a plain deletion need to read it.
	if _, err := secrets.Patch(ctx, "b", "application/merge-patch+json", []byte(`{}`), metav1.PatchOptions{}); err == nil {
		t.Error("what can't be read was patched")
	}
	if err := secrets.Delete(ctx, "b", metav1.DeleteOptions{}); !apierrors.IsInternalError(err) {
		t.Errorf("DELETE: %v", err)
	}
	yes := true
	unsafe := metav1.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: &yes}
	if err := secrets.Delete(ctx, "a", unsafe); !apierrors.IsConflict(err) {
		t.Errorf("unsafe DELETE of what can be read: %v", err)
	}
	for _, key := range lost {
		must(t, secrets.Delete(ctx, filepath.Base(key), unsafe))
	}
	list, err := secrets.List(ctx, metav1.ListOptions{})
	must(t, err)
	if len(list.Items) != 2 {
		t.Errorf("then there are %d", len(list.Items))
	}
}

// TestEtcdOfAnother serves what others have written: in old versions, in other forms, by other serializers.
func TestEtcdOfAnother(t *testing.T) {
	t.Parallel()
	ctx, dir := within(t), t.TempDir()
	proto := func(obj runtime.Object, gv schema.GroupVersion) string {
		data, err := runtime.Encode(upstreamCodec(t, runtime.ContentTypeProtobuf, gv), obj)
		must(t, err)
		return string(data)
	}
	old := metav1.Unix(1e9, 0)
	ours := metav1.ObjectMeta{Name: "p", Namespace: "prod", UID: "u-1", CreationTimestamp: old}
	values := map[string]string{
		"/registry/namespaces/prod": proto(&corev1.Namespace{
			ObjectMeta: metav1.ObjectMeta{Name: "prod", UID: "u-0", CreationTimestamp: old},
			Spec:       corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{"kubernetes"}},
			Status:     corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
		}, corev1.SchemeGroupVersion),
		"/registry/deployments/prod/d": `{"kind":"Deployment","apiVersion":"apps/v1beta1","metadata":{"name":"d","namespace":"prod","uid":"u-2","creationTimestamp":"2017-01-01T00:00:00Z","selfLink":"/apis/apps/v1beta1/x"},` +
			`"spec":{"replicas":2,"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"nginx:1"}]}},"rollbackTo":{"revision":3}},"status":{}}`,
		"/registry/events/prod/e": proto(&corev1.Event{ // of a client of events.k8s.io
			ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: "prod", UID: "u-3", CreationTimestamp: old}, Reason: "Because", Message: "of this", Type: "Normal",
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "p", Namespace: "prod"}, EventTime: metav1.NewMicroTime(old.Time), ReportingController: "c", ReportingInstance: "i", Action: "Act",
			Series: &corev1.EventSeries{Count: 2, LastObservedTime: metav1.NewMicroTime(old.Time)},
		}, corev1.SchemeGroupVersion),
		"/registry/pods/prod/p": proto(&corev1.Pod{
			ObjectMeta: ours, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}, Status: corev1.PodStatus{Phase: corev1.PodRunning},
		}, corev1.SchemeGroupVersion),
		"/registry/services/specs/prod/s": proto(&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "prod", UID: "u-4", CreationTimestamp: old},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.0.0.77", Ports: []corev1.ServicePort{{Port: 80, Protocol: "TCP"}}},
		}, corev1.SchemeGroupVersion),
		"/registry/replicasets/prod/r": proto(&appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Name: "r", Namespace: "prod", UID: "u-5", CreationTimestamp: old},
			Spec:       appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, Template: template("nginx:1")},
		}, appsv1.SchemeGroupVersion),
		"/registry/configmaps/prod/c": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  namespace: prod\n  uid: u-6\ndata:\n  k: v\nunknown: 1\n",
		"/registry/secrets/prod/bad":  "k8s\x00 is not what follows",
		// Resources that kx does not have are let alone.
		"/registry/minions/n1": "k8s\x00\n\n\n\x02v1\x12\x04Node",
	}
	fill(t, dir, values)

	r := start(t, in(dir), func(o *options.Options) { o.RuntimeConfig = map[string]string{"apps/v1beta1": "true"} })
	c := r.admin(t)
	d, err := c.AppsV1().Deployments("prod").Get(ctx, "d", metav1.GetOptions{})
	must(t, err)
	if *d.Spec.Replicas != 2 || d.Spec.Selector.MatchLabels["app"] != "web" || d.Annotations["deprecated.deployment.rollback.to"] != "3" ||
		d.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType {
		t.Errorf("the deployment is %v", d)
	}
	b1, err := c.AppsV1beta1().Deployments("prod").Get(ctx, "d", metav1.GetOptions{})
	must(t, err)
	if b1.Spec.RollbackTo == nil || b1.Spec.RollbackTo.Revision != 3 {
		t.Errorf("in v1beta1: %v", b1)
	}
	d.Labels = map[string]string{"touched": "yes"}
	_, err = c.AppsV1().Deployments("prod").Update(ctx, d, metav1.UpdateOptions{})
	must(t, err)
	e, err := c.CoreV1().Events("prod").Get(ctx, "e", metav1.GetOptions{})
	must(t, err)
	if e.Reason != "Because" || e.Series == nil || e.Series.Count != 2 || !e.EventTime.Time.Equal(old.Time) || e.ReportingController != "c" {
		t.Errorf("the event is %v", e)
	}
	p, err := c.CoreV1().Pods("prod").Get(ctx, "p", metav1.GetOptions{})
	must(t, err)
	if p.UID != "u-1" || p.Status.Phase != corev1.PodRunning || !p.CreationTimestamp.Equal(&old) {
		t.Errorf("the pod is %v", p)
	}
	s, err := c.CoreV1().Services("prod").Get(ctx, "s", metav1.GetOptions{})
	must(t, err)
	if s.Spec.ClusterIP != "10.0.0.77" {
		t.Errorf("the service is %v", s)
	}
	if rs, err := c.AppsV1().ReplicaSets("prod").List(ctx, metav1.ListOptions{}); err != nil || len(rs.Items) != 1 || *rs.Items[0].Spec.Replicas != 1 {
		t.Errorf("the replica sets are %v: %v", rs, err)
	}
	cm, err := c.CoreV1().ConfigMaps("prod").Get(ctx, "c", metav1.GetOptions{})
	must(t, err)
	cm.Data["k"] = "w"
	_, err = c.CoreV1().ConfigMaps("prod").Update(ctx, cm, metav1.UpdateOptions{})
	must(t, err)
	if _, err := c.CoreV1().Secrets("prod").List(ctx, metav1.ListOptions{}); apierrors.ReasonForError(err) != metav1.StatusReasonStoreReadError || !strings.Contains(err.Error(), "/registry/secrets/prod/bad") {
		t.Errorf("a list with what is no object: %v", err)
	}
	etcd := r.etcd(t)
	for key, want := range map[string]string{
		"/registry/deployments/prod/d": "k8s\x00\n\x15\n\aapps/v1\x12\nDeployment",
		"/registry/configmaps/prod/c":  "k8s\x00\n\x0f\n\x02v1\x12\tConfigMap",
		"/registry/minions/n1":         values["/registry/minions/n1"],
		"/registry/events/prod/e":      values["/registry/events/prod/e"],
	} {
		res, err := etcd.Get(ctx, key)
		must(t, err)
		if len(res.Kvs) != 1 || !strings.HasPrefix(string(res.Kvs[0].Value), want) {
			t.Errorf("%s is now %q", key, res.Kvs)
		}
	}
}

// fill puts values into the etcd of a data directory that no server has open.
func fill(t *testing.T, dir string, values map[string]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	etcd, err := embedded.Start(ctx, embedded.Config{Dir: filepath.Join(dir, "etcd"), Ephemeral: true, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	defer etcd.Close()
	client := etcd.Client()
	defer client.Close()
	for key, value := range values {
		_, err := client.Put(ctx, key, value)
		must(t, err)
	}
}
