package object

import (
	"sync"
	"weak"

	"k8s.io/apimachinery/pkg/runtime"
)

// formBytes holds an encoder's output.
type formBytes struct{ data []byte }

// maxFormsBytes bounds the bytes of one Forms: some 30,000 built-in objects as JSON.
const maxFormsBytes = 64 << 20

// Forms is a bounded queue of the latest bytes that encoders wrote. Only the queue keeps the bytes alive: objects have
// weak pointers to them. An object that is stored in the form that clients want needs none. mu guards
// forms and bytes.
type Forms struct {
	mu    sync.Mutex
	forms []*formBytes
	bytes int
}

// NewForms returns an empty queue. One serves all objects of a server.
func NewForms() *Forms { return &Forms{} }

// add drops the oldest bytes beyond the limit.
func (q *Forms) add(f *formBytes) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.forms = append(q.forms, f)
	q.bytes += len(f.data)
	gone := 0
	for ; q.bytes > maxFormsBytes; gone++ {
		q.bytes -= len(q.forms[gone].data)
		q.forms[gone] = nil
	}
	q.forms = q.forms[gone:]
}

// keep stores the output of the encoder called id. The caller holds e.mu.
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
	e.format.Forms.add(kept)
	forms = append(forms, form{id, weak.Make(kept)})
	e.forms.Store(&forms)
}
