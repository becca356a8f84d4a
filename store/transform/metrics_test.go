package transform_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/store/transform"
)

// counted is the metrics of transformations: the value of a counter, how often a histogram was fed.
func counted(t *testing.T, registry prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		name, ours := strings.CutPrefix(family.GetName(), "apiserver_storage_transformation_")
		if !ours {
			continue
		}
		for _, m := range family.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			values[fmt.Sprintf("%s{%s}", name, strings.Join(labels, ","))] = m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return values
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	resources := config(t, `{"aesgcm":{"keys":[{"name":"measured","secret":"KEY1"}]}},{"identity":{}}`)
	resources.Measure(transform.NewMetrics(registry))
	secrets := resources.ForResource(schema.GroupResource{Resource: "secrets"})
	stored, err := secrets.TransformToStorage(t.Context(), []byte("value"), at)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, _, err := secrets.TransformFromStorage(t.Context(), stored, at); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := secrets.TransformFromStorage(t.Context(), []byte("plain"), at); err != nil {
		t.Fatal(err)
	}
	for _, unreadable := range []string{string(stored) + "x", "k8s:enc:secretbox:v1:measured:x"} {
		if _, _, err := secrets.TransformFromStorage(t.Context(), []byte(unreadable), at); err == nil {
			t.Fatalf("%q was read", unreadable)
		}
	}
	got := counted(t, registry)
	labels := func(status, direction, prefix string) string {
		return fmt.Sprintf("operations_total{resource=secrets,status=%s,transformation_type=%s,transformer_prefix=%s}", status, direction, prefix)
	}
	took := func(direction, prefix string) string {
		return fmt.Sprintf("duration_seconds{transformation_type=%s,transformer_prefix=%s}", direction, prefix)
	}
	const gcm, key = "k8s:enc:aesgcm:v1:", "measured:"
	want := map[string]float64{
		labels("OK", "to_storage", gcm): 1, took("to_storage", gcm): 1,
		labels("OK", "to_storage", key): 1, took("to_storage", key): 1,
		labels("OK", "from_storage", gcm): 2, took("from_storage", gcm): 2,
		labels("OK", "from_storage", key): 2, took("from_storage", key): 2,
		labels("OK", "from_storage", "identity"): 1, took("from_storage", "identity"): 1,
		// The provider and its key fail; the identity, which refuses what is encrypted, is not counted.
		labels("unknown-non-grpc", "from_storage", gcm):       1,
		labels("unknown-non-grpc", "from_storage", key):       1,
		labels("unknown-non-grpc", "from_storage", "unknown"): 1,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
