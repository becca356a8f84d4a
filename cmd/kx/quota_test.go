package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/store/embedded"
)

// useUpQuota raises the alarm that etcd raises when its quota is used up.
func useUpQuota(t *testing.T, dir string) {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"unix://" + filepath.Join(dir, embedded.SocketName)}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	members, err := client.MemberList(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	_, err = pb.NewMaintenanceClient(client.ActiveConnection()).Alarm(context.Background(), &pb.AlarmRequest{
		Action: pb.AlarmRequest_ACTIVATE, Alarm: pb.AlarmType_NOSPACE, MemberID: members.Members[0].ID,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestQuotaUsedUp follows an administrator whose etcd has no space left: reads and deletions go on, each refusal and /readyz name
// the command that helps, and writes work again without a restart. An archive made meanwhile does not bring the alarm back.
func TestQuotaUsedUp(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := serve(t, "--data-dir", dir)
	client := p.client(t)
	maps, events := client.CoreV1().ConfigMaps("default"), client.CoreV1().Events("default")
	create := func(name string) error {
		_, err := maps.Create(context.Background(), configMap(name), metav1.CreateOptions{})
		return err
	}
	readyz := func() string {
		var said string
		until(t, "the server is ready", func() bool {
			text, err := client.RESTClient().Get().AbsPath("/readyz").Param("verbose", "").DoRaw(context.Background())
			said = string(text)
			return err == nil
		})
		return said
	}
	if err := create("before"); err != nil {
		t.Fatal(err)
	}
	useUpQuota(t, dir)
	const advice = "`kx etcd doctor`"
	if err := create("full"); err == nil || !strings.Contains(err.Error(), "database space exceeded") || !strings.Contains(err.Error(), advice) {
		t.Errorf("a write: %v", err)
	}
	event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "full"}, InvolvedObject: corev1.ObjectReference{Namespace: "default"}}
	if _, err := events.Create(context.Background(), event, metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), advice) {
		t.Errorf("a write with a lease: %v", err)
	}
	until(t, "readyz names the alarm", func() bool {
		said := readyz()
		return strings.Contains(said, "warn: etcd-readiness: ") && strings.Contains(said, "NOSPACE") && strings.Contains(said, advice)
	})
	until(t, "the log says so", func() bool { return strings.Contains(p.stderr.String(), "writes are refused") })
	if said := p.stderr.String(); strings.Count(said, "writes are refused") != 1 || strings.Contains(said, "failed to apply") {
		t.Errorf("the log has %s", said)
	}
	if _, err := maps.Get(context.Background(), "before", metav1.GetOptions{}); err != nil {
		t.Errorf("a read: %v", err)
	}
	if err := maps.Delete(context.Background(), "before", metav1.DeleteOptions{}); err != nil {
		t.Errorf("a deletion: %v", err)
	}
	run := func(args ...string) string {
		said, err := kx(t, append([]string{"etcd", "--data-dir", dir}, args...)...).CombinedOutput()
		if err != nil {
			t.Errorf("kx etcd %v: %v: %s", args, err, said)
		}
		return string(said)
	}
	said, _ := kx(t, "etcd", "doctor", "--data-dir", dir).CombinedOutput() // its exit code tells of the alarm
	if !strings.Contains(string(said), "kx etcd alarms --disarm") || strings.Contains(string(said), "problem  members") {
		t.Errorf("kx etcd doctor said %s", said)
	}
	archive := filepath.Join(t.TempDir(), "full.tar")
	run("snapshot", "save", "--archive", archive)
	run("compact")
	run("defrag")
	run("alarms", "--disarm")
	if err := create("after"); err != nil {
		t.Errorf("a write once the alarm has ended: %v", err)
	}
	until(t, "readyz forgets the alarm", func() bool { return !strings.Contains(readyz(), "NOSPACE") })

	restored := filepath.Join(t.TempDir(), "restored")
	mustSnapshot(t, "restore", archive, "--to", restored)
	maps = serve(t, "--data-dir", restored).client(t).CoreV1().ConfigMaps("default")
	if err := create("restored"); err != nil {
		t.Errorf("a write after a restore: %v", err)
	}
}

// TestStartWithoutSpace starts a server on an etcd that has no space left.
func TestStartWithoutSpace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := serve(t, "--data-dir", dir)
	useUpQuota(t, dir)
	p.stop(t)
	p = serve(t, append(asUsual, "--data-dir", dir)...)
	if _, err := p.client(t).CoreV1().Namespaces().Get(context.Background(), "default", metav1.GetOptions{}); err != nil {
		t.Errorf("a read: %v", err)
	}
}
