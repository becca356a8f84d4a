package server_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/internal/fuzztest"
	"github.com/kx-apiserver/kx/server/options"
)

// The namespaces of the world: its editor may write in the first and has no rights in the second.
const nearby, faraway = "near", "far"

// world is a server with users and objects, to which each sequence of requests is sent.
type world struct {
	*running
	surface *fuzztest.Surface
	clients map[clientKind]*http.Client
	admin   *kubernetes.Clientset
	panics  *panicLog
	etcd    *clientv3.Client
	// kinds has the resources of each apiVersion and kind.
	kinds   map[string][]fuzztest.Resource
	secrets []markedSecret

	before map[string]keptKey // by key: what is in etcd before each sequence
	// grants are all rights that there were in this sequence and the one before, the first before all sequences.
	grants []*grants
	// unsettled: namespaces are being deleted, which takes their objects at any time.
	unsettled bool

	taken map[string]bool // productions of all sequences
	codes map[int]int     // how many answers had which code
	// sequences and requests are how many were played.
	sequences, requests int
}

type clientKind struct{ admin, http1 bool }

type keptKey struct {
	value    []byte
	revision int64
}

// markedSecret is a Secret whose values occur nowhere else.
type markedSecret struct {
	namespace, name string
	forms           [][]byte // how answers may show a value
}

// panicLog keeps what a server logs of panics.
type panicLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *panicLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if bytes.Contains(line, []byte("panic")) {
		l.text.Write(line)
	}
	return len(line), nil
}

func (l *panicLog) drain() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.text.String()
	l.text.Reset()
	return text
}

// newWorld starts the server, as kx serve does, and makes the users and their objects.
func newWorld(f testing.TB) *world {
	f.Helper()
	w := &world{panics: &panicLog{}, clients: map[clientKind]*http.Client{}, kinds: map[string][]fuzztest.Resource{},
		taken: map[string]bool{}, codes: map[int]int{}}
	known := tokens(f, "editor-token,editor,1\nreader-token,reader,2\nnobody-token,nobody,3\n")
	r, stop, err := launchLogging(slog.New(slog.NewTextHandler(w.panics, nil)), nil, known, withObjects("192.0.2.9"),
		func(o *options.Options) {
			o.Controllers, o.Admission.Disabled = options.New().Controllers, nil
			o.RuntimeConfig = map[string]string{"api/all": "true"}
		})
	must(f, err)
	f.Cleanup(func() { must(f, stop()) })
	w.running = r
	w.ready(f)
	w.admin = r.admin(f)
	w.makeClients(f)
	w.makeObjects(f)
	w.makeUsers(f)
	w.discover(f)
	w.etcd = r.etcd(f)
	w.before = w.snapshot(f)
	w.grants = []*grants{w.rights(f), w.rights(f)}
	return w
}

func (w *world) makeClients(f testing.TB) {
	for _, kind := range []clientKind{{true, true}, {true, false}, {false, true}, {false, false}} {
		config := rest.CopyConfig(w.config)
		if !kind.admin {
			config = rest.AnonymousClientConfig(w.config)
		}
		config.DisableCompression = true
		if kind.http1 {
			config.NextProtos = []string{"http/1.1"}
		}
		c, err := rest.HTTPClientFor(config)
		must(f, err)
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		f.Cleanup(c.CloseIdleConnections)
		w.clients[kind] = c
	}
}

