package kxapi

import (
	"cmp"
	"context"
	"slices"
	"time"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/watch"
)

// ruleFollower is one watch of breakpoints or faults. Only follow touches sent.
type ruleFollower struct {
	versionFeed
	rules   *rules
	options *metainternalversion.ListOptions

	sent uint64 // the version up to which everything is sent
}

// watch sends MODIFIED after one or more hits of an object's rule.
func (r *rules) watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	_, last, _ := r.after(0)
	start, initial, err := r.start(options, last)
	if err != nil {
		return nil, err
	}
	if _, _, ok := r.after(start); !ok && !initial {
		return nil, expired("too old resource version: %s", options.ResourceVersion)
	}
	r.countWatches(1)
	f := &ruleFollower{versionFeed: versionFeed{events: make(chan watch.Event)}, rules: r, options: options, sent: start}
	ctx, f.stop = context.WithCancel(ctx)
	go f.follow(ctx, initial)
	return f, nil
}

// countWatches counts the watches. No lease ends while there are any.
func (r *rules) countWatches(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watches += n
	r.tendedAt = time.Now()
}

// ruleChange is a change at a version.
type ruleChange struct {
	entry     *ruleEntry
	version   uint64
	eventType watch.EventType
}

// after returns the changes after version seq, and the latest version. ok is false if some of the changes are not kept
// any more.
func (r *rules) after(seq uint64) (changes []ruleChange, now uint64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if seq < r.lost {
		return nil, r.last, false
	}
	for _, e := range r.deleted {
		if e.created > seq { // the creating client may wait for its deletion
			changes = append(changes, ruleChange{e, e.created, watch.Added})
		}
		if e.version > seq {
			changes = append(changes, ruleChange{e, e.version, watch.Deleted})
		}
	}
	for _, e := range r.entries {
		switch {
		case e.created > seq:
			changes = append(changes, ruleChange{e, e.version, watch.Added})
		case e.version > seq:
			changes = append(changes, ruleChange{e, e.version, watch.Modified})
		}
	}
	slices.SortFunc(changes, func(a, b ruleChange) int { return cmp.Compare(a.version, b.version) })
	return changes, r.last, true
}

// wait waits for a change after version seq. It returns false if ctx ends first.
func (r *rules) wait(ctx context.Context, seq uint64) bool {
	r.mu.Lock()
	wake, last := r.wake, r.last
	r.mu.Unlock()
	if last > seq {
		return true
	}
	select {
	case <-wake:
		return true
	case <-ctx.Done():
		return false
	}
}

func (f *ruleFollower) follow(ctx context.Context, initial bool) {
	defer f.rules.countWatches(-1)
	defer close(f.events)
	defer f.stop()
	if initial && !f.sendAll(ctx) {
		return
	}
	f.run(ctx, func(ctx context.Context) bool { return f.rules.wait(ctx, f.sent) }, f.sendNew)
}

// sendAll sends the existing objects, and then a bookmark if the client asked for one.
func (f *ruleFollower) sendAll(ctx context.Context) bool {
	entries, last := f.rules.selectEntries(f.options)
	f.sent = last
	for _, e := range entries {
		if !f.send(ctx, watch.Added, f.rules.show(e)) {
			return false
		}
	}
	if !endsInitial(f.options) {
		return true
	}
	bookmark := f.rules.newObject()
	bookmark.SetResourceVersion(f.rules.text(last))
	setEndOfInitial(bookmark)
	return f.send(ctx, watch.Bookmark, bookmark)
}

func (f *ruleFollower) sendNew(ctx context.Context) bool {
	changes, last, ok := f.rules.after(f.sent)
	if !ok {
		f.fallBehind(ctx)
		return false
	}
	for _, c := range changes {
		if !f.rules.selects(f.options, c.entry.object) {
			continue
		}
		object := f.rules.show(c.entry)
		// The version of the change, not of a later hit, which comes with the next batch.
		object.SetResourceVersion(f.rules.text(c.version))
		if !f.send(ctx, c.eventType, object) {
			return false
		}
	}
	f.sent = last
	return true
}
