//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/store/embedded"
)

const (
	manyObjects = 200_000
	perTxn      = 100
)

// BenchmarkEtcd has 200,000 pods and config maps of about 1 KiB in an etcd, and commands that look at all of them, each in
// a process of its own. It reports the process's time and the most memory it had.
func BenchmarkEtcd(b *testing.B) {
	dir, err := os.MkdirTemp("", "kx")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	server, err := embedded.Start(context.Background(), embedded.Config{
		Dir: filepath.Join(dir, "etcd"), Ephemeral: true, Logger: slog.New(slog.DiscardHandler), Socket: filepath.Join(dir, embedded.SocketName),
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(server.Close)
	fillEtcd(b, server)
	snapshot := filepath.Join(dir, "s.db")
	b.Run("snapshot save", func(b *testing.B) {
		for b.Loop() {
			os.Remove(snapshot)
			measure(b, "etcd", "snapshot", "save", snapshot, "--data-dir", dir)
		}
	})
	for _, args := range []string{
		"ls", "ls --keys-only", "top", "top --by object", "find --name pod-77777", "find -l app=a7",
		"find --jsonpath {.spec.nodeName}=node-7", "history pods/ns-7/pod-77777", "diff -o json -- -50 0", "doctor",
	} {
		for _, where := range []string{"--data-dir " + dir, "--file " + snapshot} {
			name, _, _ := strings.Cut(where, " ")
			b.Run(args+" "+name, func(b *testing.B) {
				for b.Loop() {
					measure(b, append([]string{"etcd"}, strings.Fields(args+" "+where)...)...)
				}
			})
		}
	}
}

func measure(b *testing.B, args ...string) {
	b.Helper()
	// Flags come before what a -- ends.
	for i, arg := range args {
		if arg == "--" {
			args = append(append(append([]string{}, args[:i]...), args[len(args)-2:]...), args[i:len(args)-2]...)
			break
		}
	}
	cmd := kx(b, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	memory := make(chan [2]float64)
	go watchMemory(cmd.Process.Pid, memory)
	err := cmd.Wait()
	took := time.Since(start)
	if code := cmd.ProcessState.ExitCode(); err != nil && code != exitFound {
		b.Fatalf("%v: %v: %s", args, err, &out)
	}
	most := <-memory
	b.ReportMetric(most[0], "MiB")
	b.ReportMetric(most[1], "MiB-own")
	b.ReportMetric(took.Seconds(), "s")
}

// watchMemory sends, when a process has ended, the most memory that it had, in MiB: all, and without the pages of files.
// What the system says at the end has that of the process that started it in it.
func watchMemory(pid int, result chan<- [2]float64) {
	var most [2]float64
	for {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil || !bytes.Contains(status, []byte("VmHWM")) {
			result <- most
			return
		}
		for line := range strings.Lines(string(status)) {
			for i, name := range []string{"VmHWM:", "RssAnon:"} {
				var kib float64
				if rest, ok := strings.CutPrefix(line, name); ok {
					if _, err := fmt.Sscan(rest, &kib); err == nil {
						most[i] = max(most[i], kib/1024)
					}
				}
			}
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func fillEtcd(b *testing.B, server *embedded.Server) {
	b.Helper()
	client := server.Client()
	defer client.Close()
	codec, err := scheme.StorageCodec(schema.GroupResource{Resource: "pods"}, runtime.ContentTypeProtobuf)
	if err != nil {
		b.Fatal(err)
	}
	padding := strings.Repeat("x", 700)
	var ops []clientv3.Op
	for i := range manyObjects {
		meta := metav1.ObjectMeta{
			Name: fmt.Sprintf("pod-%d", i), Namespace: fmt.Sprintf("ns-%d", i%10),
			Labels:      map[string]string{"app": fmt.Sprintf("a%d", i%1000)},
			Annotations: map[string]string{"padding": padding},
		}
		resource := "pods"
		var obj runtime.Object = &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{
			NodeName: fmt.Sprintf("node-%d", i%1000), Containers: []corev1.Container{{Name: "c", Image: "example.com/image:1"}},
		}}
		if i%2 == 0 {
			resource, obj = "configmaps", &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"key": "value"}}
		}
		data, err := runtime.Encode(codec, obj)
		if err != nil {
			b.Fatal(err)
		}
		ops = append(ops, clientv3.OpPut(fmt.Sprintf("/registry/%s/%s/%s", resource, meta.Namespace, meta.Name), string(data)))
		if len(ops) == perTxn {
			if _, err := client.Txn(context.Background()).Then(ops...).Commit(); err != nil {
				b.Fatal(err)
			}
			ops = ops[:0]
		}
	}
}
