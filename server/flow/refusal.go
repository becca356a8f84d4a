package flow

import "sync"

// longestRetry is the longest time after which a refused client should try again, in seconds.
const longestRetry = 32

// refusals counts refused requests: the more a level refuses, the later should its clients try again. mu guards levels.
type refusals struct {
	mu     sync.Mutex
	levels map[string]*refusalCount
}

// refusalCount counts the refused requests of a level. after is the Retry-After for its clients.
type refusalCount struct {
	now, after, raised int64
	// counts has the number of a second at its remainder: those of the latest seconds.
	counts [2 * longestRetry]int64
}

// add counts a refused request, and returns the number of seconds after which its client should try again.
func (r *refusals) add(level string, now int64) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.levels == nil {
		r.levels = map[string]*refusalCount{}
	}
	if r.levels[level] == nil {
		r.levels[level] = &refusalCount{after: 1, now: now - 1}
	}
	one := r.levels[level]
	if now > one.now {
		one.begin(now)
	}
	one.counts[one.now%int64(len(one.counts))]++
	return one.after
}

// begin begins a second. Like a sender in TCP, it doubles the time if many requests were refused during the last such
// time, and shortens it by a second if few were.
func (r *refusalCount) begin(now int64) {
	for second := max(r.now+1, now-int64(len(r.counts))+1); second <= now; second++ {
		r.counts[second%int64(len(r.counts))] = 0
	}
	r.now = now
	lately := int64(0)
	for second := now - r.after; second < now; second++ {
		lately += r.counts[second%int64(len(r.counts))]
	}
	switch {
	case lately >= 3*r.after && now-r.raised >= r.after:
		r.after, r.raised = min(2*r.after, longestRetry), now
	case lately < r.after && r.after > 1:
		r.after--
	}
}
