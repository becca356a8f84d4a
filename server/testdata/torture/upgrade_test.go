//go:build linux

package torture

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/testdata/torture/system"
)

var recordFlag = flag.String("torture.record", "", "make testdata/versions/NAME: what this version of kx leaves behind")

// upgradePaths are what is compared, object by object.
var upgradePaths = []string{
	"/api/v1/namespaces/torture-a/configmaps", "/api/v1/namespaces/torture-a/secrets", "/api/v1/namespaces/torture-a/services",
	"/apis/apps/v1/namespaces/torture-a/deployments", "/apis/torture.kx.dev/v1/namespaces/torture-a/widgets",
	"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/api/v1/namespaces/torture-a",
}

// left is what a version left behind: a directory with etcd's data, what the API said of it, and the key of its secrets.
type left string

func (l left) data() string       { return filepath.Join(string(l), "etcd.tar.gz") }
func (l left) answers() string    { return filepath.Join(string(l), "answers.json") }
func (l left) encryption() string { return filepath.Join(string(l), "encryption.yaml") }

// startOn starts a kx with its files in a directory.
func (l left) startOn(t *testing.T, dir string) *world {
	t.Helper()
	k, err := system.NewKX(program, dir, "kx", nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := filepath.Abs(l.encryption())
	if err != nil {
		t.Fatal(err)
	}
	k.Args("--encryption-provider-config", key)
	w := &world{kxs: []*server{{KX: k}}, counts: map[string]int{}, memory: map[string]int64{}}
	t.Cleanup(w.end)
	if err := w.start(t.Context(), w.kxs[0]); err != nil {
		t.Fatal(err)
	}
	return w
}

// answer is what a server says at a path, of what differs not from start to start.
func (s *server) answer(ctx context.Context, path string) (json.RawMessage, error) {
	data, err := s.typed.Discovery().RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").Do(ctx).Raw()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	if list.Items == nil {
		return data, nil
	}
	items := list.Items[:0]
	for _, item := range list.Items {
		// The server's own certificate.
		if !bytes.Contains(item, []byte("kube-root-ca.crt")) {
			items = append(items, item)
		}
	}
	return json.Marshal(items)
}

// TestUpgrade starts today's kx on the data of each earlier version: every object must be there as it was, and take a write.
func TestUpgrade(t *testing.T) {
	if *recordFlag != "" {
		record(t, left(filepath.Join("testdata", "versions", *recordFlag)))
	}
	versions, err := filepath.Glob("testdata/versions/*")
	if err != nil || len(versions) == 0 {
		t.Fatalf("there are no versions: %v", err)
	}
	for _, version := range versions {
		t.Run(filepath.Base(version), func(t *testing.T) { upgrade(t, left(version)) })
	}
}

func upgrade(t *testing.T, from left) {
	dir := t.TempDir()
	if err := unpack(from.data(), filepath.Join(dir, "kx", "etcd")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "kx"), 0o700); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(from.answers())
	if err != nil {
		t.Fatal(err)
	}
	var answers map[string]json.RawMessage
	if err := json.Unmarshal(data, &answers); err != nil {
		t.Fatal(err)
	}
	w := from.startOn(t, dir)
	s := w.kxs[0]
	for _, path := range upgradePaths {
		got, err := s.answer(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(compactJSON(t, got), compactJSON(t, answers[path])) {
			t.Errorf("%s is\n%s\nit was\n%s", path, got, answers[path])
		}
	}
	for _, r := range []register{typedRegister{s.typed}, dynamicRegister{secrets, s.dynamic}, dynamicRegister{widgets, s.dynamic}} {
		obj, err := r.patch(t.Context(), "torture-a", "old", "green-2")
		if err != nil {
			t.Fatal(err)
		}
		if o, err := r.of().seen(obj); err != nil || o.Value != "green-2" {
			t.Errorf("after a write: %+v, %v", o, err)
		}
	}
	if err := w.stop(s, syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := checkLogs(dir); err != nil {
		t.Error(err)
	}
}

func compactJSON(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, data); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// record makes what a version leaves behind.
func record(t *testing.T, to left) {
	dir := t.TempDir()
	w := to.startOn(t, dir)
	s, ctx := w.kxs[0], t.Context()
	if err := w.furnish(ctx); err != nil {
		t.Fatal(err)
	}
	for _, r := range []register{typedRegister{s.typed}, dynamicRegister{secrets, s.dynamic}, dynamicRegister{widgets, s.dynamic}} {
		for _, name := range []string{"old", "older", "oldest"} {
			if _, err := r.create(ctx, "torture-a", name, "red-1"); err != nil {
				t.Fatal(err)
			}
			if _, err := r.apply(ctx, "torture-a", name, "blue-1"); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.remove(ctx, "torture-a", "older", ""); err != nil {
			t.Fatal(err)
		}
	}
	labels := map[string]string{"app": "old"}
	_, err := s.typed.AppsV1().Deployments("torture-a").Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "old"},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.typed.CoreV1().Services("torture-a").Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "old"}, Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]json.RawMessage{}
	for _, path := range upgradePaths {
		if answers[path], err = s.answer(ctx, path); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.stop(s, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	data, err := json.MarshalIndent(answers, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to.answers(), append(data, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := pack(filepath.Join(dir, "kx", "etcd"), to.data()); err != nil {
		t.Fatal(err)
	}
}
