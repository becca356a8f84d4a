// Package compare is the screen Compare: two requests step by step, such as a read from the cache beside a read from
// etcd, or a successful write beside a refused one. It opens above the others.
//
// It takes two journeys. It shows their aligned steps (tui/diff) with the durations, and for the pair under
// the cursor the reasons and the differences of the objects. Each kind of row has a mark: ~ a step that both took
// with different outcomes, < a step of the first alone, > a step of the second alone.
package compare
