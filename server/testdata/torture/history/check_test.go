package history

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"testing"
)

// colors are enough for events that objects leave a scope.
var colors = []string{"red", "green"}

// perfect is the history of a server that does nothing wrong: what happens does so at one moment between call and return,
// and calls overlap.
type perfect struct {
	History
	random   *rand.Rand
	state    map[string]Object
	lives    map[string]Life
	revision int64
	now      int64
}

func newPerfect(seed uint64, operations int) *History {
	p := &perfect{random: rand.New(rand.NewPCG(seed, 0)), state: map[string]Object{}, lives: map[string]Life{}, revision: 10}
	for n := range operations {
		p.now += 10
		p.operate(n)
		p.live(n)
		if n%7 == 0 {
			p.list(n)
		}
		if n%5 == 0 {
			p.read(n)
		}
	}
	for n := range 12 {
		p.watch(n)
	}
	p.Final = p.state
	p.Guards = []Guard{{Prefix: "things/a/", Most: operations, Refused: []string{"black"}}}
	return &p.History
}

func (p *perfect) around() (call, done int64) {
	return p.now - p.random.Int64N(25), p.now + p.random.Int64N(25)
}

func (p *perfect) operate(n int) {
	key := fmt.Sprintf("things/%c/%d-%d", 'a'+n%2, n%4, n/60)
	o := Operation{Client: n % 5, Key: key, Verb: Verb(p.random.IntN(6))}
	o.Call, o.Return = p.around()
	was := p.state[key]
	if o.Verb == Update || o.Verb == Delete {
		o.Expect = max(0, was.Revision-p.random.Int64N(2))
	}
	if o.writes() {
		o.Value = fmt.Sprintf("%s-%d", colors[p.random.IntN(len(colors))], n)
	}
	switch {
	case o.Verb == Create && was.Revision != 0:
		o.Outcome = Exists
	case o.Verb != Create && o.Verb != Apply && was.Revision == 0:
		o.Outcome = NotFound
	case o.Expect != 0 && o.Expect != was.Revision:
		o.Outcome = Conflict
	case o.Verb == Get:
		o.Value, o.Revision = was.Value, was.Revision
	default:
		p.revision++
		o.Revision = p.revision
		p.commit(Change{Object{o.Key, o.Value, o.Revision}, o.Verb == Delete})
	}
	if o.Verb == Delete {
		o.Revision = 0
	}
	if n%11 == 0 && o.Verb != Delete { // the answer is lost
		o.Outcome, o.Revision = Unknown, 0
	}
	p.Operations = append(p.Operations, o)
}

func (p *perfect) commit(c Change) {
	p.Log = append(p.Log, c)
	p.state[c.Key] = c.Object
	if c.Deleted {
		delete(p.state, c.Key)
	}
}

// live does a deed. Half of them look.
func (p *perfect) live(n int) {
	key := fmt.Sprintf("lives/%d-%d", n%2, n/60)
	d := Deed{Client: n % 5, Key: key, Act: Act(max(0, p.random.IntN(10)-4))}
	d.Call, d.Return = p.around()
	was := p.lives[key]
	now := was
	switch {
	case d.Act == Begin && was.Value != "":
		d.Outcome = Exists
	case d.Act == Begin:
		d.Life = Life{Value: fmt.Sprintf("red-%d", n), Held: p.random.IntN(2) == 0}
		now = d.Life
	case was.Value == "" && d.Act != EndAll:
		d.Outcome = NotFound
	case d.Act == End && p.random.IntN(3) == 0:
		d.Value, d.Outcome = "red-0-0", Conflict
	case d.Act == Look:
		d.Life = was
	case d.Act == Hold:
		d.Life, now.Held = was, true
	case d.Act == Release && !was.Doomed:
		d.Life, now.Held = was, false
	case d.Act != Release && was.Held:
		now.Doomed = true
	case d.Act == Release:
		d.Life, now = was, Life{}
	default:
		now = Life{}
	}
	if now != was {
		p.revision++
		p.commit(Change{Object{key, cmp.Or(now.Value, was.Value), p.revision}, now == Life{}})
		p.lives[key] = now
	}
	if n%11 == 0 && d.Outcome == OK { // the answer is lost
		d.Outcome = Unknown
	}
	p.Deeds = append(p.Deeds, d)
}

