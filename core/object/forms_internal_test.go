package object

import "testing"

// TestFormQueue: what is kept has a limit, and the oldest goes first.
func TestFormQueue(t *testing.T) {
	const size, n = 1 << 20, 3 * maxFormsBytes >> 20
	var q Forms
	shared := make([]byte, size) // the queue counts, and does not look
	var last *formBytes
	for range n {
		last = &formBytes{shared}
		q.add(last)
	}
	if q.bytes != maxFormsBytes || len(q.forms) != maxFormsBytes/size {
		t.Errorf("%d bytes in %d pieces are kept", q.bytes, len(q.forms))
	}
	if q.forms[len(q.forms)-1] != last {
		t.Error("the latest is gone")
	}
}
