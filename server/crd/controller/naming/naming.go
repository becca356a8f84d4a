package naming

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/kx-apiserver/kx/server/crd/controller/work"
	"github.com/kx-apiserver/kx/server/crd/lister"
)

// Controller accepts names.
type Controller struct {
	lister *lister.Lister
	status work.Status
	queue  *work.Queue

	// Only Run uses these:

	// written holds this process's writes that the lister has not seen yet, by name.
	written map[string]*work.Definition
	// waiting holds the definitions that request taken names, by group.
	waiting map[string]map[string]bool
}

// New creates a controller. It receives changes once the lister runs.
func New(l *lister.Lister, status work.Status, log *slog.Logger) *Controller {
	c := &Controller{
		lister: l, status: status, queue: work.NewQueue("accept the names of a CustomResourceDefinition", log),
		written: map[string]*work.Definition{}, waiting: map[string]map[string]bool{},
	}
	l.Subscribe(func(old, now *work.Definition) {
		if now == nil {
			now = old // it has freed its names
		}
		c.queue.Add(now.Name)
	})
	return c
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) { c.queue.Run(ctx, c.batch) }

// batch judges definitions, and those that wait in their groups, on one snapshot of all definitions. Each
// verdict changes that snapshot for the next. Then batch writes the verdicts.
func (c *Controller) batch(ctx context.Context, toJudge []string) work.Failures {
	all := c.definitions()
	list := make([]*work.Definition, 0, len(all))
	for _, d := range all {
		list = append(list, d)
	}
	holders := NewHolders(list)

	verdicts := map[string]verdict{}
	var toWrite []string
	judged := map[string]bool{}
	toJudge = append(toJudge, c.waitingIn(toJudge)...)
	for i := 0; i < len(toJudge); i++ {
		name := toJudge[i]
		d := all[name]
		if judged[name] {
			continue
		}
		judged[name] = true
		if d == nil {
			c.note(name, false)
			continue
		}
		v := judge(d, holders)
		c.note(name, v.accepted != noConflicts)
		if !v.isSaid(d) {
			verdicts[name] = v
			toWrite = append(toWrite, name)
			now := *d
			now.Status = *d.Status.DeepCopy()
			v.apply(&now)
			holders.remove(d)
			holders.add(&now)
		}
		// A rival may have been judged before this definition held the name.
		for _, rival := range holders.Rivals(d) {
			toJudge = append(toJudge, rival.Name)
		}
	}
	return c.write(ctx, all, toWrite, verdicts)
}

// definitions returns all known definitions, including this process's own writes.
func (c *Controller) definitions() map[string]*work.Definition {
	known := c.lister.List()
	all := make(map[string]*work.Definition, len(known))
	for _, d := range known {
		all[d.Name] = d
	}
	for name, w := range c.written {
		if d := all[name]; d == nil || d.UID != w.UID || work.Revision(d) >= work.Revision(w) {
			delete(c.written, name)
			continue
		}
		all[name] = w
	}
	return all
}

// waitingIn returns the definitions that wait for a name in the groups of some definitions.
func (c *Controller) waitingIn(definitions []string) (names []string) {
	groups := map[string]bool{}
	for _, name := range definitions {
		if group := groupOf(name); !groups[group] {
			groups[group] = true
			names = slices.AppendSeq(names, maps.Keys(c.waiting[group]))
		}
	}
	slices.Sort(names)
	return names
}

// note records whether a definition waits.
func (c *Controller) note(name string, waits bool) {
	group := groupOf(name)
	switch waiting := c.waiting[group]; {
	case waits && waiting == nil:
		c.waiting[group] = map[string]bool{name: true}
	case waits:
		waiting[name] = true
	default:
		delete(waiting, name)
		if len(waiting) == 0 {
			delete(c.waiting, group)
		}
	}
}

// groupOf returns the group in a definition's name, which consists of plural and group.
func groupOf(name string) string {
	_, group, _ := strings.Cut(name, ".")
	return group
}

func (c *Controller) write(ctx context.Context, all map[string]*work.Definition, toWrite []string,
	verdicts map[string]verdict) work.Failures {
	written := make([]*work.Definition, len(toWrite))
	index := make(map[string]int, len(toWrite))
	for i, name := range toWrite {
		index[name] = i
	}
	failures := work.Each(toWrite, work.WritesMost, func(name string) (err error) {
		written[index[name]], err = c.status.Update(ctx, all[name], verdicts[name].apply)
		return err
	})
	for i, d := range written {
		if d != nil {
			c.written[toWrite[i]] = d
		}
	}
	return failures
}
