package crd

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestGate: nobody gets in once it is closed, and it is empty when the last of those inside has left, not before.
func TestGate(t *testing.T) {
	for range 200 {
		g := newGate()
		var inside, entered, refused atomic.Int64
		var people sync.WaitGroup
		begin := make(chan struct{})
		for range 8 {
			people.Go(func() {
				<-begin
				for range 50 {
					if !g.enter() {
						refused.Add(1)
						continue
					}
					entered.Add(1)
					inside.Add(1)
					inside.Add(-1)
					g.leave()
				}
			})
		}
		close(begin)
		<-g.close()
		if n := inside.Load(); n != 0 {
			t.Fatalf("%d are inside of an empty room", n)
		}
		people.Wait()
		if g.enter() {
			t.Fatal("it is closed, and somebody got in")
		}
		if entered.Load()+refused.Load() != 400 {
			t.Fatal("somebody was neither let in nor refused")
		}
	}
}

// TestGateThatNobodyUsed is empty at once.
func TestGateThatNobodyUsed(t *testing.T) {
	<-newGate().close()
}
