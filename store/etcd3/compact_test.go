package etcd3_test

import (
	"errors"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"

	"github.com/kx-apiserver/kx/store/embedded/embedtest"
	"github.com/kx-apiserver/kx/store/etcd3"
)

// write makes a revision.
func write(t *testing.T, client *clientv3.Client) int64 {
	t.Helper()
	resp, err := client.Put(t.Context(), "anything", "x")
	if err != nil {
		t.Fatal(err)
	}
	return resp.Header.Revision
}

// TestCompactIsAgreedOn lets two processes act by turns, on what each knows.
func TestCompactIsAgreedOn(t *testing.T) {
	client := embedtest.New(t).Client()
	defer func() { _ = client.Close() }()
	type knowledge struct{ version, revision int64 }
	var a, b knowledge
	compact := func(k *knowledge) (compacted int64) {
		t.Helper()
		var err error
		k.version, k.revision, compacted, err = etcd3.Compact(t.Context(), client, k.version, k.revision)
		if err != nil {
			t.Fatal(err)
		}
		return compacted
	}
	// The first one compacts nothing, since it does not know what an interval ago was.
	if compacted := compact(&a); compacted != 0 || a.version != 1 {
		t.Errorf("a: compacted %d, version %d", compacted, a.version)
	}
	remembered := a.revision
	if compacted := compact(&b); compacted != 0 || b.version != 1 {
		t.Errorf("b was second: compacted %d, version %d", compacted, b.version)
	}
	write(t, client)
	if compacted := compact(&a); compacted != remembered || a.version != 2 {
		t.Errorf("a: compacted %d, version %d, want %d, 2", compacted, a.version, remembered)
	}
	if compacted := compact(&b); compacted != remembered || b.version != 2 {
		t.Errorf("b was second: saw %d, version %d, want %d, 2", compacted, b.version, remembered)
	}
	// a is gone. b goes on with what it remembers.
	remembered = b.revision
	late := write(t, client)
	if compacted := compact(&b); compacted != remembered {
		t.Errorf("b: compacted %d, want %d", compacted, remembered)
	}
	if _, err := client.Get(t.Context(), "anything", clientv3.WithRev(late)); err != nil {
		t.Errorf("revision %d is gone: %v", late, err)
	}
	// Somebody removed the key: the clock begins anew, and nothing is compacted for it.
	if _, err := client.Delete(t.Context(), "compact_rev_key"); err != nil {
		t.Fatal(err)
	}
	if compacted := compact(&b); compacted != 0 || b.version != 0 {
		t.Errorf("without the key: compacted %d, version %d", compacted, b.version)
	}
	// What is no revision says nothing.
	if _, err := client.Put(t.Context(), "compact_rev_key", "garbage"); err != nil {
		t.Fatal(err)
	}
	if compacted := compact(&b); compacted != 0 || b.version != 1 {
		t.Errorf("with garbage: compacted %d, version %d", compacted, b.version)
	}
}

func TestCompactorCompactsAndSees(t *testing.T) {
	server := embedtest.New(t)
	before := goleak.IgnoreCurrent()
	client := server.Client()
	write(t, client)
	compacting := etcd3.StartCompactor(client, time.Millisecond, nil, nil)
	seeing := etcd3.StartCompactor(client, 0, nil, nil)
	for deadline := time.Now().Add(3 * time.Minute); compacting.CompactRevision() == 0 || seeing.CompactRevision() == 0; {
		if time.Now().After(deadline) {
			t.Fatalf("compacted %d, seen %d", compacting.CompactRevision(), seeing.CompactRevision())
		}
		write(t, client)
	}
	compacting.Stop()
	compacting.Stop()
	seeing.Stop()
	_ = client.Close()
	goleak.VerifyNone(t, before)
}

// TestPins: a compactor leaves what is pinned, until it no longer is.
func TestPins(t *testing.T) {
	client := embedtest.New(t).Client()
	defer func() { _ = client.Close() }()
	pinned := write(t, client)
	pins := &etcd3.Pins{}
	remove := pins.Add(pinned)
	pins.Add(pinned + 1)() // another one comes and goes
	compacting := etcd3.StartCompactor(client, time.Millisecond, pins, nil)
	defer compacting.Stop()
	for range 200 { // rounds of the compactor
		write(t, client)
		if _, err := client.Get(t.Context(), "anything", clientv3.WithRev(pinned)); err != nil {
			t.Fatalf("revision %d: %v", pinned, err)
		}
	}
	remove()
	for deadline := time.Now().Add(3 * time.Minute); compacting.CompactRevision() <= pinned; {
		if time.Now().After(deadline) {
			t.Fatalf("compacted %d", compacting.CompactRevision())
		}
		write(t, client)
	}
}

// TestCompactNow compacts beside a compactor, which sees it.
func TestCompactNow(t *testing.T) {
	client := embedtest.New(t).Client()
	defer func() { _ = client.Close() }()
	seeing := etcd3.StartCompactor(client, 0, nil, nil)
	defer seeing.Stop()
	first := write(t, client)
	last := write(t, client)
	done, err := etcd3.CompactNow(t.Context(), client, 0)
	if err != nil || done != last {
		t.Fatalf("compacted %d, want %d: %v", done, last, err)
	}
	for deadline := time.Now().Add(3 * time.Minute); seeing.CompactRevision() != last; {
		if time.Now().After(deadline) {
			t.Fatalf("seen %d", seeing.CompactRevision())
		}
		write(t, client)
	}
	if _, err := client.Get(t.Context(), "anything", clientv3.WithRev(first)); !errors.Is(err, rpctypes.ErrCompacted) {
		t.Errorf("revision %d: %v", first, err)
	}
	for _, none := range []int64{first, last, 1 << 40} {
		if _, err := etcd3.CompactNow(t.Context(), client, none); !errors.Is(err, etcd3.ErrNoRevision) {
			t.Errorf("revision %d: %v", none, err)
		}
	}
	next := write(t, client)
	if done, err := etcd3.CompactNow(t.Context(), client, next); err != nil || done != next {
		t.Errorf("compacted %d, want %d: %v", done, next, err)
	}
	// Somebody compacts who does not know of the agreement.
	next = write(t, client)
	if _, err := client.Compact(t.Context(), write(t, client)); err != nil {
		t.Fatal(err)
	}
	if _, err := etcd3.CompactNow(t.Context(), client, next); !errors.Is(err, etcd3.ErrNoRevision) {
		t.Errorf("revision %d, which somebody else compacted: %v", next, err)
	}
}
