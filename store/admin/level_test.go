package admin

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// children are what Level visits, as lines.
func children(t *testing.T, e *etcd, prefix string, revision int64, budget Budget, most int) []string {
	t.Helper()
	out, _ := childrenFrom(t, e, prefix, "", revision, budget, most)
	return out
}

func childrenFrom(t *testing.T, e *etcd, prefix, from string, revision int64, budget Budget, most int) (out []string, next string) {
	t.Helper()
	next, err := e.live.Level(t.Context(), Section{prefix, from, revision, int64(most)}, &budget, func(c Child) {
		line := fmt.Sprintf("%s keys=%d bytes=%d rev=%d", c.Path, c.Keys, c.Bytes, c.Revision)
		if c.Measured != c.Keys {
			line += fmt.Sprintf(" of=%d", c.Measured)
		}
		if c.KV != nil {
			line += fmt.Sprintf(" created=%d version=%d value=%v", c.KV.CreateRevision, c.KV.Version, c.KV.Value != nil)
		}
		out = append(out, line)
	})
	if err != nil {
		t.Fatal(err)
	}
	return out, next
}

func TestLevel(t *testing.T) {
	e := newEtcd(t)
	var revisions []int64
	for _, key := range []string{
		"/registry/pods/a/one", "/registry/pods/a/two", "/registry/pods/b/one", "/registry/configmaps/a/x", "/registry/lonely",
		"/registry/pods!", "compact_rev_key", "/other/x", "\xff\xff/x",
	} {
		revisions = append(revisions, e.put(t, key, strings.Repeat("v", len(key))))
	}
	first := revisions[0]
	head := revisions[len(revisions)-1]
	all := Budget{Keys: 1000, Bytes: 1 << 20}
	rev := func(n int64) string { return fmt.Sprint(first + n) }

	for prefix, want := range map[string][]string{
		"": {
			"/other/ keys=1 bytes=8 rev=" + rev(7),
			"/registry/ keys=6 bytes=115 rev=" + rev(5),
			"compact_rev_key keys=1 bytes=15 rev=" + rev(6) + " created=" + rev(6) + " version=1 value=false",
			"\xff\xff/ keys=1 bytes=4 rev=" + rev(8),
		},
		"/registry/": {
			"/registry/configmaps/ keys=1 bytes=24 rev=" + rev(3),
			"/registry/lonely keys=1 bytes=16 rev=" + rev(4) + " created=" + rev(4) + " version=1 value=false",
			"/registry/pods! keys=1 bytes=15 rev=" + rev(5) + " created=" + rev(5) + " version=1 value=false",
			"/registry/pods/ keys=3 bytes=60 rev=" + rev(2),
		},
		"/registry/pods/a/": {
			"/registry/pods/a/one keys=1 bytes=20 rev=" + rev(0) + " created=" + rev(0) + " version=1 value=false",
			"/registry/pods/a/two keys=1 bytes=20 rev=" + rev(1) + " created=" + rev(1) + " version=1 value=false",
		},
		// A prefix that is no whole name goes on with its rest.
		"/registry/pods": {
			"/registry/pods! keys=1 bytes=15 rev=" + rev(5) + " created=" + rev(5) + " version=1 value=false",
			"/registry/pods/a/ keys=2 bytes=40 rev=" + rev(1),
			"/registry/pods/b/ keys=1 bytes=20 rev=" + rev(2),
		},
		"/nothing/": nil,
	} {
		got := children(t, e, prefix, head, all, 100)
		if !slices.Equal(got, want) {
			t.Errorf("below %q:\n%s\nwant\n%s", prefix, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		// In pages of one it is the same.
		var paged []string
		for from, more := "", len(got) > 0; more; more = from != "" {
			var page []string
			page, from = childrenFrom(t, e, prefix, from, head, all, 1)
			paged = append(paged, page...)
		}
		if !slices.Equal(paged, got) {
			t.Errorf("below %q in pages:\n%s", prefix, strings.Join(paged, "\n"))
		}
	}
	// As it was.
	if got := children(t, e, "/registry/", first+1, all, 100); len(got) != 1 || got[0] != "/registry/pods/ keys=2 bytes=40 rev="+rev(1) {
		t.Errorf("at %d: %q", first+1, got)
	}
}

// TestLevelBudget finds directories counted in whole and measured in part.
func TestLevelBudget(t *testing.T) {
	e := newEtcd(t)
	for i := range 600 {
		e.put(t, fmt.Sprintf("/big/a/%03d", i), "0123456789")
	}
	head := e.put(t, "/big/z", "0123456789")
	got := children(t, e, "/big/", head, Budget{Keys: 800, Bytes: 1 << 20}, 10)
	if len(got) != 2 || !strings.HasPrefix(got[0], "/big/a/ keys=600 bytes=2000 ") || !strings.HasSuffix(got[0], " of=200") {
		t.Errorf("200 keys could be measured: %q", got)
	}
	got = children(t, e, "/big/", head, Budget{Keys: 8000, Bytes: 400}, 10)
	if len(got) != 2 || !strings.HasSuffix(got[0], " of=10") {
		t.Errorf("100 bytes could be measured: %q", got)
	}
	// All 600 keys side by side.
	if got := children(t, e, "/big/a/", head, Budget{}, 1000); len(got) != 600 || !strings.HasPrefix(got[599], "/big/a/599 keys=1 bytes=10 ") {
		t.Errorf("%d keys, the last %q", len(got), got[len(got)-1])
	}
}

// TestLevelLarge: a directory that is larger than a page is counted by etcd, and what is behind it is found.
func TestLevelLarge(t *testing.T) {
	e := newEtcd(t)
	const batch = 100
	for i := 0; i < mostLevelKeys+3*batch; i += batch {
		var puts []clientv3.Op
		for j := range batch {
			puts = append(puts, clientv3.OpPut(fmt.Sprintf("/l/b/%06d", i+j), "v"))
		}
		if _, err := e.live.Client.Txn(t.Context()).Then(puts...).Commit(); err != nil {
			t.Fatal(err)
		}
	}
	e.put(t, "/l/a", "v")
	head := e.put(t, "/l/c/d", "v")
	for prefix, want := range map[string]string{
		"/l/": "/l/a 1, /l/b/ 50300, /l/c/ 1",
		"/":   "/l/ 50302",
		"":    "/l/ 50302",
	} {
		var got []string
		budget := Budget{Keys: 40, Bytes: 1 << 20}
		next, err := e.live.Level(t.Context(), Section{Prefix: prefix, Revision: head, Most: 10}, &budget, func(c Child) {
			got = append(got, fmt.Sprintf("%s %d", c.Path, c.Keys))
			if c.Measured > 10 || c.Measured == 0 {
				t.Errorf("%+v", c)
			}
		})
		if err != nil || next != "" || strings.Join(got, ", ") != want {
			t.Errorf("below %q: %q, next %q, %v", prefix, got, next, err)
		}
	}
}
