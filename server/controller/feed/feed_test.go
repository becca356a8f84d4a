package feed_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/embedded"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
	"github.com/kx-apiserver/kx/store/etcd3"
)

func TestMain(m *testing.M) { embedtest.Main(m) }

// patience is how long a test waits for what must happen.
const patience = 5 * time.Minute

// told is a follower that tells what it was told.
type told struct {
	resource schema.GroupResource
	lines    chan string
	// panics is the key at which it panics, once.
	panics string
}

func (f *told) Begin()    { f.lines <- "begin" }
func (f *told) End(int64) { f.lines <- "end" }

func (f *told) Put(p feed.Pair) {
	if p.Key == f.panics {
		f.panics = ""
		panic("odd input")
	}
	namespace, name := p.Name(f.resource)
	value := "gone"
	if p.Value != nil {
		value = fmt.Sprintf("%q", p.Value)
	}
	f.lines <- fmt.Sprintf("%s/%s %s %v", namespace, name, value, p.Changed)
}

// until reads lines up to one, and returns them.
func (f *told) until(t *testing.T, last string) (lines []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		select {
		case line := <-f.lines:
			lines = append(lines, line)
			if line == last {
				return lines
			}
		case <-ctx.Done():
			t.Fatalf("it was told %q, and not %s", lines, last)
		}
	}
}

