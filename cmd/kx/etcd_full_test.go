//go:build unix

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// TestFullEtcd fills an etcd to its quota, and gets out of that with kx alone.
func TestFullEtcd(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	serve := func() (*lasting, kubernetes.Interface) {
		l := m.begin("serve", "--listen", "127.0.0.1:0", "--quota-backend-bytes", "8000000")
		l.see("serving")
		config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(m.home, ".kx", "kubeconfig"))
		if err != nil {
			t.Fatal(err)
		}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		return l, client
	}
	server, client := serve()
	get := func(path string) string {
		t.Helper()
		data, err := client.CoreV1().RESTClient().Get().RequestURI(path).DoRaw(t.Context())
		if err != nil {
			t.Fatalf("%s: %v %s", path, err, data)
		}
		return string(data)
	}
	create := func(name string) error {
		_, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"x": strings.Repeat("x", 900_000)},
		}, metav1.CreateOptions{})
		return err
	}
	most, err := 20, error(nil)
	made := 0
	for ; made < most && err == nil; made++ {
		err = create(fmt.Sprint("big-", made))
	}
	var status *apierrors.StatusError
	if !errors.As(err, &status) || status.ErrStatus.Code != 500 {
		t.Fatalf("after %d maps: %v", made, err)
	}
	for _, want := range []string{"etcdserver: mvcc: database space exceeded", "NOSPACE", "--quota-backend-bytes", "kx etcd compact, kx etcd defrag and kx etcd alarms --disarm"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the refusal does not say %q: %v", want, err)
		}
	}
	const warning = "[+]etcd-alarms ok, but NOSPACE: etcd is full and takes only deletions\n"
	until(t, "readyz tells of NOSPACE", func() bool { return strings.Contains(get("/readyz?verbose"), warning) })
	if got := get("/readyz"); got != "ok" {
		t.Errorf("a server whose etcd is full still answers reads and takes deletions, and is not ready: %s", got)
	}
	if got := get("/metrics"); !strings.Contains(got, `kx_etcd_alarm{alarm="NOSPACE"} 1`) {
		t.Error("the metrics do not say NOSPACE")
	}

	// It starts again all the same.
	server.interrupt()
	if code := server.ended(); code != 0 {
		t.Fatalf("stop: %d %s", code, server.stderr)
	}
	server, client = serve()
	if err := create("more"); err == nil || !strings.Contains(err.Error(), "NOSPACE") {
		t.Errorf("after a start: %v", err)
	}
	server.waitToSay("etcd has raised an alarm")

	if err := client.CoreV1().ConfigMaps("default").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name!=kube-root-ca.crt"}); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"etcd compact", "etcd defrag", "etcd alarms --disarm"} {
		if got := m.run("", strings.Fields(command)...); got.code != 0 {
			t.Fatalf("kx %s: %+v", command, got)
		}
	}
	if err := create("again"); err != nil {
		t.Errorf("with space again: %v", err)
	}
	until(t, "readyz tells of NOSPACE no more", func() bool { return !strings.Contains(get("/readyz?verbose"), "NOSPACE") })
	if got := get("/metrics"); !strings.Contains(got, `kx_etcd_alarm{alarm="NOSPACE"} 0`) {
		t.Error("the metrics still say NOSPACE")
	}
	server.interrupt()
	if code := server.ended(); code != 0 {
		t.Errorf("stop: %d %s", code, server.stderr)
	}
}
