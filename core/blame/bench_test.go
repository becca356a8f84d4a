package blame

import (
	"encoding/json"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

// BenchmarkJourney is an update of an object with very many fields, of which all changed.
func BenchmarkJourney(b *testing.B) {
	j := recorded(b)["rec-7"]
	for i := range j.Status.Steps {
		s := &j.Status.Steps[i]
		for _, object := range []*runtime.RawExtension{s.Before, s.After} {
			if object == nil {
				continue
			}
			var o map[string]any
			if err := json.Unmarshal(object.Raw, &o); err != nil {
				b.Fatal(err)
			}
			data := o["data"].(map[string]any)
			for n := range 3000 {
				data[fmt.Sprint("key-", n)] = data["a"]
			}
			object.Raw, _ = json.Marshal(o)
		}
	}
	for b.Loop() {
		if r, err := Journey(j); err != nil || len(r.Fields) != fieldsMost {
			b.Fatal(len(r.Fields), err)
		}
	}
}