// makeObjects fills both namespaces alike.
func (w *world) makeObjects(f testing.TB) {
	core, ctx := w.admin.CoreV1(), within(f)
	for _, ns := range []string{nearby, faraway} {
		_, err := core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: named(ns)}, metav1.CreateOptions{})
		must(f, err)
		until(f, "the namespace has its account", func() bool {
			_, err := core.ServiceAccounts(ns).Get(ctx, "default", metav1.GetOptions{})
			_, err2 := core.ConfigMaps(ns).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
			return err == nil && err2 == nil
		})
		w.makeSecret(f, ns)
		_, err = core.ConfigMaps(ns).Create(ctx, &corev1.ConfigMap{ObjectMeta: named("known"), Data: map[string]string{"a": "b"}},
			metav1.CreateOptions{})
		must(f, err)
		_, err = core.ServiceAccounts(ns).Create(ctx, &corev1.ServiceAccount{ObjectMeta: named("robot")}, metav1.CreateOptions{})
		must(f, err)
		_, err = core.Pods(ns).Create(ctx, &corev1.Pod{ObjectMeta: named("known"), Spec: template("a").Spec}, metav1.CreateOptions{})
		must(f, err)
		_, err = core.Services(ns).Create(ctx, &corev1.Service{ObjectMeta: named("known"),
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}, metav1.CreateOptions{})
		must(f, err)
		_, err = w.admin.AppsV1().Deployments(ns).Create(ctx, deployment("known"), metav1.CreateOptions{})
		must(f, err)
	}
	_, err := core.Nodes().Create(ctx, &corev1.Node{ObjectMeta: named("known")}, metav1.CreateOptions{})
	must(f, err)
	w.makeSecret(f, "kube-system")
}

func (w *world) makeSecret(f testing.TB, ns string) {
	marker := "hidden-marker-of-" + ns + "-0123456789"
	_, err := w.admin.CoreV1().Secrets(ns).Create(within(f), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "marked", Annotations: map[string]string{"example.com/marker": marker}},
		StringData: map[string]string{"key": marker},
	}, metav1.CreateOptions{})
	must(f, err)
	s := markedSecret{namespace: ns, name: "marked", forms: [][]byte{[]byte(marker)}}
	for pad := range 3 { // base64 has three forms of a text, by where it begins
		text := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat(" ", pad) + marker))
		s.forms = append(s.forms, []byte(text[4:len(text)-4]))
	}
	w.secrets = append(w.secrets, s)
}

// makeUsers gives the users their rights: one edits in a namespace, one reads objects by name, and all journeys; a service account reads
// the other namespace; one has none.
func (w *world) makeUsers(f testing.TB) {
	ctx, access := within(f), w.admin.RbacV1()
	bind := func(ns, name, kind, role string, subject rbacv1.Subject) {
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role}
		_, err := access.RoleBindings(ns).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: named(name), RoleRef: ref,
			Subjects: []rbacv1.Subject{subject}}, metav1.CreateOptions{})
		must(f, err)
	}
	user := func(name string) rbacv1.Subject {
		return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
	}
	_, err := access.Roles(faraway).Create(ctx, &rbacv1.Role{ObjectMeta: named("one"), Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"known"}, Verbs: []string{"get", "list", "watch"}},
	}}, metav1.CreateOptions{})
	must(f, err)
	bind(faraway, "reader", "Role", "one", user("reader"))
	bind(nearby, "editor", "ClusterRole", "edit", user("editor"))
	bind(faraway, "robot", "ClusterRole", "view", rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: faraway, Name: "robot"})
	w.bind(f, "reader", "kx:viewer", "get", v1alpha1.GroupName, "journeys")
	day := int64(24 * 60 * 60)
	token, err := w.admin.CoreV1().ServiceAccounts(faraway).CreateToken(ctx, "robot", &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &day},
	}, metav1.CreateOptions{})
	must(f, err)
	ordinary := []string{"system:authenticated"}
	robot := "system:serviceaccount:" + faraway + ":robot"
	w.surface = &fuzztest.Surface{
		Users: []fuzztest.User{
			{Name: "administrator", Identity: fuzztest.Identity{Name: "admin", Groups: []string{"system:masters", "system:authenticated"}}},
			{Name: "editor", Token: "editor-token", Identity: fuzztest.Identity{Name: "editor", Groups: ordinary}},
			{Name: "reader", Token: "reader-token", Identity: fuzztest.Identity{Name: "reader", Groups: ordinary}},
			{Name: "nobody", Token: "nobody-token", Identity: fuzztest.Identity{Name: "nobody", Groups: ordinary}},
			{Name: "robot", Token: token.Status.Token, Identity: fuzztest.ServiceAccount(robot)},
		},
		Namespaces: []string{nearby, nearby, faraway, faraway, "default", "kube-system", "none"},
		Names:      []string{"known", "marked", "robot", "default", "admin", "none"},
	}
}

