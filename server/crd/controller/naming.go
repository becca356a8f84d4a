package controller

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/kx-apiserver/kx/server/crd/lister"
)

// naming decides which names a definition gets.
//
// In a group, a resource has a plural, a singular and short names, and an object has a kind and a list kind. No
// two definitions may share one. A definition requests names in spec.names and holds those in
// status.acceptedNames; the condition NamesAccepted reports whether it holds all that it requests. Naming sets
// Established to false; establishing makes it true.
//
// In come definitions from the lister. Out go status.acceptedNames and the two conditions, in one write.
// [nameHolders] records which definition holds which name; establishing uses it, too.
//
// # Several servers on one etcd
//
// A name concerns all definitions, and a write only one: two servers can give one name to two definitions at
// the same moment, each before it has seen the other's write. So an accepted name is only a claim:
//
//	claim      a server that sees no holder of a name writes that the definition holds it
//	establish  a server that has seen this claim, and all that was written before it, and sees no other definition
//	           hold the name, writes that the definition is established (establishing)
//	withdraw   a server that sees two definitions hold a name takes it from one of them: from the one that is not
//	           established; then from the one whose names were accepted later, by the clock; then by UID
//
// Two definitions that claim one name are never both established. etcd orders all writes, so one of the two
// claims is the later one. A server that establishes the definition of the later claim has seen the earlier
// claim or its end. If that claim still exists, the server establishes nothing. If it was withdrawn, its
// definition was not established: establishing and withdrawing both expect the claim's state, and etcd accepts
// only one of them. An established definition never yields to another, so its claim is not withdrawn. The clock
// and the UID decide only which definition yields. If two servers judge that differently, both definitions
// yield and try again.
//
// An established definition may later request another singular, list kind or short name, and holds it with the
// claim. If two claim the same one at the same moment, they share it until one yields. The plural and the kind
// are not at risk: validation refuses to change them.
//
// Upstream waits 5 seconds between claim and establishment instead. That is enough as long as no server takes
// longer to see the claim.
//
// # Invariants
//
//  1. A definition gets the names that are free, even if it can't have all that it requests.
//  2. A definition that waits for a name is judged again at every change in its group, so it gets the name
//     once it is free.
//  3. A server takes its own writes into account before etcd's watch returns them: two definitions that are
//     created together do not both claim a name.
//  4. One goroutine judges batch after batch; only the writes of a batch run concurrently.
type naming struct {
	lister *lister.Lister
	status statusWriter
	queue  *queue

	// Only Run uses these:

	// written holds this process's writes that the lister has not seen yet, by name.
	written map[string]*Definition
	// waiting holds the definitions that request taken names, by group.
	waiting map[string]map[string]bool
}

// newNaming creates a controller. It receives changes once the lister runs.
func newNaming(l *lister.Lister, status statusWriter, log *slog.Logger) *naming {
	c := &naming{
		lister: l, status: status, queue: newQueue("accept the names of a CustomResourceDefinition", status.Gate, log),
		written: map[string]*Definition{}, waiting: map[string]map[string]bool{},
	}
	l.Subscribe(func(old, now *Definition) {
		if now == nil {
			now = old // it has freed its names
		}
		c.queue.Add(now.Name)
	})
	return c
}

// Run works until ctx ends.
func (c *naming) Run(ctx context.Context) { c.queue.Run(ctx, c.batch) }

// batch judges definitions, and those that wait in their groups, on one snapshot of all definitions. Each
// verdict changes that snapshot for the next. Then batch writes the verdicts.
func (c *naming) batch(ctx context.Context, toJudge []string) nameFailures {
	all := c.definitions()
	list := make([]*Definition, 0, len(all))
	for _, d := range all {
		list = append(list, d)
	}
	holders := newNameHolders(list)

	verdicts := map[string]nameVerdict{}
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
		v := judgeNames(d, holders)
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
		for _, rival := range holders.rivals(d) {
			toJudge = append(toJudge, rival.Name)
		}
	}
	return c.write(ctx, all, toWrite, verdicts)
}

// definitions returns all known definitions, including this process's own writes.
func (c *naming) definitions() map[string]*Definition {
	known := c.lister.List()
	all := make(map[string]*Definition, len(known))
	for _, d := range known {
		all[d.Name] = d
	}
	for name, w := range c.written {
		if d := all[name]; d == nil || d.UID != w.UID || Revision(d) >= Revision(w) {
			delete(c.written, name)
			continue
		}
		all[name] = w
	}
	return all
}

// waitingIn returns the definitions that wait for a name in the groups of some definitions.
func (c *naming) waitingIn(definitions []string) (names []string) {
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
func (c *naming) note(name string, waits bool) {
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

func (c *naming) write(ctx context.Context, all map[string]*Definition, toWrite []string,
	verdicts map[string]nameVerdict) nameFailures {
	written := make([]*Definition, len(toWrite))
	index := make(map[string]int, len(toWrite))
	for i, name := range toWrite {
		index[name] = i
	}
	failures := eachName(toWrite, writesMost, func(name string) (err error) {
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
