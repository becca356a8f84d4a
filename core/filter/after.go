package filter

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// afterNode asks whether a request began after one of those that it names.
type afterNode struct{ requests []reference }

// reference names another request.
type reference struct {
	id     string
	column int
	began  int64 // in microseconds; 0 if it is not known
}

// match compares the numbers of two requests of one process, or else the times at which they began.
func (n afterNode) match(s Subject) bool {
	v, ok := s.Field("after")
	return ok && slices.ContainsFunc(n.requests, func(r reference) bool {
		if process, number, ok := splitID(r.id); ok {
			if p, own, ok := splitID(v.text); ok && p == process {
				return own > number
			}
		}
		return r.began > 0 && v.number > r.began
	})
}

// splitID splits an ID into the process and the request's number.
func splitID(id string) (process string, number uint64, ok bool) {
	i := strings.LastIndexByte(id, '-')
	if i < 0 {
		return "", 0, false
	}
	number, err := strconv.ParseUint(id[i+1:], 10, 64)
	return id[:i], number, err == nil
}

// SameProcess says whether one process gave both IDs, so that their order is known without the requests.
func SameProcess(a, b string) bool {
	x, _, ok1 := splitID(a)
	y, _, ok2 := splitID(b)
	return ok1 && ok2 && x == y
}

func (n afterNode) write(w *writer, _ int) {
	w.WriteString("after:")
	for i, r := range n.requests {
		if i > 0 {
			w.WriteByte(',')
		}
		w.WriteString(quoteValue(r.id))
	}
}

func (n afterNode) cost() int { return costRequest }

// Resolve looks up the requests that the filter names by after:, and returns a filter that knows when they began. began
// returns the time of one request, or zero if only its number is known. A request that is not known is an [*Error].
func (f Filter) Resolve(began func(id string) (at time.Time, known bool)) (Filter, error) {
	if f.root == nil {
		return f, nil
	}
	root, err := resolve(f.root, began)
	if err != nil {
		err.Filter = f.String()
		return Filter{}, err
	}
	return Filter{root}, nil
}

// resolve does not look into conditions on steps: after: is a field of requests only.
func resolve(n node, began func(string) (time.Time, bool)) (node, *Error) {
	switch n := n.(type) {
	case orNode:
		parts, err := resolveAll(n.parts, began)
		return orNode{join(parts)}, err
	case andNode:
		parts, err := resolveAll(n.parts, began)
		return andNode{join(parts)}, err
	case notNode:
		inner, err := resolve(n.node, began)
		return notNode{inner}, err
	case afterNode:
		return n.resolved(began)
	}
	return n, nil
}

func resolveAll(parts []node, began func(string) (time.Time, bool)) ([]node, *Error) {
	resolved := slices.Clone(parts)
	for i := range resolved {
		var err *Error
		if resolved[i], err = resolve(parts[i], began); err != nil {
			return parts, err
		}
	}
	return resolved, nil
}

func (n afterNode) resolved(began func(string) (time.Time, bool)) (node, *Error) {
	requests := slices.Clone(n.requests)
	for i := range requests {
		r := &requests[i]
		at, known := began(r.id)
		if !known {
			return n, &Error{Column: r.column, Problem: "no request " + strconv.Quote(r.id) + " is known here",
				Expected: "the ID of a request, as kx trace ls shows it"}
		}
		if !at.IsZero() {
			r.began = at.UnixMicro()
		}
	}
	return afterNode{requests}, nil
}
