package session

import (
	"slices"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// Row is one journey in the list, without its steps.
type Row struct {
	*v1alpha1.Journey
	// Gone says that the server has forgotten it.
	Gone bool
}

// Ring is the newest rows, in the order in which they came.
//
// A row that must stay moves to held when its turn to go comes, so that making room costs the same however many stay.
// held is in order, and all of it came before all of rows.
type Ring struct {
	capacity int
	held     []*Row
	rows     []*Row
	head     int    // rows before it are gone
	first    uint64 // the number of rows[0]; each row of rows has the next one
	at       map[string]uint64
	inHeld   map[string]*Row
	kept     string
	marks    map[string]rune
	filtered bool

	// Version changes whenever something in the ring does.
	Version uint64
	// Dropped is how many rows went to make room, or never came because the screen was too slow.
	Dropped uint64
	// LeftOut is how many the server did not send because there were too many.
	LeftOut uint64

	// fold says which new rows are only counted; nil for none. folded are their names.
	fold   func(*v1alpha1.Journey) bool
	folded map[string]bool
}

// Fold has rows that come only be counted, if yes says so of them, until the next reset. A nil yes has all be shown.
func (r *Ring) Fold(yes func(*v1alpha1.Journey) bool) { r.fold = yes }

// Folded is how many are only counted.
func (r *Ring) Folded() int { return len(r.folded) }

// NewRing is an empty ring for capacity rows.
func NewRing(capacity int) *Ring {
	r := &Ring{capacity: capacity, marks: map[string]rune{}}
	r.clear()
	return r
}

func (r *Ring) clear() {
	r.held, r.rows, r.head, r.first = nil, nil, 0, 0
	r.at, r.inHeld, r.folded = map[string]uint64{}, map[string]*Row{}, map[string]bool{}
}

// Len is how many rows there are.
func (r *Ring) Len() int { return len(r.held) + len(r.rows) - r.head }

// At is the i-th row, the oldest being 0.
func (r *Ring) At(i int) *Row {
	if i < len(r.held) {
		return r.held[i]
	}
	return r.rows[r.head+i-len(r.held)]
}

// Index is where a journey is, or -1.
func (r *Ring) Index(id string) int {
	if row := r.inHeld[id]; row != nil {
		for i, other := range r.held {
			if other == row {
				return i
			}
		}
	}
	if n, ok := r.at[id]; ok {
		return len(r.held) + int(n-r.first) - r.head
	}
	return -1
}

// Keep makes one journey stay: the one that is looked at. The one before it no longer has to.
func (r *Ring) Keep(id string) { r.kept = id }

// marksMost is how many journeys can be marked: one for each letter.
const marksMost = 'z' - 'a' + 1

// Mark gives a journey a mark, the first letter that is free, so that its row stays; one that has a mark loses it. It says
// whether there was a letter.
func (r *Ring) Mark(id string) bool {
	r.Version++
	if _, ok := r.marks[id]; ok {
		delete(r.marks, id)
		return true
	}
	taken := map[rune]bool{}
	for _, letter := range r.marks {
		taken[letter] = true
	}
	for letter := 'a'; letter < 'a'+marksMost; letter++ {
		if !taken[letter] {
			r.marks[id] = letter
			return true
		}
	}
	return false
}

// MarkOf is a journey's mark; 0 if it has none.
func (r *Ring) MarkOf(id string) rune { return r.marks[id] }

// Marked is the journey that has a mark; empty if none has.
func (r *Ring) Marked(letter rune) string {
	for id, other := range r.marks {
		if other == letter {
			return id
		}
	}
	return ""
}

// Apply brings the ring up to date.
func (r *Ring) Apply(b Batch) {
	if b.Reset {
		r.clear()
		r.filtered = b.filtered
	}
	for _, c := range b.changes {
		if c.gone {
			r.gone(c.journey.Name)
			delete(r.folded, c.journey.Name)
			continue
		}
		if r.fold != nil && r.Index(c.journey.Name) < 0 && r.fold(c.journey) {
			if len(r.folded) < r.capacity {
				r.folded[c.journey.Name] = true
			}
			continue
		}
		delete(r.folded, c.journey.Name)
		r.put(c.journey)
	}
	if b.present != nil {
		r.missing(b.present)
	}
	r.Dropped += b.Dropped
	r.LeftOut += b.LeftOut
	r.Version++
}

func (r *Ring) put(j *v1alpha1.Journey) {
	if i := r.Index(j.Name); i >= 0 {
		row := r.At(i)
		row.Journey, row.Gone = j, false
		return
	}
	r.at[j.Name] = r.first + uint64(len(r.rows))
	r.rows = append(r.rows, &Row{Journey: j})
	for r.Len() > r.capacity {
		r.drop()
	}
}

// Insert puts a journey where it belongs that came in another way than its neighbours: those that began before it stay before it.
// It stays while it is looked at.
func (r *Ring) Insert(j *v1alpha1.Journey) {
	row := *j
	row.Status.Steps, row.Status.Marks, row.Status.Deliveries = nil, nil, nil
	if r.Index(j.Name) >= 0 || r.head == len(r.rows) || !row.Status.Started.Before(&r.rows[r.head].Status.Started) {
		r.put(&row)
		r.Version++
		return
	}
	at := len(r.held)
	for at > 0 && row.Status.Started.Before(&r.held[at-1].Status.Started) {
		at--
	}
	made := &Row{Journey: &row}
	r.held = slices.Insert(r.held, at, made)
	r.inHeld[row.Name] = made
	r.Version++
}

// gone takes note that the server no longer lists a journey. Without a filter that means that it forgot it: the row is
// marked. With one it may as well be that the journey is no longer what was asked for: the row goes.
func (r *Ring) gone(id string) {
	i := r.Index(id)
	switch {
	case i < 0:
	case !r.filtered:
		r.At(i).Gone = true
	case i < len(r.held):
		r.unhold(i)
	default:
		r.remove(r.head + i - len(r.held))
	}
}

// remove takes a row out of rows. A filtered list is as short as the server's, so that this costs little.
func (r *Ring) remove(i int) {
	delete(r.at, r.rows[i].Name)
	r.rows = append(r.rows[:i], r.rows[i+1:]...)
	for ; i < len(r.rows); i++ {
		r.at[r.rows[i].Name] = r.first + uint64(i)
	}
}

// missing takes note of the rows that the server no longer has.
func (r *Ring) missing(present map[string]bool) {
	for i := r.Len() - 1; i >= 0; i-- {
		if row := r.At(i); !present[row.Name] {
			r.gone(row.Name)
		}
	}
}

func (r *Ring) stays(row *Row) bool {
	return row.Status.Pinned || row.Name == r.kept || r.marks[row.Name] != 0
}

// drop lets one row go: the oldest that need not stay, or else the oldest.
func (r *Ring) drop() {
	r.Dropped++
	for i, row := range r.held {
		if !r.stays(row) {
			r.unhold(i)
			return
		}
	}
	for ; r.head < len(r.rows)-1; r.head++ {
		row := r.rows[r.head]
		r.rows[r.head] = nil
		delete(r.at, row.Name)
		if !r.stays(row) {
			r.head++
			r.compact()
			return
		}
		r.held = append(r.held, row)
		r.inHeld[row.Name] = row
	}
	r.unhold(0)
}

func (r *Ring) unhold(i int) {
	delete(r.inHeld, r.held[i].Name)
	r.held = append(r.held[:i], r.held[i+1:]...)
}

// compact gives back what the dropped rows took, once it is as much as the rest.
func (r *Ring) compact() {
	if r.head < len(r.rows)/2 || r.head < 64 {
		return
	}
	r.first += uint64(r.head)
	r.rows = append([]*Row(nil), r.rows[r.head:]...)
	r.head = 0
}
