package lister

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/builtin"
)

const (
	// readsMost limits concurrent reads of different names.
	readsMost = 8
	// longestRead limits the duration of one read.
	longestRead = 10 * time.Second
)

// reads holds the current and the waiting reads of GetFresh. mu guards next and running.
type reads struct {
	slots chan struct{}

	mu sync.Mutex
	// next holds the reads that have not begun, by name, so that new requests can share them. Each name with
	// waiting requests has one.
	next map[string]*nameRead
	// running holds the reads that have begun, by name.
	running map[string]*nameRead
}

// nameRead is a read of one name, for all requests that arrived before it began.
type nameRead struct {
	done       chan struct{}
	definition *Definition
	err        error
}

func newReads() reads {
	return reads{slots: make(chan struct{}, readsMost), next: map[string]*nameRead{}, running: map[string]*nameRead{}}
}

// GetFresh reads a definition from etcd. The error is NotFound if there is none.
func (l *Lister) GetFresh(ctx context.Context, name string) (*Definition, error) {
	for {
		r, first, before := l.reads.join(name)
		if first {
			return l.begin(ctx, name, r, before)
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if !errors.Is(r.err, errNotBegun) {
			return r.definition, r.err
		}
	}
}

// errNotBegun ends a read whose first request gave up before the read began.
var errNotBegun = errors.New("the read was not begun")

// join returns the next read of name. The first caller has to perform it, after the read before it ends.
func (r *reads) join(name string) (next *nameRead, first bool, before *nameRead) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if next = r.next[name]; next != nil {
		return next, false, nil
	}
	next = &nameRead{done: make(chan struct{})}
	r.next[name] = next
	return next, true, r.running[name]
}

// begin waits for the previous read and for a slot, and reads.
func (l *Lister) begin(ctx context.Context, name string, r *nameRead, before *nameRead) (*Definition, error) {
	defer close(r.done)
	if before != nil {
		select {
		case <-before.done:
		case <-ctx.Done():
			return nil, l.reads.giveUp(name, r, ctx)
		}
	}
	select {
	case l.reads.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, l.reads.giveUp(name, r, ctx)
	}
	defer func() { <-l.reads.slots }()
	l.reads.begin(name, r)
	defer l.reads.end(name, r)
	// Others wait for the same read: it must not fail because one of them leaves.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestRead)
	defer cancel()
	r.definition, r.err = l.read(ctx, name)
	return r.definition, r.err
}

func (r *reads) giveUp(name string, gone *nameRead, ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.next, name)
	gone.err = errNotBegun
	return ctx.Err()
}

func (r *reads) begin(name string, now *nameRead) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.next, name)
	r.running[name] = now
}

func (r *reads) end(name string, now *nameRead) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running[name] == now {
		delete(r.running, name)
	}
}

// read reads name and stores the result.
func (l *Lister) read(ctx context.Context, name string) (*Definition, error) {
	obj, err := l.crds.Get(as(ctx, "get", name), name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	in, err := builtin.As[*apiextensions.CustomResourceDefinition](obj)
	if err != nil {
		return nil, err
	}
	if in.Name != name {
		return nil, builtin.ErrNameless
	}
	d, err := toV1(in)
	if err != nil {
		return nil, err
	}
	l.store(d)
	return d, nil
}
