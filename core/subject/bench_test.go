package subject_test

import (
	"fmt"
	"testing"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/subject"
	"github.com/kx-apiserver/kx/core/trace"
)

// BenchmarkMatch matches 50,000 journeys of 23 steps.
func BenchmarkMatch(b *testing.B) {
	verbs := []string{"get", "list", "update", "patch"}
	all := make([]*v1alpha1.Journey, 50_000)
	for i := range all {
		j := &v1alpha1.Journey{
			Spec: v1alpha1.JourneySpec{
				Method: "PUT", URI: fmt.Sprintf("/api/v1/namespaces/n%d/configmaps/c%d", i%50, i), Verb: verbs[i%len(verbs)], Version: "v1",
				Resource: "configmaps", Namespace: fmt.Sprint("n", i%50), Name: fmt.Sprint("c", i), User: "alice", UserAgent: "kubectl/v1.37.1 (linux/amd64)",
				SourceIP: "127.0.0.1", AuditID: fmt.Sprint("a-", i),
			},
			Status: v1alpha1.JourneyStatus{Phase: v1alpha1.JourneyComplete, TookMicros: int64(i % 9000), Code: 200 + int32(i%3)*102},
		}
		j.Name = fmt.Sprint("p-", i)
		for s := range 23 {
			step := v1alpha1.Step{ID: fmt.Sprint("store.step-", s), Layer: "store", Subject: "/configmaps/n/c", TookNanos: int64(s) * 1000}
			if s == 20 && i%10 == 0 {
				step.ID, step.Why = "etcd.txn", fmt.Sprint("attempt ", i%3)
			}
			j.Status.Steps = append(j.Status.Steps, step)
		}
		all[i] = j
	}
	for _, text := range []string{
		"verb:update", "verb:update resource:configmaps code:404", "dur>5ms !user:system:*", "name:c4999*", "c4999",
		"step:etcd.txn", `step:etcd.* why:"attempt 2"`, "verb:update step:etcd.txn", "key:/registry/pods",
		`step(etcd.* why:"attempt 2")`, "store.* -> etcd.txn", "steps(layer:store)>20", "touched:spec.replicas", "after:p-40000",
	} {
		f, err := filter.Parse(text, trace.Names)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n = 0
				for _, j := range all {
					if f.Match(subject.NewSubject(j)) {
						n++
					}
				}
			}
			b.ReportMetric(float64(n), "matches")
		})
	}
}