// discover asks which resources there are, and how they look.
func (w *world) discover(f testing.TB) {
	_, lists, err := w.admin.Discovery().ServerGroupsAndResources()
	must(f, err)
	for _, list := range lists {
		for _, r := range list.APIResources {
			group, version, grouped := strings.Cut(list.GroupVersion, "/")
			if !grouped {
				group, version = "", group
			}
			found := fuzztest.Resource{Group: group, Version: version, Kind: r.Kind, Name: r.Name, Namespaced: r.Namespaced}
			w.surface.Resources = append(w.surface.Resources, found)
			of := fuzztest.Resource{Group: group, Version: version}.APIVersion()
			if r.Version != "" {
				of = fuzztest.Resource{Group: r.Group, Version: r.Version}.APIVersion()
			}
			w.kinds[of+" "+r.Kind] = append(w.kinds[of+" "+r.Kind], found)
		}
	}
	slices.SortFunc(w.surface.Resources, func(a, b fuzztest.Resource) int {
		return strings.Compare(a.APIVersion()+" "+a.Name, b.APIVersion()+" "+b.Name)
	})
	for _, version := range []string{"v1", "v2"} {
		widget := fuzztest.Resource{Group: "fuzz.example.com", Version: version, Kind: "Widget", Name: "widgets", Namespaced: true}
		w.kinds[widget.APIVersion()+" Widget"] = []fuzztest.Resource{widget}
	}
	documents := map[string]map[string]any{}
	w.surface.Schema = func(group, version string) map[string]any {
		path := "/openapi/v3/api/" + version
		if group != "" {
			path = "/openapi/v3/apis/" + group + "/" + version
		}
		if _, asked := documents[path]; !asked && group != "fuzz.example.com" { // the sequence itself defines those
			documents[path] = w.schemas(path)
		}
		return documents[path]
	}
}

func (w *world) schemas(path string) map[string]any {
	res, err := w.clients[clientKind{admin: true}].Get(w.URL + path)
	if err != nil {
		return nil
	}
	defer res.Body.Close()
	var document struct {
		Components struct {
			Schemas map[string]any `json:"schemas"`
		} `json:"components"`
	}
	if json.NewDecoder(res.Body).Decode(&document) != nil {
		return nil
	}
	return document.Components.Schemas
}

// changing are keys that the server itself writes now and then.
var changing = []string{"/registry/events/", "/registry/leases/", "/registry/masterleases/", "/registry/peerserverleases/"}

func isChanging(key string) bool {
	return slices.ContainsFunc(changing, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

func (w *world) snapshot(t testing.TB) map[string]keptKey {
	t.Helper()
	res, err := w.etcd.Get(within(t), "/registry/", clientv3.WithPrefix())
	must(t, err)
	all := map[string]keptKey{}
	for _, kv := range res.Kvs {
		all[string(kv.Key)] = keptKey{kv.Value, kv.ModRevision}
	}
	return all
}

// reset puts back in etcd what was there before the sequence.
func (w *world) reset(t testing.TB) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	res, err := w.etcd.Get(ctx, "/registry/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	must(t, err)
	var keys []string
	found := map[string]bool{}
	for _, kv := range res.Kvs {
		key := string(kv.Key)
		found[key] = true
		if old, was := w.before[key]; !was || old.revision != kv.ModRevision && !isChanging(key) {
			keys = append(keys, key)
		}
	}
	for key := range w.before {
		if !found[key] && !isChanging(key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for batch := range slices.Chunk(keys, 100) {
		var ops []clientv3.Op
		for _, key := range batch {
			if old, was := w.before[key]; was {
				ops = append(ops, clientv3.OpPut(key, string(old.value)))
			} else {
				ops = append(ops, clientv3.OpDelete(key))
			}
		}
		done, err := w.etcd.Txn(ctx).Then(ops...).Commit()
		must(t, err)
		for _, key := range batch {
			if old, was := w.before[key]; was {
				w.before[key] = keptKey{old.value, done.Header.Revision}
			}
		}
	}
	w.grants = append(w.grants[:1:1], w.grants[len(w.grants)-1])
	w.unsettled = w.unsettled && len(keys) > 0
}
