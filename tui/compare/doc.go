// Package compare is the screen Compare: two requests step by step, such as a read that the cache answered beside one that
// asked etcd, or a write beside the one that was refused. It opens above the others.
//
// What comes in are two journeys; what is shown are their steps, aligned (tui/compare/align), how long each took, and, of
// the pair under the cursor, why each went as it did and how the objects differ. What means something has a mark: ~ a step
// that both took and that went otherwise, < one that the first took alone, > one that the second took alone.
package compare
