package schema

import (
	"context"
	"sync"
	"testing"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
)

// TestSharedByRequests uses one Schema, not used before, from many goroutines: what is compiled lazily is compiled by one
// of them, and all find the same.
func TestSharedByRequests(t *testing.T) {
	s, obj := compile(t, routeYAML()), thing(t, routeObject())
	obj["spec"].(map[string]any)["hosts"] = []any{"*", "a", "a"}
	const twice, rule = `spec.hosts[2]: Duplicate value: "a"`, `spec: Invalid value: failed rule: self.hosts.all(h, h != '*')`
	var wg sync.WaitGroup
	for range 16 {
		copied := apiruntime.DeepCopyJSON(obj)
		wg.Go(func() {
			for range 5 {
				if _, err := s.Prune(context.Background(), copied, PruneOptions{}); err != nil {
					t.Error(err)
				}
				s.Default(context.Background(), copied)
				if got := lines(s.Validate(context.Background(), copied, ExtraErrors{})); got != twice+"\n"+rule {
					t.Errorf("create: %s", got)
				}
				if got := lines(s.ValidateUpdate(context.Background(), copied, obj, ExtraErrors{})); got != rule {
					t.Errorf("update: %s", got)
				}
			}
		})
	}
	wg.Wait()
}
