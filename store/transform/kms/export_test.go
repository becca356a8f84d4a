package kms

import "time"

// SetNow has e take the time from a clock of the test.
func (e *Envelope) SetNow(now func() time.Time) { e.now = now }