func (p *perfect) scope() Scope {
	s := Scope{Prefix: []string{"things/", "things/a/"}[p.random.IntN(2)]}
	if p.random.IntN(2) == 0 {
		s.Color = "red"
	}
	return s
}

func (p *perfect) list(n int) {
	l := List{Client: n % 5, Scope: p.scope(), Latest: n%3 == 0, Exact: n%3 == 1}
	l.Call, l.Return = p.around()
	if !l.Latest {
		l.Least = p.revision
	}
	p.moveTo(&l, p.revision)
	p.Lists = append(p.Lists, l)
}

func (p *perfect) read(n int) {
	r := Read{Client: n % 5, Object: Object{Key: p.Operations[p.random.IntN(len(p.Operations))].Key}, Least: p.revision}
	if now, ok := p.state[r.Key]; ok {
		r.Object = now
	}
	p.Reads = append(p.Reads, r)
}

func (p *perfect) watch(n int) {
	s := Stream{Watcher: n, Scope: p.scope(), From: 10 + p.random.Int64N(p.revision-10)}
	byKey := p.Log.byKey()
	for _, c := range p.Log[p.Log.after(s.From):] {
		if e, ok := p.event(c, s.Scope, byKey); ok {
			s.Events = append(s.Events, e)
		}
		if p.random.IntN(9) == 0 {
			s.Events = append(s.Events, Event{Type: Bookmark, Object: Object{Revision: c.Revision}})
		}
	}
	p.Streams = append(p.Streams, s)
}

// TestCheckersAccept shows that nothing is found where nothing is wrong.
func TestCheckersAccept(t *testing.T) {
	for seed := range uint64(30) {
		if err := Check(newPerfect(seed, 300)); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestCheckersFind shows that each checker finds what it is for.
func TestCheckersFind(t *testing.T) {
	for _, m := range Mutations {
		t.Run(m.Name, func(t *testing.T) {
			for seed := range uint64(10) {
				if err := newPerfect(seed, 600).Finds(m, rand.New(rand.NewPCG(seed, 1))); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
		})
	}
}

// TestExpired shows which watches may be told 410: a and b are created at 10 and 12, and each is changed at the next revision.
func TestExpired(t *testing.T) {
	log := Log{
		{Object: Object{"things/a/a", "red-1", 10}},
		{Object: Object{"things/a/a", "red-2", 11}},
		{Object: Object{"things/b/b", "red-3", 12}},
		{Object: Object{"things/b/b", "red-4", 13}},
	}
	first := Event{Added, log[0].Object}
	for _, c := range []struct {
		name            string
		from, compacted int64
		events          []Event
		legal           bool
	}{
		{"never compacted", 9, 0, nil, false},
		{"compacted where it is", 10, 10, nil, false},
		{"compacted before", 10, 9, nil, false},
		{"next is compacted", 10, 12, nil, true},
		{"next is kept, what it replaced is not", 10, 11, nil, true},
		{"all but the revision where it is", 12, 13, nil, true},
		{"compacted behind what it was sent", 9, 10, []Event{first}, false},
		{"compacted ahead of what it was sent", 9, 12, []Event{first}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Stream{Scope: Scope{Prefix: "things/a/"}, From: c.from, Compacted: c.compacted, Events: c.events, Expired: true}
			if found := watches(&History{Log: log, Streams: []Stream{s}}); (len(found) == 0) != c.legal {
				t.Errorf("found %q", found)
			}
		})
	}
}
