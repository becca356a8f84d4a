package controller_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/internal/controllertest"
	"github.com/kx-apiserver/kx/server/internal/hooktest"
)

// garbageTrouble is a cluster of which a test sees more: what is in etcd, objects of any kind, and what the collector has tried.
type garbageTrouble struct {
	garbageCluster
	controllertest.Clients
}

func startGarbageTrouble(t *testing.T) garbageTrouble {
	clients, _ := serveGarbage(t, "")
	return garbageTrouble{garbageCluster{clients.Clientset, t}, clients}
}

// cascades deletes an owner and waits for its dependents to go with it, so many times: whatever else the collector is at.
func (c garbageTrouble) cascades(times int) {
	c.t.Helper()
	const of = "kube-public"
	for i := range times {
		owner := c.configMap(of, fmt.Sprint("marker-", i), nil)
		c.configMap(of, fmt.Sprint("of-marker-", i), owns(true, owner))
		c.remove(owner, background)
		c.until(of, func(there configMaps) bool {
			return there[fmt.Sprint("marker-", i)] == nil && there[fmt.Sprint("of-marker-", i)] == nil
		})
	}
}

// Loops of the collector, as their metrics name them. The first works on all objects but those of resources that are slow.
const (
	firstLoop = "garbage-collector-controller"
	allLoops  = firstLoop + `[^"]*`
)

