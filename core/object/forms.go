package object

import (
	"sync"
	"weak"

	"k8s.io/apimachinery/pkg/runtime"
)

// formBytes are what an encoder wrote.
type formBytes struct{ data []byte }

// keptFormsBytes is how much is kept, in all, of what encoders wrote. Objects that are stored as clients want them are not
// among it: their bytes are there anyway. It holds some 30,000 built-in objects as JSON.
const keptFormsBytes = 64 << 20

// keptForms are the latest bytes that encoders wrote: what holds them. The objects themselves only know where they are, if
// they are still there.
var keptForms formQueue

// formQueue is a queue of bytes that have a limit together.
type formQueue struct {
	mu    sync.Mutex
	forms []*formBytes
	bytes int
}

// add lets go of the oldest if there is too much.
func (q *formQueue) add(f *formBytes) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.forms = append(q.forms, f)
	q.bytes += len(f.data)
	gone := 0
	for ; q.bytes > keptFormsBytes; gone++ {
		q.bytes -= len(q.forms[gone].data)
		q.forms[gone] = nil
	}
	q.forms = q.forms[gone:]
}

// keep remembers what the encoder called id wrote. The caller holds e.mu.
func (e *Encoded) keep(id runtime.Identifier, data []byte) {
	var forms []form
	if old := e.forms.Load(); old != nil {
		for _, f := range *old {
			if f.data.Value() != nil {
				forms = append(forms, f)
			}
		}
	}
	if len(forms) == maxForms {
		return
	}
	kept := &formBytes{data}
	keptForms.add(kept)
	forms = append(forms, form{id, weak.Make(kept)})
	e.forms.Store(&forms)
}
