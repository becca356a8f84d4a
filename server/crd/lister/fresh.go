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
	// readsMost is how many names are read at a time.
	readsMost = 8
	// longestRead is how long etcd may take to answer.
	longestRead = 10 * time.Second
)

// reads are those of GetFresh that are under way, and those that wait for them.
type reads struct {
	slots chan struct{}

	mu sync.Mutex
	// next has, by name, the read that has not begun yet, so that whoever comes now may share it; there is one for each
	// name that a request is waiting for.
	next map[string]*read
	// running has the one that is under way.
	running map[string]*read
}

// read is a read of one name, for all who asked before it began.
type read struct {
	done       chan struct{}
	definition *Definition
	err        error
}

func newReads() reads {
	return reads{slots: make(chan struct{}, readsMost), next: map[string]*read{}, running: map[string]*read{}}
}

// GetFresh reads a definition from etcd. That there is none is a NotFound error.
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

// errNotBegun is the end of a read whose first asker gave up before its turn came.
var errNotBegun = errors.New("the read was not begun")

// join returns the next read of name, whether the caller is the first who asks for it and so has to do it, and what it
// must wait for before.
func (r *reads) join(name string) (next *read, first bool, before *read) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if next = r.next[name]; next != nil {
		return next, false, nil
	}
	next = &read{done: make(chan struct{})}
	r.next[name] = next
	return next, true, r.running[name]
}

// begin waits for its turn, and reads.
func (l *Lister) begin(ctx context.Context, name string, r *read, before *read) (*Definition, error) {
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
	l.reads.begun(name, r)
	defer l.reads.ended(name, r)
	// Others wait for the same: that one of them goes away must not fail it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestRead)
	defer cancel()
	r.definition, r.err = l.read(ctx, name)
	return r.definition, r.err
}

func (r *reads) giveUp(name string, gone *read, ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.next, name)
	gone.err = errNotBegun
	return ctx.Err()
}

func (r *reads) begun(name string, now *read) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.next, name)
	r.running[name] = now
}

func (r *reads) ended(name string, now *read) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running[name] == now {
		delete(r.running, name)
	}
}

// read reads name and makes it known.
func (l *Lister) read(ctx context.Context, name string) (*Definition, error) {
	obj, err := l.crds.Get(as(ctx, "get", name), name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	in, err := builtin.As[*apiextensions.CustomResourceDefinition](obj)
	if err != nil {
		return nil, err
	}
	d, err := toV1(in)
	if err != nil {
		return nil, err
	}
	l.learned(d)
	return d, nil
}