// count adds up a metric of some of the collector's loops.
func (c garbageTrouble) count(metric, loops string) (sum int) {
	c.t.Helper()
	raw, err := c.garbageCluster.RESTClient().Get().AbsPath("/metrics").Do(c.t.Context()).Raw()
	if err != nil {
		c.t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^`+metric+`\{.*name="`+loops+`".*\} (\S+)$`).FindAllSubmatch(raw, -1) {
		value, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			c.t.Fatal(err)
		}
		sum += int(value)
	}
	return sum
}

// attempts are how often the collector has looked at anything.
func (c garbageTrouble) attempts() int {
	return c.count("workqueue_work_duration_seconds_count", allLoops)
}

// atRest holds the collector against cascades that have nothing to do with what is there: it looks at their objects, and at nothing
// else.
func (c garbageTrouble) atRest() {
	c.t.Helper()
	const times, each = 10, 6
	c.cascades(1)
	before := c.attempts()
	c.cascades(times)
	if made := c.attempts() - before; made < times || made > times*each {
		c.t.Errorf("%d attempts for %d cascades: it is busy with something else", made, times)
	}
}

// failing waits until so many attempts more have failed.
func (c garbageTrouble) failing(attempts int) {
	c.t.Helper()
	before := c.count("workqueue_retries_total", allLoops)
	eventually(c.t, fmt.Sprint(attempts, " attempts fail"), func() bool {
		return c.count("workqueue_retries_total", allLoops) >= before+attempts
	})
}

// TestGarbageCirclesRest has owners that own each other, and one that owns itself. Nobody deletes them, and nobody looks at them.
func TestGarbageCirclesRest(t *testing.T) {
	t.Parallel()
	c := startGarbageTrouble(t)
	const circle = 3
	var of [circle]*corev1.ConfigMap
	for i := range of {
		of[i] = c.configMap(ns, fmt.Sprint("circle-", i), nil)
	}
	for i := range of {
		c.give(ns, of[i].Name, owns(true, of[(i+1)%circle]))
	}
	c.give(ns, "self", owns(true, c.configMap(ns, "self", nil)))
	c.atRest()
	c.remove(of[0], foreground)
	c.until(ns, only("self"))
	c.atRest()
}

// TestGarbageNobodyLetsGo has finalizers that nobody removes, of a dependent and of an owner: what waits for them waits, and is not looked
// at meanwhile.
func TestGarbageNobodyLetsGo(t *testing.T) {
	t.Parallel()
	c := startGarbageTrouble(t)
	owner := c.configMap(ns, "owner", nil)
	c.configMap(ns, "child", owns(true, owner), finalizer)
	kept := c.configMap(ns, "kept", nil, finalizer)
	c.configMap(ns, "of-kept", owns(true, kept))
	c.remove(owner, foreground)
	c.remove(kept, background)
	c.until(ns, func(there configMaps) bool {
		return there["child"].DeletionTimestamp != nil && there["kept"].DeletionTimestamp != nil
	})
	c.atRest()
	c.until(ns, func(there configMaps) bool { return there["of-kept"].DeletionTimestamp == nil && len(there) == 4 })
	c.letGo(kept)
	c.until(ns, only("owner", "child"))
}

// TestGarbageDamaged has a dependent whose value can't be read, in the middle of a cascade, and one that can't be decoded as a whole: both
// are tried again, nothing else waits, and they go when they can be read.
func TestGarbageDamaged(t *testing.T) {
	t.Parallel()
	c := startGarbageTrouble(t)
	owner := c.configMap(ns, "owner", nil)
	stored := map[string][]byte{}
	for name, damage := range map[string]func(value []byte) []byte{
		"unreadable":  func([]byte) []byte { return []byte("k8s\x00\xff\xff") },
		"undecodable": func(value []byte) []byte { return bytes.Replace(value, []byte("\x04text"), []byte("\x7ftext"), 1) },
	} {
		_, err := c.garbageCluster.CoreV1().Secrets(ns).Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owns(true, owner)}, Data: map[string][]byte{"k": []byte("text")},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		key := "/registry/secrets/" + ns + "/" + name
		is, err := c.Etcd.Get(t.Context(), key)
		if err != nil || len(is.Kvs) != 1 {
			t.Fatal(is, err)
		}
		stored[key] = is.Kvs[0].Value
		if _, err := c.Etcd.Put(t.Context(), key, string(damage(is.Kvs[0].Value))); err != nil {
			t.Fatal(err)
		}
	}
	c.configMap(ns, "child", owns(true, owner))
	c.remove(owner, background)
	c.until(ns, only())
	c.failing(6)
	c.cascades(3)
	for key, value := range stored {
		if _, err := c.Etcd.Put(t.Context(), key, string(value)); err != nil {
			t.Fatal(err)
		}
	}
	c.untilKeys("/registry/secrets/"+ns+"/", 0)
}

// TestGarbageDamagedOwner starts on an owner whose value can't be read. Its dependents are tried again, and go when its key goes.
func TestGarbageDamagedOwner(t *testing.T) {
	t.Parallel()
	dir := controllertest.ShortDir(t)
	clients, stop := serveGarbage(t, dir)
	c := garbageTrouble{garbageCluster{clients.Clientset, t}, clients}
	owner := c.configMap(ns, "owner", nil)
	for i := range 3 {
		_, err := c.garbageCluster.CoreV1().Secrets(ns).Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("child-", i), OwnerReferences: owns(true, owner)},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	const key = "/registry/configmaps/" + ns + "/owner"
	if _, err := c.Etcd.Put(t.Context(), key, "k8s\x00\xff\xff"); err != nil {
		t.Fatal(err)
	}
	stop()
	clients, _ = serveGarbage(t, dir)
	c = garbageTrouble{garbageCluster{clients.Clientset, t}, clients}
	c.failing(6)
	c.cascades(1)
	if _, err := c.Etcd.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	c.untilKeys("/registry/secrets/"+ns+"/", 0)
}

// untilKeys waits until there are so many keys that begin with prefix.
func (c garbageTrouble) untilKeys(prefix string, want int64) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), controllertest.Patience)
	defer cancel()
	for {
		res, err := c.Etcd.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil {
			c.t.Fatal(err)
		}
		if res.Count == want {
			return
		}
		changed, stop := context.WithCancel(ctx)
		<-c.Etcd.Watch(changed, prefix, clientv3.WithPrefix(), clientv3.WithRev(res.Header.Revision+1))
		stop()
	}
}

var things = schema.GroupVersionResource{Group: "b.example.com", Version: "v2", Resource: "things"}

func newThing(version, name string, owners []metav1.OwnerReference) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion(things.Group + "/" + version)
	obj.SetKind("Thing")
	obj.SetName(name)
	obj.SetOwnerReferences(owners)
	return obj
}

// thing makes one as soon as its version is served.
func (c garbageTrouble) thing(version, name string, owners []metav1.OwnerReference) *unstructured.Unstructured {
	c.t.Helper()
	resource := schema.GroupVersionResource{Group: things.Group, Version: version, Resource: things.Resource}
	var made *unstructured.Unstructured
	eventually(c.t, version+" is served", func() (served bool) {
		var err error
		made, err = c.Dynamic.Resource(resource).Namespace(ns).Create(c.t.Context(), newThing(version, name, owners), metav1.CreateOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			c.t.Fatal(err)
		}
		return err == nil
	})
	return made
}

// TestGarbageDefinitionGoes deletes a definition while its objects are collected. They have dependents too, which go although nobody knows
// the kind of their owners any more.
func TestGarbageDefinitionGoes(t *testing.T) {
	t.Parallel()
	c := startGarbageTrouble(t)
	c.define()
	owner := c.configMap(ns, "owner", nil)
	const many = 40
	for i := range many {
		thing := c.thing("v2", fmt.Sprint("thing-", i), owns(true, owner))
		c.configMap(ns, fmt.Sprint("of-thing-", i), []metav1.OwnerReference{
			{APIVersion: thing.GetAPIVersion(), Kind: thing.GetKind(), Name: thing.GetName(), UID: thing.GetUID()},
		})
	}
	var together sync.WaitGroup
	together.Go(func() { c.remove(owner, background) })
	together.Go(func() {
		if err := c.Dynamic.Resource(definitions).Delete(t.Context(), "things.b.example.com", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	together.Wait()
	c.until(ns, only())
	c.untilKeys("/registry/b.example.com/", 0)
	c.untilKeys("/registry/apiextensions.k8s.io/", 0)
	c.atRest()
}

// TestGarbageConversionHangs has objects that were stored in an older version, and whose deletion needs a webhook that does not answer.
// Objects of other kinds go before each of these has been tried.
func TestGarbageConversionHangs(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the system accepts, and nobody reads
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	c := startGarbageTrouble(t)
	err = c.garbageCluster.RESTClient().Post().AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").
		SetHeader("Content-Type", "application/json").Body([]byte(strings.NewReplacer(
		`"versions":[`, `"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":"https://`+silent.Addr().String()+`/"}}},
			"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}},`,
		`"storage":true`, `"storage":false`).Replace(thingDefinition))).Do(t.Context()).Error()
	if err != nil {
		t.Fatal(err)
	}
	owner := c.configMap(ns, "owner", nil)
	const many = 40
	for i := range many {
		c.thing("v1", fmt.Sprint("thing-", i), owns(true, owner))
	}
	// From now on they have to be converted to be read.
	_, err = c.Dynamic.Resource(definitions).Patch(t.Context(), "things.b.example.com", types.JSONPatchType, []byte(
		`[{"op":"replace","path":"/spec/versions/0/storage","value":false},{"op":"replace","path":"/spec/versions/1/storage","value":true}]`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "v2 is stored, for which no webhook is asked", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Dynamic.Resource(things).Namespace(ns).Create(ctx, newThing("v2", "new", nil), metav1.CreateOptions{})
		return err == nil || apierrors.IsAlreadyExists(err)
	})
	// As many as are tried at a time hang, and hold up the others until they are cut off.
	before := c.attempts()
	c.remove(owner, background)
	eventually(t, "the collector has begun", func() bool { return c.attempts() >= before+2 })
	c.cascades(10)
	if hung := c.count("kx_controller_errors_total", firstLoop); hung >= many {
		t.Errorf("%d attempts at %d things have failed before objects of another kind went", hung, many)
	}
	if res, err := c.Etcd.Get(t.Context(), "/registry/b.example.com/things/", clientv3.WithPrefix(), clientv3.WithCountOnly()); err != nil || res.Count != many+1 {
		t.Errorf("%v things are left, %v", res, err)
	}
}

