package admin

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Usage sums up the size and the writes of some keys.
type Usage struct {
	Name string `json:"name"`
	Keys int64  `json:"keys"`
	// Bytes is the size of keys and values, Largest that of the largest value.
	Bytes   int64 `json:"bytes"`
	Largest int64 `json:"largest"`
	// Writes counts the writes since the keys were created.
	Writes int64 `json:"writes"`
	// Churn counts the writes and deletions since TopOptions.Since.
	Churn int64 `json:"churn"`
}

func (u *Usage) add(other Usage) {
	u.Keys += other.Keys
	u.Bytes += other.Bytes
	u.Largest = max(u.Largest, other.Largest)
	u.Writes += other.Writes
	u.Churn += other.Churn
}

// TopOptions say what to sum up.
type TopOptions struct {
	// Prefix begins the API server's keys. Only keys at Path and below count.
	Prefix, Path string
	// By is "resource", "namespace" or "object".
	By string
	// Sort is "bytes", "keys", "writes" or "churn".
	Sort string
	// Churn is counted from the revision Since to Revision. All else is read at Revision; 0 is now.
	Since, Revision int64
	// Limit bounds the returned usages.
	Limit int
}

// topBy and topSort are the allowed values of TopOptions.By and Sort.
var (
	topBy   = []string{"resource", "namespace", "object"}
	topSort = []string{"bytes", "keys", "writes", "churn"}
)

func (o *TopOptions) validate() error {
	if !slices.Contains(topBy, o.By) {
		return fmt.Errorf("top can't be by %q: it can be by %s", o.By, strings.Join(topBy, ", "))
	}
	if !slices.Contains(topSort, o.Sort) {
		return fmt.Errorf("top can't be sorted by %q: it can be by %s", o.Sort, strings.Join(topSort, ", "))
	}
	return nil
}

// measure returns the figure that usages are sorted by.
func (o *TopOptions) measure(u *Usage) int64 {
	switch o.Sort {
	case "keys":
		return u.Keys
	case "writes":
		return u.Writes
	case "churn":
		return u.Churn
	}
	return u.Bytes
}

// Top sums up the usage of an etcd, and returns the largest usages and the sum of all. It keeps one Usage for each
// resource or namespace; of objects it keeps only the largest. progress, if not nil, is called for each key.
func Top(ctx context.Context, s Source, o TopOptions, progress func(keys int)) (top []Usage, total Usage, err error) {
	if err := o.validate(); err != nil {
		return nil, total, err
	}
	groups := map[string]*Usage{}
	total.Name = "total"
	for p, err := range topPairs(ctx, s, o) {
		if err != nil {
			return nil, total, err
		}
		u := use(p)
		total.add(u)
		if progress != nil {
			progress(1)
		}
		if o.By == "object" {
			top = append(top, u)
			// Collecting twice the limit before sorting bounds the memory and keeps the work from being quadratic.
			if len(top) >= 2*o.Limit+1000 {
				top = o.largest(top)
			}
			continue
		}
		u.Name = o.group(u.Name)
		if groups[u.Name] == nil {
			groups[u.Name] = &Usage{Name: u.Name}
		}
		groups[u.Name].add(u)
	}
	for _, u := range groups {
		top = append(top, *u)
	}
	return o.largest(top), total, nil
}

// topPairs streams all keys now, and their state where churn begins.
func topPairs(ctx context.Context, s Source, o TopOptions) iter.Seq2[pair, error] {
	after := Subtree(ctx, s, o.Path, Range{Revision: o.Revision})
	if o.Since > 0 {
		return merge(Subtree(ctx, s, o.Path, Range{Revision: o.Since, KeysOnly: true}), after)
	}
	// Without Since there is no churn.
	return func(yield func(pair, error) bool) {
		for kv, err := range after {
			if !yield(pair{before: &kv, after: &kv}, err) || err != nil {
				return
			}
		}
	}
}

func use(p pair) Usage {
	if p.after == nil {
		return Usage{Name: p.before.Key, Churn: 1}
	}
	size := int64(len(p.after.Value))
	u := Usage{Name: p.after.Key, Keys: 1, Bytes: size + int64(len(p.after.Key)), Largest: size, Writes: p.after.Version,
		Churn: p.after.Version}
	if p.before != nil && p.before.CreateRevision == p.after.CreateRevision {
		u.Churn -= p.before.Version
	} else if p.before != nil {
		u.Churn++ // it was deleted in between
	}
	return u
}

func (o *TopOptions) group(key string) string {
	resource, rest, ok := SplitKey(o.Prefix, key)
	switch {
	case !ok:
		return "(not below " + o.Prefix + ")"
	case o.By == "resource":
		return resource
	case len(rest) == 2:
		return rest[0]
	}
	return "(no namespace)"
}

func (o *TopOptions) largest(all []Usage) []Usage {
	slices.SortFunc(all, func(a, b Usage) int {
		return cmp.Or(cmp.Compare(o.measure(&b), o.measure(&a)), cmp.Compare(a.Name, b.Name))
	})
	if o.Limit > 0 && len(all) > o.Limit {
		all = all[:o.Limit]
	}
	return all
}
