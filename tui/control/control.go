package control

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/api"
)

// Control is the client's side of what holds and disturbs requests. Its methods may be called by any goroutine.
type Control struct {
	api     *api.Client
	changed func()
	guard   func() // deferred in every goroutine

	life context.Context
	end  context.CancelFunc
	wg   sync.WaitGroup
	once sync.Once

	mu      sync.Mutex
	version uint64
	rules   map[Key]Rule // the server's
	own     map[Key]*ownRule
	sent    map[Key]bool // made by the screen Send, each for one request
	held    map[string]*v1alpha1.Journey
	// problem is why the server's are not known, by what is followed; refused why none can be made.
	problem map[string]string
	refused map[Kind]string
	// recordings are the server's; nil if it tells of none.
	recordings map[string]v1alpha1.Recording
	// made counts the rules that were made: a list that was asked for before does not say that one is gone.
	made uint64
}

// New makes a Control. changed is called when a View would be another one; guard is deferred in every goroutine, and may
// recover.
func New(client *api.Client, changed, guard func()) *Control {
	c := &Control{
		api: client, changed: changed, guard: guard,
		rules: map[Key]Rule{}, own: map[Key]*ownRule{}, sent: map[Key]bool{}, held: map[string]*v1alpha1.Journey{},
		problem: map[string]string{}, refused: map[Kind]string{},
	}
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

// Start begins to follow the server, if there is one. Further calls do nothing.
func (c *Control) Start() {
	c.once.Do(func() {
		if why := c.api.Absent(); why != "" {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.refused[Breakpoint], c.refused[Fault] = why, why
			c.tellChanged()
			return
		}
		c.run(c.followBreakpoints)
		c.run(c.followFaults)
		c.run(c.followRecordings)
		c.run(c.followHeld)
		c.run(c.tick)
	})
}

func (c *Control) run(f func(context.Context)) {
	c.wg.Go(func() {
		defer c.guard()
		f(c.life)
	})
}

// closeWait is how long Close tries to take back what the user made.
const closeWait = 2 * time.Second

// Close deletes the user's rules on the server, which lets go what they hold, and ends the following. What it can't reach
// ends with its lease.
func (c *Control) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	for _, key := range c.ownOn() {
		_ = c.api.Delete(ctx, key.path())
	}
	c.end()
	c.wg.Wait()
}

// ownOn are the user's rules that are on.
func (c *Control) ownOn() []Key {
	c.mu.Lock()
	defer c.mu.Unlock()
	var on []Key
	for key, own := range c.own {
		if own.on {
			on = append(on, key)
		}
	}
	slices.SortFunc(on, compareKeys)
	return on
}

// tellChanged says that there is another View. The caller holds mu.
func (c *Control) tellChanged() {
	c.version++
	c.changed()
}

// View is what is known at one moment. Nothing in it is changed later.
type View struct {
	// Version is another one whenever the View is.
	Version uint64
	// Rules are breakpoints and then faults, each in the order of their names.
	Rules []Rule
	// Held are the requests that are held, without their steps, in the order in which they began.
	Held []*v1alpha1.Journey
	// Problem is why this is not what the server has now; empty if it is.
	Problem string
	// Refused is why the server takes no rules of a kind; empty if it takes them, or is not known to refuse.
	Refused map[Kind]string
	// Recording is what the server records and allows.
	Recording Recording
}

// View is what is known now.
func (c *Control) View() View {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := View{Version: c.version, Refused: maps.Clone(c.refused), Recording: c.recording()}
	for key, r := range c.rules {
		if own := c.own[key]; own != nil && own.on {
			r.Mine, r.Spec = true, own.spec // without what was added to it
		}
		r.Sent = c.sent[key]
		v.Rules = append(v.Rules, r)
	}
	for key, own := range c.own {
		if _, there := c.rules[key]; !there {
			v.Rules = append(v.Rules, own.rule(key))
		}
	}
	slices.SortFunc(v.Rules, func(a, b Rule) int { return compareKeys(a.Key, b.Key) })
	for _, j := range c.held {
		v.Held = append(v.Held, j)
	}
	slices.SortFunc(v.Held, func(a, b *v1alpha1.Journey) int {
		return cmp.Or(a.Status.Started.Compare(b.Status.Started.Time), cmp.Compare(a.Name, b.Name))
	})
	for _, what := range slices.Sorted(maps.Keys(c.problem)) {
		if v.Problem == "" {
			v.Problem = c.problem[what]
		}
	}
	return v
}

// Version is that of the View.
func (c *Control) Version() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// HeldByOwn is how many requests the user's own breakpoints hold.
func (v View) HeldByOwn() (n int) {
	for _, r := range v.Rules {
		if r.Mine {
			n += int(r.Status.Held)
		}
	}
	return n
}

// Journey is a held request, or nil.
func (v View) Journey(id string) *v1alpha1.Journey {
	for _, j := range v.Held {
		if j.Name == id {
			return j
		}
	}
	return nil
}

// Oldest is since when somebody has been held; false if nobody is.
func (v View) Oldest() (since time.Time, ok bool) {
	for _, j := range v.Held {
		for _, h := range j.Status.Held {
			if !ok || h.Since.Time.Before(since) {
				since, ok = h.Since.Time, true
			}
		}
	}
	return since, ok
}

// tick says once a second that time goes by, as long as somebody is held.
func (c *Control) tick(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		c.mu.Lock()
		if len(c.held) > 0 {
			c.changed()
		}
		c.mu.Unlock()
	}
}