// TestFeed follows resources with keys of all forms, over a look, changes, a compaction that ends the watch, and a panic.
func TestFeed(t *testing.T) {
	client := embedtest.New(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	put := func(key, value string) {
		t.Helper()
		if _, err := client.Put(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
	}
	put("/r/configmaps/a/x", "1")
	put("/r/services/specs/a/s", "2")
	put("/r/minions/n", "3")
	put("/r/example.com/pandas/a/p", "4")
	put("/r/example.com/others/a/p", "5")
	put("/r/services/endpoints/a/s", "6")
	put("/else", "7")
	put("/r/bare", "8")

	from := feed.New(&admin.Live{Client: client}, &admin.Decoder{Prefix: "/r"}, slog.New(slog.DiscardHandler))
	followers := map[string]*told{}
	for _, r := range []schema.GroupResource{{Resource: "configmaps"}, {Resource: "services"}, {Resource: "nodes"}, {Group: "example.com", Resource: "pandas"}} {
		followers[r.Resource] = &told{resource: r, lines: make(chan string, 100)}
		from.Follow(followers[r.Resource], r)
	}
	all := &told{lines: make(chan string, 100)}
	from.Follow(all)
	if from.Looked() {
		t.Error("it has not looked yet")
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		from.Run(ctx)
	}()
	for name, want := range map[string]string{"configmaps": `a/x "1" false`, "services": `a/s "2" false`, "nodes": `/n "3" false`, "pandas": `a/p "4" false`} {
		if got := followers[name].until(t, "end"); !slices.Equal(got, []string{"begin", want, "end"}) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := all.until(t, "end"); len(got) != 9 {
		t.Errorf("a follower of all was told %q", got)
	}
	// It is true once all were told, so a moment after the last of them was.
	for end := time.Now().Add(patience); !from.Looked(); {
		if time.Now().After(end) {
			t.Fatal("it has looked, and does not say so")
		}
		<-time.After(time.Millisecond) // leaves the processor to the feed
	}

	put("/r/configmaps/a/x", "9")
	put("/r/configmaps/a/x", "")
	if _, err := client.Delete(t.Context(), "/r/configmaps/a/x"); err != nil {
		t.Fatal(err)
	}
	if got := followers["configmaps"].until(t, `a/x gone true`); !slices.Equal(got, []string{`a/x "9" true`, `a/x "" true`, `a/x gone true`}) {
		t.Errorf("%q", got)
	}

	followers["nodes"].panics = "minions/odd"
	put("/r/minions/odd", "10")
	if got := followers["nodes"].until(t, "end"); !slices.Equal(got, []string{"begin", `/n "3" false`, `/odd "10" false`, "end"}) {
		t.Errorf("after a panic: %q", got)
	}
	stop()
	<-ended
}

// TestOnly follows a part of the keys: nothing else is read or told.
func TestOnly(t *testing.T) {
	client := embedtest.New(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	put := func(key string) {
		t.Helper()
		if _, err := client.Put(t.Context(), key, "1"); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"/r/clusterroles/a", "/r/clusterrolebindings/b", "/r/roles/x/c", "/r/configmaps/x/d"} {
		put(key)
	}
	from := feed.New(&admin.Live{Client: client}, &admin.Decoder{Prefix: "/r"}, slog.New(slog.DiscardHandler)).Only("clusterrole")
	all := &told{lines: make(chan string, 100)}
	from.Follow(all)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		from.Run(ctx)
	}()
	if got := all.until(t, "end"); len(got) != 4 {
		t.Errorf("%q", got)
	}
	put("/r/roles/x/e")
	put("/r/clusterroles/f")
	if got := <-all.lines; got != `/f "1" true` && got != `clusterroles/f "1" true` {
		t.Errorf("%q", got)
	}
	stop()
	<-ended
}

// TestPaths has followers get whole keys, whichever slashes the prefix has: values are encrypted for their keys.
func TestPaths(t *testing.T) {
	for _, prefix := range []string{"/", "/r", "/r/s"} {
		client := embedtest.New(t).Client()
		t.Cleanup(func() { _ = client.Close() })
		key := strings.TrimSuffix(prefix, "/") + "/configmaps/a/x"
		if _, err := client.Put(t.Context(), key, "1"); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		found := make(chan feed.Pair, 1)
		from := feed.New(&admin.Live{Client: client}, &admin.Decoder{Prefix: prefix}, slog.New(slog.DiscardHandler))
		from.Follow(pairs(found))
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			from.Run(ctx)
		}()
		if p := <-found; p.Path != key || p.Key != "configmaps/a/x" {
			t.Errorf("below %s, %s is %q with the key %q", prefix, key, p.Path, p.Key)
		}
		stop()
		<-ended
	}
}

// pairs is a follower that passes on what it gets.
type pairs chan feed.Pair

func (f pairs) Begin()          {}
func (f pairs) Put(p feed.Pair) { f <- p }
func (f pairs) End(int64)       {}

// TestAnotherEtcd puts another etcd in the place of the one that a feed follows, as a restore from a backup does. It has
// passed the feed's revision already, so a watch that goes on from there misses what is different.
func TestAnotherEtcd(t *testing.T) {
	listening := func() *embedded.Server {
		server, err := embedded.Start(t.Context(), embedded.Config{Dir: t.TempDir(), Ephemeral: true, Listen: []string{"http://127.0.0.1:0"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		return server
	}
	fill := func(server *embedded.Server, key string, writes int) {
		client := server.Client()
		defer func() { _ = client.Close() }()
		for i := range writes {
			if _, err := client.Put(t.Context(), []string{key, "/others"}[min(i, 1)], "1"); err != nil {
				t.Fatal(err)
			}
		}
	}
	old, restored := listening(), listening()
	fill(old, "/r/configmaps/a/lost", 5)
	fill(restored, "/r/configmaps/a/kept", 20)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + old.Addrs()[0].String()}, DialTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	client.Watcher = etcd3.NewWatcher(client)

	follower := &told{resource: schema.GroupResource{Resource: "configmaps"}, lines: make(chan string, 100)}
	from := feed.New(&admin.Live{Client: client}, &admin.Decoder{Prefix: "/r"}, slog.New(slog.DiscardHandler))
	from.Follow(follower, follower.resource)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		from.Run(ctx)
	}()
	if lines := follower.until(t, "end"); !slices.Contains(lines, `a/lost "1" false`) {
		t.Errorf("at first it was told %q", lines)
	}
	fill(old, "/r/configmaps/a/lost", 1)
	follower.until(t, `a/lost "1" true`) // the watch has begun
	client.SetEndpoints("http://" + restored.Addrs()[0].String())
	old.Close()
	if lines := follower.until(t, "end"); !slices.Contains(lines, `a/kept "1" false`) {
		t.Errorf("of the other etcd it was told %q", lines)
	}
	stop()
	<-ended
}
