package session

import (
	"slices"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// Row is one journey in the list, without its steps.
type Row struct {
	*v1alpha1.Journey
	// Gone reports that the server has forgotten the journey.
	Gone bool
}

// Ring holds the newest rows, in the order in which they came.
//
// A row that must stay moves to held when its turn to go comes. So the cost of making room does not depend on the
// number of rows that stay. held is in order, and all its rows came before those of rows.
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

	// Version changes with every change of the ring.
	Version uint64
	// Dropped counts the rows that made room for others, or never came because the screen was too slow.
	Dropped uint64
	// LeftOut counts the journeys that the server skipped because there were too many.
	LeftOut uint64

	// fold selects the new rows that are only counted; nil for none. folded holds their names.
	fold   func(*v1alpha1.Journey) bool
	folded map[string]bool
}

// Fold makes the ring only count new rows that match yes, until the next reset. A nil yes shows all rows.
func (r *Ring) Fold(yes func(*v1alpha1.Journey) bool) { r.fold = yes }

// Folded returns the number of rows that are only counted.
func (r *Ring) Folded() int { return len(r.folded) }

// NewRing makes an empty ring for capacity rows.
func NewRing(capacity int) *Ring {
	r := &Ring{capacity: capacity, marks: map[string]rune{}}
	r.clear()
	return r
}

func (r *Ring) clear() {
	r.held, r.rows, r.head, r.first = nil, nil, 0, 0
	r.at, r.inHeld, r.folded = map[string]uint64{}, map[string]*Row{}, map[string]bool{}
}

// Len returns the number of rows.
func (r *Ring) Len() int { return len(r.held) + len(r.rows) - r.head }

// At returns the i-th row; the oldest is 0.
func (r *Ring) At(i int) *Row {
	if i < len(r.held) {
		return r.held[i]
	}
	return r.rows[r.head+i-len(r.held)]
}

// Index returns the index of a journey, or -1.
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

// Keep makes the journey under the cursor stay. The journey kept before it may go again.
func (r *Ring) Keep(id string) { r.kept = id }

// marksMost limits the marked journeys: one for each letter.
const marksMost = 'z' - 'a' + 1

// Mark gives a journey the first free letter as its mark, so that its row stays. A marked journey loses its mark
// instead. Mark reports whether there was a free letter.
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

// MarkOf returns a journey's mark; 0 if it has none.
func (r *Ring) MarkOf(id string) rune { return r.marks[id] }

// Marked returns the journey with a mark; empty if there is none.
func (r *Ring) Marked(letter rune) string {
	for id, other := range r.marks {
		if other == letter {
			return id
		}
	}
	return ""
}

// Apply updates the ring with a batch.
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

// Insert adds a journey that did not come through a batch, at its place by time. It stays while it is kept.
func (r *Ring) Insert(j *v1alpha1.Journey) {
	row := *j
	row.Status.Steps, row.Status.Sentences, row.Status.Marks, row.Status.Deliveries = nil, nil, nil, nil
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

// gone handles a journey that the server no longer lists. Without a filter, the server forgot it, and the row is
// marked. With a filter, the journey may just not match any more, so the row is removed.
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

// remove takes a row out of rows. It is cheap, since a filtered list is as short as the server's.
func (r *Ring) remove(i int) {
	delete(r.at, r.rows[i].Name)
	r.rows = append(r.rows[:i], r.rows[i+1:]...)
	for ; i < len(r.rows); i++ {
		r.at[r.rows[i].Name] = r.first + uint64(i)
	}
}

// missing handles the rows that a new list of the server lacks.
func (r *Ring) missing(present map[string]bool) {
	for i := r.Len() - 1; i >= 0; i-- {
		if row := r.At(i); !present[row.Name] {
			r.gone(row.Name)
		}
	}
}

func (r *Ring) stays(row *Row) bool {
	return row.Name == r.kept || r.marks[row.Name] != 0
}

// drop removes one row: the oldest that need not stay, or else the oldest.
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

// compact frees the memory of dropped rows, once it is as much as the rest.
func (r *Ring) compact() {
	if r.head < len(r.rows)/2 || r.head < 64 {
		return
	}
	r.first += uint64(r.head)
	r.rows = append([]*Row(nil), r.rows[r.head:]...)
	r.head = 0
}
