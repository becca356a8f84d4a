package fuzztest

import "math/rand/v2"

// Seeds returns inputs that together take every production of the grammar. They are the same for the same surface.
func Seeds(surface *Surface) (seeds [][]byte) {
	random := rand.New(rand.NewPCG(1, 2))
	left := map[string]bool{}
	for _, name := range Productions() {
		left[name] = true
	}
	for len(left) > 0 {
		best, most := []byte(nil), map[string]bool{}
		for range 100 {
			seed := make([]byte, 40+random.IntN(80))
			for i := range seed {
				seed[i] = byte(random.Uint32())
			}
			if found := newIn(seed, surface, left); len(found) > len(most) {
				best, most = seed, found
			}
		}
		if best == nil {
			continue
		}
		seeds = append(seeds, best)
		for name := range most {
			delete(left, name)
		}
	}
	return seeds
}

func newIn(seed []byte, surface *Surface, left map[string]bool) map[string]bool {
	g, found := New(seed, surface), map[string]bool{}
	for {
		if _, more := g.Next(); !more {
			break
		}
	}
	for name := range g.Taken() {
		if left[name] {
			found[name] = true
		}
	}
	return found
}
