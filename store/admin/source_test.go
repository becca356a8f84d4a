package admin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

// story is what happened in an etcd: the values of its keys at every revision.
type story struct {
	states    []map[string]string // by revision
	compacted int64
}

func (s *story) head() int64 { return int64(len(s.states) - 1) }

// write makes a history of creates, updates and deletions, and compacts a part of it.
func write(t *testing.T, e *etcd) *story {
	t.Helper()
	s := &story{states: []map[string]string{{}, {}}}
	random := rand.New(rand.NewSource(3))
	next := func(change func(map[string]string)) {
		state := map[string]string{}
		for k, v := range s.states[len(s.states)-1] {
			state[k] = v
		}
		change(state)
		s.states = append(s.states, state)
	}
	for i := range 300 {
		key := fmt.Sprintf("/registry/%s/ns-%d/%d", []string{"pods", "podsx", "a-b"}[random.Intn(3)], random.Intn(3), random.Intn(8))
		if _, there := s.states[len(s.states)-1][key]; there && random.Intn(3) == 0 {
			e.del(t, key)
			next(func(state map[string]string) { delete(state, key) })
			continue
		}
		value := strings.Repeat("x", random.Intn(50)) + fmt.Sprint(i)
		e.put(t, key, value)
		next(func(state map[string]string) { state[key] = value })
	}
	s.compacted = 120
	if err := e.live.Compact(context.Background(), s.compacted); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSources compares an etcd, its snapshot, and its files after it was stopped, with what was written.
func TestSources(t *testing.T) {
	e, err := startEtcd(shortDir(t))
	if err != nil {
		t.Fatal(err)
	}
	s := write(t, e)
	t.Run("live", func(t *testing.T) { s.check(t, e.live) })
	snapshot := filepath.Join(t.TempDir(), "s.db")
	if _, err := e.live.SaveSnapshot(context.Background(), snapshot, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFile(e.dir); err == nil || !strings.Contains(err.Error(), "an etcd has it open") {
		t.Errorf("the files of an etcd that runs: %v", err)
	}
	e.stop()
	for name, path := range map[string]string{"snapshot": snapshot, "data directory": e.dir, "etcd's directory": filepath.Join(e.dir, "etcd")} {
		t.Run(name, func(t *testing.T) {
			f, err := OpenFile(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			s.check(t, f)
		})
	}
}

func (s *story) check(t *testing.T, source Source) {
	ctx := context.Background()
	head, err := source.Head(ctx)
	if err != nil || head.Revision != s.head() || head.Compacted != s.compacted {
		t.Fatalf("head %+v, %v: want %d, compacted %d", head, err, s.head(), s.compacted)
	}
	for revision := s.compacted; revision <= s.head(); revision += 17 {
		s.checkRange(t, source, revision, "", false)
		s.checkRange(t, source, revision, "/registry/pods/", true)
	}
	s.checkRange(t, source, 0, "", false)
	for i, key := range slices.Sorted(maps.Keys(s.keys())) {
		if i%10 == 0 {
			s.checkHistory(t, source, key)
		}
		for revision := s.compacted; revision <= s.head(); revision += 31 {
			kv, err := source.Get(ctx, key, revision)
			want, there := s.states[revision][key]
			if err != nil || there != (kv != nil) || there && (string(kv.Value) != want || kv.ModRevision > revision) {
				t.Errorf("%s at %d: %+v, %v: want %q", key, revision, kv, err, want)
			}
		}
	}
	for revision, want := range map[int64]error{s.compacted - 1: ErrCompacted, s.head() + 1: ErrFuture} {
		if _, err := source.Get(ctx, "/registry/pods/ns-0/0", revision); !errors.Is(err, want) {
			t.Errorf("revision %d: %v", revision, err)
		}
		if err := firstErr(source.Range(ctx, Range{Revision: revision})); !errors.Is(err, want) {
			t.Errorf("range of revision %d: %v", revision, err)
		}
	}
	var below []string
	for _, kv := range collect(t, Subtree(ctx, source, "/registry/pods", Range{KeysOnly: true})) {
		below = append(below, kv.Key)
	}
	if len(below) == 0 || slices.ContainsFunc(below, func(k string) bool { return !strings.HasPrefix(k, "/registry/pods/") }) {
		t.Errorf("below /registry/pods: %v", below)
	}
	if got := collect(t, Subtree(ctx, source, below[0], Range{})); len(got) != 1 || got[0].Key != below[0] || got[0].Value == nil {
		t.Errorf("below a key: %v", got)
	}
}

// keys are all that ever were.
func (s *story) keys() map[string]bool {
	out := map[string]bool{}
	for _, state := range s.states {
		for key := range state {
			out[key] = true
		}
	}
	return out
}

func (s *story) checkRange(t *testing.T, source Source, revision int64, prefix string, keysOnly bool) {
	t.Helper()
	state := s.states[len(s.states)-1]
	if revision > 0 {
		state = s.states[revision]
	}
	var want, got []string
	for key, value := range state {
		if keysOnly {
			value = ""
		}
		if strings.HasPrefix(key, prefix) {
			want = append(want, key+"="+value)
		}
	}
	for _, kv := range collect(t, source.Range(context.Background(), Range{Prefix: prefix, Revision: revision, KeysOnly: keysOnly})) {
		got = append(got, kv.Key+"="+string(kv.Value))
	}
	slices.SortFunc(want, func(a, b string) int {
		return strings.Compare(a[:strings.Index(a, "=")], b[:strings.Index(b, "=")])
	})
	if !slices.Equal(got, want) {
		t.Errorf("range %q at %d:\n%v\nwant\n%v", prefix, revision, got, want)
	}
}

func (s *story) checkHistory(t *testing.T, source Source, key string) {
	t.Helper()
	var want, got []string
	for revision := s.compacted; revision <= s.head(); revision++ {
		before, was := s.states[revision-1][key]
		now, is := s.states[revision][key]
		switch {
		case is && (revision == s.compacted || !was || before != now):
			want = append(want, now)
		case was && !is && revision > s.compacted:
			want = append(want, "(deleted)")
		}
	}
	for _, e := range collect(t, source.History(context.Background(), key)) {
		if e.Deleted {
			got = append(got, "(deleted)")
		} else {
			got = append(got, string(e.Value))
		}
	}
	// A deletion at the very revision of the compaction may be left.
	if len(got) == len(want)+1 && got[0] == "(deleted)" {
		got = got[1:]
	}
	if !slices.Equal(got, want) {
		t.Errorf("history of %s: %v, want %v", key, got, want)
	}
}

// TestPages has more and larger values than a page takes, and none of a size to guess.
func TestPages(t *testing.T) {
	e := sharedEtcd(t)
	defer e.del(t, "/pages/")
	for i := range 40 {
		e.put(t, fmt.Sprintf("/pages/%03d", i), strings.Repeat("x", 300<<10))
	}
	for i := 40; i < 1000; i++ {
		e.put(t, fmt.Sprintf("/pages/%03d", i), "")
	}
	for _, revision := range []int64{0, collect(t, e.live.Range(context.Background(), Range{Prefix: "/pages/999"}))[0].ModRevision} {
		i := 0
		for kv, err := range e.live.Range(context.Background(), Range{Prefix: "/pages/", Revision: revision}) {
			if err != nil || kv.Key != fmt.Sprintf("/pages/%03d", i) {
				t.Fatalf("%d: %s, %v", i, kv.Key, err)
			}
			if i == 0 { // all pages have the revision of the first
				e.put(t, "/pages/later", "")
			}
			i++
		}
		if i != 1000 {
			t.Errorf("%d keys, want 1000", i)
		}
	}
}

func TestWatch(t *testing.T) {
	e := sharedEtcd(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	first := e.put(t, "/watched/a", "0")
	ready := func() {
		e.put(t, "/watchedx", "no")
		e.put(t, "/watched/a", "1")
		e.del(t, "/watched/a")
	}
	var got []string
	for event, err := range e.live.Watch(ctx, "/watched", first, ready) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s=%s %t", event.Key, event.Value, event.Deleted))
		if event.Deleted {
			break
		}
	}
	if want := []string{"/watched/a=0 false", "/watched/a=1 false", "/watched/a= true"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	got = nil
	for event, err := range e.live.WatchPrefix(ctx, "/watch", first, nil) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, event.Key)
		if event.Deleted {
			break
		}
	}
	if want := []string{"/watched/a", "/watchedx", "/watched/a", "/watched/a"}; !slices.Equal(got, want) {
		t.Errorf("with the prefix /watch: %v, want %v", got, want)
	}
}

func TestConnectFails(t *testing.T) {
	dir := shortDir(t)
	notCA := filepath.Join(dir, "ca")
	if err := os.WriteFile(notCA, []byte("no"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, endpoint := range map[string]Endpoint{
		"cannot be reached":    {URLs: []string{"unix://" + filepath.Join(dir, "none.sock")}},
		"holds no certificate": {URLs: []string{"https://127.0.0.1:1"}, CAFile: notCA},
		"no such file":         {URLs: []string{"https://127.0.0.1:1"}, CertFile: filepath.Join(dir, "none"), KeyFile: notCA},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		if _, err := Connect(ctx, endpoint); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), endpoint.URLs[0]) {
			t.Errorf("%v: %v, want %q", endpoint, err, want)
		}
		cancel()
	}
}

// TestOpenFails has files that are no database of etcd, and such that are cut off or changed.
func TestOpenFails(t *testing.T) {
	e := sharedEtcd(t)
	dir := t.TempDir()
	snapshot := filepath.Join(dir, "s.db")
	e.put(t, "/damaged", strings.Repeat("x", 100<<10))
	if _, err := e.live.SaveSnapshot(context.Background(), snapshot, nil); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	other := filepath.Join(dir, "other.db")
	db, err := bolt.Open(other, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	for want, path := range map[string]string{
		"no such file":           filepath.Join(dir, "none"),
		"no data directory":      dir,
		"no database of etcd":    file("text", []byte("hello")),
		"not one of etcd":        other,
		"is cut off":             file("half", whole[:len(whole)/2&^4095]),
		"not the one at its end": file("changed", append([]byte{}, changed(whole)...)),
	} {
		if _, err := SnapshotStatus(context.Background(), path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", filepath.Base(path), err, want)
		}
	}
}

func changed(data []byte) []byte {
	out := slices.Clone(data)
	out[len(out)-100] ^= 1
	return out
}

func TestParseRevision(t *testing.T) {
	head := Head{Revision: 100, Compacted: 40}
	for text, want := range map[string]int64{"50": 50, "100": 100, "-0": 100, "-10": 90, "-60": 40, "40": 40, "+50": 50} {
		if got, err := ParseRevision(text, head); err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "x", "39", "-61", "101", "0", "5x", "-"} {
		if got, err := ParseRevision(text, head); err == nil {
			t.Errorf("%s: %d", text, got)
		}
	}
	_, err := ParseRevision("-50", Head{Revision: 20})
	if err == nil || err.Error() != "revision -50 is before the first: it has 1 to 20" {
		t.Errorf("before the first: %v", err)
	}
}