// TestGarbageSameEventAgain gives an object a reference into another namespace, which the collector takes away, three times. That is one
// event.
func TestGarbageSameEventAgain(t *testing.T) {
	t.Parallel()
	c := startGarbageTrouble(t)
	ctx, cancel := context.WithTimeout(t.Context(), controllertest.Patience)
	defer cancel()
	elsewhere := c.configMap("kube-public", "elsewhere", nil)
	owner := c.configMap(ns, "owner", nil)
	c.configMap(ns, "child", owns(false, owner))
	events, err := c.garbageCluster.CoreV1().Events("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	var first *corev1.Event
	for count := int32(1); count <= 3; count++ {
		c.give(ns, "child", owns(false, owner, elsewhere))
		c.until(ns, func(there configMaps) bool { return len(there["child"].OwnerReferences) == 1 })
		for event := range events.ResultChan() {
			e := event.Object.(*corev1.Event)
			if first == nil {
				first = e
			}
			if e.UID != first.UID || e.Count != count || e.Message != first.Message || e.Reason != "OwnerRefInvalidNamespace" {
				t.Fatalf("after %d times: %+v", count, e)
			}
			break
		}
	}
}

// TestGarbageRefusedByWebhook has a webhook that lets nobody delete a dependent, as it would refuse a client: the collector tries
// again, nothing else waits, and the dependent goes when the webhook does.
func TestGarbageRefusedByWebhook(t *testing.T) {
	t.Parallel()
	c := startGarbageTrouble(t)
	hook := hooktest.New(t)
	_, configuration := hook.Configurations("deny-delete")
	if _, err := c.garbageCluster.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), configuration, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	owner := c.configMap(ns, "owner", nil)
	c.configMap(ns, "free", owns(true, owner))
	c.configMap(ns, "kept", owns(true, owner))
	if _, err := c.garbageCluster.CoreV1().ConfigMaps(ns).Patch(t.Context(), "kept", types.MergePatchType, []byte(`{"metadata":{"labels":{"scene":"deny-delete"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	const path = "/deny-delete"
	eventually(t, "the webhook is in force", func() bool {
		_ = c.garbageCluster.CoreV1().ConfigMaps(ns).Delete(t.Context(), "kept", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		return hook.Calls(path) > 0
	})
	asked := hook.Calls(path)
	c.remove(owner, background)
	c.until(ns, only("kept"))
	c.failing(3)
	if hook.Calls(path) == asked {
		t.Error("the webhook was not asked about what the collector deletes")
	}
	c.cascades(3)
	c.until(ns, only("kept"))
	if err := c.garbageCluster.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(t.Context(), configuration.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.until(ns, only())
}

// TestGarbageEncrypted collects what is stored encrypted: what owns what is known from the values.
func TestGarbageEncrypted(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	err := os.WriteFile(file, []byte(`apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [configmaps]
  providers:
  - aescbc: {keys: [{name: a, secret: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}]}
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	o := withAll()
	o.Controllers = controller.Selection{controller.Garbage, controller.Namespace}
	o.Etcd.EncryptionProviderConfig = file
	clients, _ := controllertest.Serve(t, o, "")
	c := garbageTrouble{garbageCluster{clients.Clientset, t}, clients}
	owner := c.configMap(ns, "owner", nil)
	child := c.configMap(ns, "child", owns(true, owner))
	c.configMap(ns, "grandchild", owns(true, child))
	stored, err := c.Etcd.Get(t.Context(), "/registry/configmaps/default/child")
	if err != nil || len(stored.Kvs) != 1 || !bytes.HasPrefix(stored.Kvs[0].Value, []byte("k8s:enc:aescbc:")) {
		t.Fatalf("stored as %v, %v", stored, err)
	}
	c.remove(owner, foreground)
	c.until(ns, only())
}
