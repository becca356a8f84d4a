package cacher

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
)

// errLate says that etcd's watch was given up while changes were held back: what came since is read from its history.
var errLate = errors.New("changes were held back")

// lateness is the condition of a cache while a rule holds changes back.
type lateness struct {
	Condition
	rule string
}

// sayLate tells a step that goes by the cache that changes are held back from it, if they are.
func (c *Cacher) sayLate(step *trace.Step) {
	if late := c.late.Load(); late != nil {
		step.HeldBack(late.rule, late.Err.Error())
	}
}

// tellWriters tells the journeys that made changes that they are held back. Writers that are not known yet find out
// when they begin to wait.
func (c *Cacher) tellWriters(changes store.Changes, late *lateness) {
	for i := range changes.Changes {
		revision := changes.Changes[i].Revision
		if waiting := c.marks.note(revision).Load(); waiting != nil && waiting.Revision() == revision {
			waiting.HeldBack(late.rule, late.Err.Error())
		}
	}
}

// applyDisturbances applies changes to the cache and hands them out, with the faults at the cache's marks. A delay
// happens in one place: leave gives up etcd's watch, so that nothing piles up behind it. No change is lost, unless etcd
// compacts it meanwhile, and then the cache is filled again.
func (c *Cacher) applyDisturbances(changes store.Changes, leave func(error)) error {
	hold := func(d trace.Disturbance) {
		leave(errLate)
		late := &lateness{Condition{State: Lagging, Since: time.Now(), Err: fmt.Errorf("changes are held back by %s", d.Rule)}, d.Rule}
		c.late.Store(late)
		c.tellWriters(changes, late)
		d.Wait(c.ctx)
		c.late.Store(nil)
	}
	for _, id := range []steps.ID{steps.CacherReflect, steps.CacherProcessEvent} {
		for _, subject := range c.subjects(changes) {
			for _, d := range c.config.Control.Disturbances(id, subject) {
				if d.Drop {
					return fmt.Errorf("the watch of etcd was ended by %s", d.Rule)
				}
				hold(d)
			}
		}
	}
	events := c.process(changes)
	for _, e := range events {
		for _, d := range c.config.Control.Disturbances(steps.CacherDispatch, c.subject(e.key)) {
			if d.Drop {
				c.dispatcher.drop(e.key, d.Rule)
				continue
			}
			hold(d)
		}
	}
	c.dispatch(events, changes.Revision)
	return nil
}

// subjects describes changes to filters: one subject for each change, or a single one without a key for a progress
// notification.
func (c *Cacher) subjects(changes store.Changes) []filter.Subject {
	if len(changes.Changes) == 0 {
		return []filter.Subject{c.subject("")}
	}
	all := make([]filter.Subject, len(changes.Changes))
	for i := range changes.Changes {
		all[i] = c.subject(changes.Changes[i].Key)
	}
	return all
}

// subject describes a change at key to filters.
func (c *Cacher) subject(key string) filter.Subject {
	ns, name := "", strings.TrimPrefix(key, c.prefix)
	if before, after, ok := strings.Cut(name, "/"); ok {
		ns, name = before, after
	}
	known := map[string]string{
		"resource": c.config.GroupResource.Resource, "group": c.config.GroupResource.Group, "key": key, "ns": ns, "name": name,
	}
	return filter.SubjectFunc(func(field string) (filter.Value, bool) {
		return filter.TextValue(known[field]), known[field] != ""
	})
}

// drop ends the clients' watches of what contains key, without a word.
func (d *dispatcher) drop(key, rule string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.each(func(w *cacheWatcher) {
		if (key == w.key || w.recursive && strings.HasPrefix(key, w.key)) && w.journey.DroppedBy(rule) {
			w.stopLocked()
		}
	})
}
