package detail

import (
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/screen"
)

// watchers lists the watches that got the event of a write, and those that did not.
func (b *builder) watchers(j *v1alpha1.Journey, cache *v1alpha1.Cache, note string) {
	writes := cacheWrites(j)
	if len(writes) == 0 {
		b.add(label, "the request wrote nothing: it caused no event")
		return
	}
	for _, w := range writes[:min(len(writes), 20)] {
		b.factTo("wrote", plain, b.words.Phrase("%s at revision %d", w.Key, w.Revision),
			linkTo(screen.ToKey{Key: w.Key, Revision: w.Revision}))
	}
	if len(writes) > 20 {
		b.add(label, b.words.Phrase("and %d keys more", len(writes)-20))
	}
	b.marks(j)
	b.deliveries(j)
	b.listMissed(j, cache, note)
}

// marks lists how the watch cache handled the event of the request.
func (b *builder) marks(j *v1alpha1.Journey) {
	if len(j.Status.Marks) == 0 {
		return
	}
	b.blank()
	b.add(label, "what the watch cache did with the event")
	for _, m := range j.Status.Marks {
		b.pair("+"+draw.Duration(micros(m.AfterMicros)), nameWidth, plain,
			b.words.Phrase("%s  %s  at %d", m.ID, b.words.Text(m.Title), m.Revision))
	}
}

// deliveries lists the watchers that got the event of the request.
func (b *builder) deliveries(j *v1alpha1.Journey) {
	b.blank()
	if len(j.Status.Deliveries) == 0 {
		b.add(label, "no watcher of this server got an event that it caused")
		return
	}
	b.add(label, "who got the event, and when it was sent")
	for _, d := range j.Status.Deliveries {
		first := len(b.lines)
		b.pair("+"+draw.Duration(micros(d.AfterMicros)), nameWidth, plain,
			b.words.Phrase("%s at %d  to %s  %s  %s", d.Type, d.Revision, d.Watcher, d.User, d.UserAgent))
		b.lead(first, linkTo(screen.ToRequest{Journey: d.Watcher}))
	}
}

// listMissed lists the present watches of the resource that did not get the event, with the reason.
func (b *builder) listMissed(j *v1alpha1.Journey, cache *v1alpha1.Cache, note string) {
	b.blank()
	name := cacheName(j)
	switch {
	case cache == nil || cache.Name != name:
		if note != "" {
			b.add(label, draw.Clean(note))
		}
		return
	case len(cacheWrites(j)) > 1:
		b.add(label, "the request wrote several objects: who was not sent which event is not looked up")
		return
	}
	first := len(b.lines)
	b.add(label, b.words.Phrase("who watches %s now and was not sent it", name))
	b.lead(first, linkTo(screen.ToCache{Resource: name}))
	all := missedWatchers(j, cache)
	if len(all) == 0 {
		b.add(plain, "nobody")
		return
	}
	for _, m := range all {
		who := m.UserAgent
		if who == "" {
			who = m.User
		}
		if who == "" {
			who = b.words.Phrase("the server itself")
		}
		first := len(b.lines)
		k := plain
		if !m.For {
			k = label
		}
		b.pair(b.words.Phrase("watch %d", m.ID), nameWidth, k, draw.Clean(who+" "+m.Journey+": "+b.words.Text(m.Why)))
		if m.Journey != "" {
			b.lead(first, linkTo(screen.ToRequest{Journey: m.Journey}))
		}
	}
}
