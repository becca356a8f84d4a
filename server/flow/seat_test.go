package flow

import (
	"context"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// TestUntil: a request gives up after a quarter of its time, and after a minute at most.
func TestUntil(t *testing.T) {
	received := time.Now()
	queued := received.Add(time.Second)
	for _, test := range []struct {
		name     string
		has      time.Duration // 0 for no deadline
		usual    time.Duration
		anew     bool
		unknown  bool // when it was received
		wantFrom time.Time
		want     time.Duration
	}{
		{name: "little time", has: 8 * time.Second, usual: 15 * time.Second, wantFrom: received, want: 2 * time.Second},
		{name: "much time", has: 10 * time.Minute, usual: 150 * time.Second, wantFrom: received, want: time.Minute},
		{name: "a watch", usual: 15 * time.Second, wantFrom: received, want: 15 * time.Second},
		{name: "a watch where others have much time", usual: 150 * time.Second, wantFrom: received, want: time.Minute},
		{name: "a second seat", has: 9 * time.Second, usual: 15 * time.Second, anew: true, wantFrom: queued, want: 2 * time.Second},
		{name: "received at a time that nobody knows", has: 9 * time.Second, usual: 15 * time.Second, unknown: true, wantFrom: queued, want: 2 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx := t.Context()
			if test.has > 0 {
				limited, cancel := context.WithDeadline(ctx, received.Add(test.has))
				defer cancel()
				ctx = limited
			}
			if !test.unknown {
				ctx = request.WithReceivedTimestamp(ctx, received)
			}
			c := Control{wait: test.usual}
			if got := c.deadline(ctx, &turn{begun: queued, again: test.anew}); !got.Equal(test.wantFrom.Add(test.want)) {
				t.Errorf("it gives up %s after it was received", got.Sub(received))
			}
		})
	}
}
