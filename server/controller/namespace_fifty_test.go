package controller_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

// twentyKinds are kinds of which a namespace has objects: its resource, and what an object needs beside its name.
var twentyKinds = []struct{ gvr, body string }{
	{"/v1/pods", `{"spec":{"containers":[{"name":"c","image":"i"}]}}`},
	{"/v1/configmaps", `{}`},
	{"/v1/secrets", `{}`},
	{"/v1/services", `{"spec":{"ports":[{"port":80}]}}`},
	{"/v1/serviceaccounts", `{}`},
	{"discovery.k8s.io/v1/endpointslices", `{"addressType":"IPv4","endpoints":[]}`},
	{"/v1/events", `{"involvedObject":{"namespace":"NS"}}`},
	{"/v1/limitranges", `{"spec":{"limits":[]}}`},
	{"/v1/persistentvolumeclaims", `{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`},
	{"/v1/podtemplates", `{"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}`},
	{"/v1/resourcequotas", `{"spec":{"hard":{"pods":"100"}}}`},
	{"apps/v1/deployments", `{"spec":` + workloadSpec + `}`},
	{"apps/v1/replicasets", `{"spec":` + workloadSpec + `}`},
	{"apps/v1/daemonsets", `{"spec":` + workloadSpec + `}`},
	{"batch/v1/cronjobs", `{"spec":{"schedule":"@daily","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}}}`},
	{"networking.k8s.io/v1/networkpolicies", `{"spec":{"podSelector":{}}}`},
	{"policy/v1/poddisruptionbudgets", `{"spec":{"selector":{"matchLabels":{"a":"b"}}}}`},
	{"rbac.authorization.k8s.io/v1/roles", `{"rules":[]}`},
	{"coordination.k8s.io/v1/leases", `{"spec":{}}`},
	{"stable.example.com/v1/things", `{"spec":{"a":"b"}}`},
}

const workloadSpec = `{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}`

func parseResource(gvr string) schema.GroupVersionResource {
	parts := strings.Split(gvr, "/")
	return schema.GroupVersionResource{Group: parts[0], Version: parts[1], Resource: parts[2]}
}

// makeFifty makes fifty objects of twenty kinds.
func makeFifty(t *testing.T, clients controllertest.Clients, ns string) {
	t.Helper()
	for i := range 50 {
		kind := twentyKinds[i%len(twentyKinds)]
		var o unstructured.Unstructured
		if err := json.Unmarshal([]byte(strings.ReplaceAll(kind.body, "NS", ns)), &o.Object); err != nil {
			t.Fatal(kind.gvr, err)
		}
		gvr := parseResource(kind.gvr)
		o.SetAPIVersion(gvr.GroupVersion().String())
		o.SetKind(kindNames[gvr.Resource])
		o.SetName(fmt.Sprint("o-", i))
		if _, err := clients.Dynamic.Resource(gvr).Namespace(ns).Create(t.Context(), &o, metav1.CreateOptions{}); err != nil {
			t.Fatal(kind.gvr, err)
		}
	}
}

var kindNames = map[string]string{
	"pods": "Pod", "configmaps": "ConfigMap", "secrets": "Secret", "services": "Service", "serviceaccounts": "ServiceAccount",
	"endpointslices": "EndpointSlice", "events": "Event", "limitranges": "LimitRange", "persistentvolumeclaims": "PersistentVolumeClaim",
	"podtemplates": "PodTemplate", "resourcequotas": "ResourceQuota", "deployments": "Deployment", "replicasets": "ReplicaSet",
	"daemonsets": "DaemonSet", "cronjobs": "CronJob", "networkpolicies": "NetworkPolicy", "poddisruptionbudgets": "PodDisruptionBudget",
	"roles": "Role", "leases": "Lease", "things": "Thing",
}

// TestNamespaceFiftyObjects has a namespace go with fifty objects of twenty kinds. It says how long that takes, from the DELETE on. With
// KX_MEASURE in the environment it does so twenty times.
func TestNamespaceFiftyObjects(t *testing.T) {
	t.Parallel()
	clients, _ := controllertest.Serve(t, withAll(), "")
	c := namespaceCluster{clients.Clientset, t}
	s := namespaceScene{namespaceCluster: c, Stage: &controllertest.Stage{Clients: clients, T: t}, ns: "stable"}
	s.definition("Thing")
	rounds := 1
	if os.Getenv("KX_MEASURE") != "" {
		rounds = 20
	}
	var took []time.Duration
	for i := range rounds {
		ns := fmt.Sprint("n-", i)
		c.namespace(ns)
		makeFifty(t, clients, ns)
		began := time.Now()
		c.remove(ns)
		c.until(ns, isGone)
		took = append(took, time.Since(began).Round(time.Millisecond))
		got, err := clients.Etcd.Get(t.Context(), "/registry/", keysBelow...)
		if err != nil {
			t.Fatal(err)
		}
		for _, kv := range got.Kvs {
			if strings.Contains(string(kv.Key), "/"+ns+"/") {
				t.Errorf("%s outlived its namespace", kv.Key)
			}
		}
	}
	slices.Sort(took)
	t.Logf("a namespace of fifty objects of twenty kinds: p50 %v of %v", took[len(took)/2], took)
}

var keysBelow = []clientv3.OpOption{clientv3.WithPrefix(), clientv3.WithKeysOnly()}
