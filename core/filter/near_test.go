package filter_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/filter"
)

func TestNames(t *testing.T) {
	all := []string{"store.get", "store.list", "etcd3.get", "etcd.get", "etcd.txn", "handler.get", "POST", "PUT", "watch-cache", "ns"}
	for name, want := range map[string][]string{
		"store.gett":              {"store.get", "store.list"},
		"etcd.txxn":               {"etcd.txn"},
		"txxn":                    {"etcd.txn"},
		"STORE.GET":               {"store.get", "store.list"},
		"watchcache":              {"watch-cache"},
		"PSOT":                    {"POST"},
		"watch":                   {"watch-cache"},
		"kubelet":                 nil,
		"":                        nil,
		"é":                       nil,
		strings.Repeat("x", 9999): nil,
	} {
		got := filter.Near(name, all)
		if len(got) > 3 || !slices.Equal(got[:min(len(got), len(want))], want) || want == nil && got != nil {
			t.Errorf("%.20q is near to %q, want %q", name, got, want)
		}
	}
	if got := filter.Near("store.lost", []string{"store.list", "store.last", "store.lust", "store.lest"}); len(got) != 3 {
		t.Errorf("%q are too many, or too few", got)
	}
}
