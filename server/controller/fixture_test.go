package controller_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

func serveFixtures(t *testing.T, dir string, etcds ...string) (controllertest.Clients, func()) {
	t.Helper()
	o := withAll()
	o.Controllers = controller.Selection{controller.Namespace, controller.ServiceAccounts, controller.RootCA}
	return controllertest.Serve(t, o, dir, etcds...)
}

// untilFixtures waits until as many namespaces have both objects.
func untilFixtures(t *testing.T, c controllertest.Clients, namespaces int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), controllertest.Patience)
	defer cancel()
	accounts, err := c.CoreV1().ServiceAccounts("").Watch(ctx, metav1.ListOptions{})
	countFixtures(t, accounts, err, "default", namespaces)
	authorities, err := c.CoreV1().ConfigMaps("").Watch(ctx, metav1.ListOptions{})
	countFixtures(t, authorities, err, "kube-root-ca.crt", namespaces)
}

func countFixtures(t *testing.T, w watch.Interface, err error, name string, namespaces int) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	seen := map[string]bool{}
	for event := range w.ResultChan() {
		o, ok := event.Object.(metav1.Object)
		if !ok {
			t.Fatal(event.Object)
		}
		if o.GetName() == name && event.Type == watch.Added {
			seen[o.GetNamespace()] = true
		}
		if len(seen) >= namespaces {
			return
		}
	}
	t.Fatalf("%s is in %d namespaces, not in %d", name, len(seen), namespaces)
}

// TestFixtureMany: namespaces that are made at once all get what they should have, and a server that starts again leaves that as it is.
func TestFixtureMany(t *testing.T) {
	t.Parallel()
	namespaces := many(200)
	dir := controllertest.ShortDir(t)
	c, stop := serveFixtures(t, dir)
	var group errgroup.Group
	group.SetLimit(32)
	for i := range namespaces {
		group.Go(func() error {
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i)}}
			_, err := c.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	untilFixtures(t, c, namespaces+4)
	before, err := c.CoreV1().ConfigMaps("n0").Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stop()
	c, stop = serveFixtures(t, dir)
	// What is missing is made after the first look, which comes before this: so what is there was left alone.
	createNamespace(t, c, "last")
	untilFixtures(t, c, namespaces+5)
	after, err := c.CoreV1().ConfigMaps("n0").Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
	if err != nil || after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the map was at revision %s, and is at %s (%v)", before.ResourceVersion, after.ResourceVersion, err)
	}
	stop()
}

// TestFixtureDamaged: a value that can't be read delays no other namespace.
func TestFixtureDamaged(t *testing.T) {
	t.Parallel()
	dir := controllertest.ShortDir(t)
	c, stop := serveFixtures(t, dir)
	untilFixtures(t, c, 4)
	for _, key := range []string{"configmaps/default/kube-root-ca.crt", "serviceaccounts/kube-system/default", "namespaces/broken", "configmaps/kube-root-ca.crt"} {
		for _, value := range []string{"k8s\x00", "k8s\x00\xff\xff", "{", "", "k8s\x00\n\x00\x12\x04\n\x02\n\x00"} {
			if _, err := c.Etcd.Put(t.Context(), "/registry/"+key, value); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"first", "second"} {
		createNamespace(t, c, name)
		// A damaged object keeps its whole collection from being watched.
		awaitFixturesIn(t, c, name)
		stop()
		c, stop = serveFixtures(t, dir)
	}
}

func awaitFixturesIn(t *testing.T, c controllertest.Clients, namespace string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), controllertest.Patience)
	defer cancel()
	for _, key := range []string{"configmaps/" + namespace + "/kube-root-ca.crt", "serviceaccounts/" + namespace + "/default"} {
		key = "/registry/" + key
		changes := c.Etcd.Watch(ctx, key)
		if got, err := c.Etcd.Get(ctx, key); err != nil || got.Count == 0 {
			if response, ok := <-changes; !ok || response.Err() != nil {
				t.Fatalf("%s was not made", key)
			}
		}
	}
}

// TestFixtureTwo: of two servers on one etcd, whose authorities differ, each is verified by what the namespaces have, and they come to
// rest.
func TestFixtureTwo(t *testing.T) {
	t.Parallel()
	etcd, _ := controllertest.Etcd(t)
	first, stop := serveFixtures(t, "", etcd)
	untilFixtures(t, first, 4)
	second, _ := serveFixtures(t, "", etcd)
	stop()
	both := string(second.Config.CAData) + string(first.Config.CAData)
	ctx, cancel := context.WithTimeout(t.Context(), controllertest.Patience)
	defer cancel()
	w, err := second.CoreV1().ConfigMaps("default").Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=kube-root-ca.crt"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if cm, ok := event.Object.(*corev1.ConfigMap); ok && cm.Data["ca.crt"] == both {
			return
		}
	}
	t.Fatal("the second server's authority did not come to stand beside the first one's")
}

// TestFixtureAuthority: clients in the cluster are told to trust what the administrator's kubeconfig trusts.
func TestFixtureAuthority(t *testing.T) {
	t.Parallel()
	dir := controllertest.ShortDir(t)
	c, _ := serveFixtures(t, dir)
	untilFixtures(t, c, 4)
	cm, err := c.CoreV1().ConfigMaps("default").Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if ca, err := os.ReadFile(filepath.Join(dir, "ca.crt")); err != nil || cm.Data["ca.crt"] != string(ca) || string(c.Config.CAData) != string(ca) {
		t.Errorf("%v: the file has\n%s\nthe kubeconfig\n%s\nthe map\n%s", err, ca, c.Config.CAData, cm.Data["ca.crt"])
	}
}
