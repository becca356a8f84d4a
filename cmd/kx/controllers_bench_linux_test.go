package main

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// What controllers cost a whole server, with all that is on by default. Each is one measurement:
//
//	go test -run '^$' -bench 'Idle|Writes|Cascade|Namespaces' -benchtime 1x -timeout 2h ./cmd/kx

var (
	benchDependents = flag.Int("bench.dependents", 5000, "how many dependents the owner of BenchmarkCascade has")
	benchNamespaces = flag.Int("bench.namespaces", 10_000, "how many namespaces BenchmarkNamespaces deletes")
	benchWindow     = flag.Duration("bench.window", 20*time.Second, "for how long BenchmarkIdle and BenchmarkWrites look")
)

// served is a server of a benchmark, which is ready.
func served(b *testing.B, flags ...string) (*process, *kubernetes.Clientset) {
	b.Helper()
	p := serve(b, slices.Concat([]string{"--data-dir", b.TempDir()}, asUsual, flags)...)
	c := p.client(b)
	await(b, "the server is ready", func() bool {
		_, err := c.RESTClient().Get().AbsPath("/readyz").DoRaw(b.Context())
		return err == nil
	})
	return p, c
}

// await asks again and again.
func await(b *testing.B, what string, yes func() bool) {
	b.Helper()
	for deadline := time.Now().Add(time.Hour); !yes(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.Fatalf("it did not come to pass that %s", what)
		}
	}
}

// share is a part of one core, in percent.
func share(of, in time.Duration) float64 { return 100 * of.Seconds() / in.Seconds() }

// BenchmarkIdle is what a server takes that nobody asks anything, with all controllers and without.
func BenchmarkIdle(b *testing.B) {
	for name, flags := range map[string][]string{"controllers": nil, "none": {"--controllers=-*"}} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				p, _ := served(b, flags...)
				time.Sleep(*benchWindow) // what the start left is given back
				before := cpu(b, p.Process.Pid)
				time.Sleep(*benchWindow)
				b.ReportMetric(share(cpu(b, p.Process.Pid)-before, *benchWindow), "%core")
				b.ReportMetric(float64(anonymous(b, p.Process.Pid))/mib, "MiB-anonymous")
				b.ReportMetric(resident(b, p.Process.Pid), "MiB-resident")
			}
		})
	}
}

// BenchmarkWrites is what a thousand creates a second of objects with owners take of a core, with all controllers and without.
func BenchmarkWrites(b *testing.B) {
	const rate, writers = 1000, 32
	for name, flags := range map[string][]string{"controllers": nil, "none": {"--controllers=-*"}} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				p, c := served(b, flags...)
				owner, err := c.CoreV1().ConfigMaps("default").Create(b.Context(), configMap("owner"), metav1.CreateOptions{})
				if err != nil {
					b.Fatal(err)
				}
				before, began := cpu(b, p.Process.Pid), time.Now()
				most := rate * int(benchWindow.Seconds())
				createAll(b, c, most, writers, func(i int) time.Time { return began.Add(time.Duration(i) * time.Second / rate) }, ownedBy(owner))
				took := time.Since(began)
				b.ReportMetric(share(cpu(b, p.Process.Pid)-before, took), "%core")
				b.ReportMetric(float64(most)/took.Seconds(), "creates/s")
			}
		})
	}
}

func ownedBy(owner *corev1.ConfigMap) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, BlockOwnerDeletion: new(true)}
}

// createAll creates config maps, each not before its time.
func createAll(b *testing.B, c *kubernetes.Clientset, n, writers int, at func(i int) time.Time, owners ...metav1.OwnerReference) {
	b.Helper()
	var writing sync.WaitGroup
	for first := range writers {
		writing.Go(func() {
			for i := first; i < n; i += writers {
				time.Sleep(time.Until(at(i)))
				cm := configMap(fmt.Sprint("o-", i))
				cm.OwnerReferences = owners
				if _, err := c.CoreV1().ConfigMaps("default").Create(b.Context(), cm, metav1.CreateOptions{}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	writing.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

// BenchmarkCascade is from the DELETE of an owner until all its dependents are gone, and the owner.
func BenchmarkCascade(b *testing.B) {
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground} {
		b.Run(string(policy), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				_, c := served(b)
				maps := c.CoreV1().ConfigMaps("default")
				owner, err := maps.Create(b.Context(), configMap("owner"), metav1.CreateOptions{})
				if err != nil {
					b.Fatal(err)
				}
				createAll(b, c, *benchDependents, 32, func(int) time.Time { return time.Time{} }, ownedBy(owner))
				list, err := maps.List(b.Context(), metav1.ListOptions{})
				if err != nil {
					b.Fatal(err)
				}
				w, err := maps.Watch(b.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if err := maps.Delete(b.Context(), owner.Name, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
					b.Fatal(err)
				}
				for left := *benchDependents + 1; left > 0; {
					event, ok := <-w.ResultChan()
					if !ok {
						b.Fatalf("the watch ended; %d were left", left)
					}
					if event.Type == watch.Deleted {
						left--
					}
				}
				w.Stop()
			}
		})
	}
}

// BenchmarkNamespaces is from the first DELETE of many namespaces, each with what controllers make in it, until all are gone.
func BenchmarkNamespaces(b *testing.B) {
	const writers = 32
	for range b.N {
		b.StopTimer()
		p, c := served(b)
		each := func(do func(ctx context.Context, name string) error) {
			var writing sync.WaitGroup
			for first := range writers {
				writing.Go(func() {
					for i := first; i < *benchNamespaces; i += writers {
						if err := do(b.Context(), fmt.Sprint("n-", i)); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			writing.Wait()
		}
		count := func() int {
			one, err := c.CoreV1().Namespaces().List(b.Context(), metav1.ListOptions{Limit: 1})
			if err != nil {
				b.Fatal(err)
			}
			return len(one.Items) + int(remaining(one.RemainingItemCount))
		}
		before := count()
		each(func(ctx context.Context, name string) error {
			ns := &corev1.Namespace{}
			ns.Name = name
			_, err := c.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
			return err
		})
		await(b, "every namespace has its service account and whom to trust", func() bool {
			accounts, err1 := c.CoreV1().ServiceAccounts("").List(b.Context(), metav1.ListOptions{Limit: 1})
			maps, err2 := c.CoreV1().ConfigMaps("").List(b.Context(), metav1.ListOptions{Limit: 1})
			return err1 == nil && err2 == nil && remaining(accounts.RemainingItemCount) >= int64(*benchNamespaces) &&
				remaining(maps.RemainingItemCount) >= int64(*benchNamespaces)
		})
		used := cpu(b, p.Process.Pid)
		b.StartTimer()
		each(func(ctx context.Context, name string) error {
			return c.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{})
		})
		await(b, "all are gone", func() bool { return count() == before })
		b.ReportMetric(float64((cpu(b, p.Process.Pid)-used).Milliseconds())/float64(*benchNamespaces), "cpu-ms/namespace")
	}
}

func remaining(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
