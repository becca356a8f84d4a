package trace

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/kx-apiserver/kx/core/steps"
)

// log holds the records of a journey's steps, in their order. Writing is frequent and cheap, reading is rare.
//
//  1. An entry never changes once tell has published it. Entries that belong together, a name and its text, are
//     published at once.
//  2. One goroutine writes at a time. While the journey is alone it is the request's own, without a lock. From the
//     first Fork, and from the journey's end, the writer holds the journey's mu.
//  3. A reader holds the journey's mu, so that forget can't hand the chunks to another journey meanwhile.
//  4. Chunks of a forgotten journey are reused. Steps are not, because callers may still hold them.
type log struct {
	first, last *chunk
	entries     uint32
	steps       uint32
	told        atomic.Uint64 // how many steps and entries may be read
}

// chunk is a part of a log. It fits one of the runtime's size classes.
type chunk struct {
	next    *chunk
	entries [chunkEntries]entry
}

const chunkEntries = 22

var chunks = sync.Pool{New: func() any { return new(chunk) }}

// entry is one fact that a step recorded.
type entry struct {
	n    int64
	text string
	why  Reason
	step int32    // the index of the step; of the one that called it, or -1, if it began
	id   steps.ID // of a step that began
	kind entryKind
}

type entryKind uint8

const (
	entryBegan  entryKind = iota // n is when, text the subject
	entryEnded                   // n is when, text the error
	entryWhy                     // why is the reason, text its text, n its first number
	entryMore                    // n is the next number of the reason in the entry before
	entryNumber                  // text is the name, n the number
	entryName                    // text is the name of the text in the next entry
	entryText
)

// add adds an empty entry, which readers do not see before tell. The caller is the writer.
func (l *log) add() *entry {
	if l.entries%chunkEntries == 0 {
		l.grow()
	}
	e := &l.last.entries[l.entries%chunkEntries]
	l.entries++
	return e
}

func (l *log) grow() {
	c := chunks.Get().(*chunk)
	if l.last == nil {
		l.first = c
	} else {
		l.last.next = c
	}
	l.last = c
}

// tell publishes the added entries. The caller is the writer.
func (l *log) tell() { l.told.Store(uint64(l.steps)<<32 | uint64(l.entries)) }

// stepCount is the number of steps that have begun.
func (l *log) stepCount() int { return int(l.told.Load() >> 32) }

// read calls f for each entry. The caller holds the journey's mu.
func (l *log) read(f func(*entry)) {
	left := int(uint32(l.told.Load()))
	var c *chunk
	for left > 0 { // what comes after the last of them is not ours to look at
		if c == nil {
			c = l.first
		} else {
			c = c.next
		}
		n := min(left, chunkEntries)
		for i := range n {
			f(&c.entries[i])
		}
		left -= n
	}
}

// forget frees the chunks. The caller holds the journey's mu, and no writer is left.
func (l *log) forget() {
	for c := l.first; c != nil; {
		next := c.next
		*c = chunk{}
		chunks.Put(c)
		c = next
	}
	l.first, l.last, l.entries, l.steps = nil, nil, 0, 0
	l.tell()
}

// records are the steps. The caller holds the journey's mu. The writer may publish further steps meanwhile: only read
// says how many there are.
func (l *log) records() []StepRecord {
	count := l.stepCount()
	taken, whys := make([]StepRecord, 0, count), make([]loggedReason, 0, count)
	name := ""
	l.read(func(e *entry) {
		if e.kind == entryBegan {
			taken = append(taken, StepRecord{
				ID: e.id, Parent: int(e.step), Start: time.Duration(e.n), Took: -1, Subject: e.text,
			})
			whys = append(whys, loggedReason{})
			return
		}
		s := &taken[e.step]
		switch e.kind {
		case entryEnded:
			s.Took, s.Error = time.Duration(e.n)-s.Start, e.text
		case entryWhy:
			whys[e.step] = readWhy(e)
		case entryMore:
			whys[e.step].add(e.n)
		case entryNumber:
			s.Attrs = append(s.Attrs, Attr{Name: e.text, Int: e.n, IsInt: true})
		case entryName:
			name = e.text
		case entryText:
			s.Attrs = append(s.Attrs, Attr{Name: name, Text: e.text})
		}
	})
	for i := range taken {
		taken[i].Reason, taken[i].Values, taken[i].Why = whys[i].reason, whys[i].values, whys[i].String()
	}
	return taken
}

// step is a step's last reason, and when it began. The caller holds the journey's mu.
func (l *log) step(index int32) (w loggedReason, began time.Duration) {
	next := int32(0)
	l.read(func(e *entry) {
		if e.kind == entryBegan {
			if next == index {
				began = time.Duration(e.n)
			}
			next++
			return
		}
		if e.step != index {
			return
		}
		switch e.kind {
		case entryWhy:
			w = readWhy(e)
		case entryMore:
			w.add(e.n)
		}
	})
	return w, began
}
