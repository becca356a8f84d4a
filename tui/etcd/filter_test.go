package etcd

import (
	"testing"

	"github.com/kx-apiserver/kx/core/filter"
)

// TestWord: what a filter is made of can be read as one.
func TestWord(t *testing.T) {
	for value, want := range map[string]string{"web-1.example": "web-1.example", "system:node": `"system:node"`, "a b": `"a b"`, `a"b`: `"a\"b"`} {
		got := word(value)
		if got != want {
			t.Errorf("%s: %s, want %s", value, got, want)
		}
		if _, err := filter.Parse("resource:pods name:" + got); err != nil {
			t.Errorf("%s: %v", value, err)
		}
	}
}
