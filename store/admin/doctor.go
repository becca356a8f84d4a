package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Level is the severity of a finding.
type Level string

// The levels.
const (
	OK      Level = "ok"
	Warning Level = "warning"
	Problem Level = "problem"
)

// Finding is the result of one check.
type Finding struct {
	Check   string `json:"check"`
	Level   Level  `json:"level"`
	Finding string `json:"finding"`
	// Advice is the next action, empty if all is well.
	Advice string `json:"advice,omitempty"`
	// Keys are examples.
	Keys []string `json:"keys,omitempty"`
}

// The limits beyond which a check complains.
const (
	slowRead, verySlowRead     = 50 * time.Millisecond, 500 * time.Millisecond
	reads                      = 9
	quotaWarning, quotaProblem = 0.80, 0.95
	// A file is worth defragmenting if more than this share of it is free, and more than this many bytes.
	freeShare, freeBytes = 0.5, 100 << 20
	raftLag              = 1000
	// By default etcd takes 1.5 MiB: a megabyte is close to it.
	largeBytes, tooLargeBytes = 512 << 10, 1 << 20
	// A key is hot if it has had hotWrites writes since the oldest revision, and these are hotShare of all writes.
	hotWrites, hotShare = 100, 0.2
	// clockSkew tolerates times in objects that are ahead of this machine's clock.
	clockSkew = time.Minute
	// mostExamples limits the keys in a finding.
	mostExamples = 5
)

// Examine checks an etcd, or the file of one, and its contents. custom, if not nil, checks custom resources; progress,
// if not nil, is called for each key.
func Examine(ctx context.Context, s Source, d *Decoder, custom CustomCheck, now time.Time, progress func(keys int)) ([]Finding, error) {
	var out []Finding
	if live, ok := s.(*Live); ok {
		latency, err := live.examineLatency(ctx)
		members := live.Status(ctx)
		out = append(out, latency, examineMembers(members))
		if err != nil {
			// No other question would be answered either.
			return out, nil
		}
		alarms, err := live.Alarms(ctx, false)
		if err != nil {
			return out, err
		}
		out = append(out, examineAlarms(alarms), examineQuota(members), examineFragments(members))
	}
	head, err := s.Head(ctx)
	if err != nil {
		return out, err
	}
	out = append(out, examineHistory(ctx, s, head))
	c := &contents{decoder: d, custom: custom, now: now, reasons: map[string]int{}, orphanResources: map[string]bool{},
		resources: map[schema.GroupResource]bool{}}
	contents, err := c.examine(ctx, s, head, progress)
	return append(out, contents...), err
}

func (l *Live) examineLatency(ctx context.Context) (Finding, error) {
	f := Finding{Check: "latency", Level: OK}
	var took []time.Duration
	read := func() error {
		ctx, cancel := context.WithTimeout(ctx, answerTimeout)
		defer cancel()
		_, err := l.Client.Get(ctx, compactRevKey)
		return err
	}
	for range reads {
		start := time.Now()
		if err := read(); err != nil {
			f.Level, f.Finding = Problem, fmt.Sprintf("a consistent read fails: %v", err)
			f.Advice = "a majority of the members has to run and reach each other: look at kx etcd status and at etcd's log"
			return f, err
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	median := took[len(took)/2]
	f.Finding = fmt.Sprintf("a consistent read takes %s", median.Round(10*time.Microsecond))
	if median >= slowRead {
		f.Level = Warning
		f.Advice = "etcd wants a fast disk (fsync below 10 ms) and members close to each other: look at the disk, the network and the load"
	}
	if median >= verySlowRead {
		f.Level = Problem
	}
	return f, nil
}

// failures are a member's errors but for alarms, which are a finding of their own.
func failures(m MemberStatus) []string {
	return slices.DeleteFunc(slices.Clone(m.Errors), func(e string) bool { return strings.Contains(e, "alarm:") })
}

func examineMembers(members []MemberStatus) Finding {
	f := Finding{Check: "members", Level: OK}
	var wrong []string
	var newest uint64
	versions := map[string]bool{}
	for _, m := range members {
		newest = max(newest, m.RaftIndex)
		if m.Version != "" {
			versions[m.Version] = true
		}
	}
	for _, m := range members {
		switch {
		case len(failures(m)) > 0:
			wrong = append(wrong, fmt.Sprintf("%s: %s", m.Endpoint, strings.Join(failures(m), ", ")))
		case !m.HasLeader:
			wrong = append(wrong, m.Endpoint+" knows no leader")
		case newest > m.RaftApplied+raftLag: // a member may have applied more by now
			wrong = append(wrong, fmt.Sprintf("%s is %d log entries behind", m.Endpoint, newest-m.RaftApplied))
		}
	}
	f.Finding = fmt.Sprintf("%d asked, all well", len(members))
	switch {
	case len(wrong) > 0:
		f.Level, f.Finding = Problem, strings.Join(wrong, "; ")
		f.Advice = "start what does not run; replace a member that does not catch up"
	case len(versions) > 1:
		f.Level, f.Finding = Warning, fmt.Sprintf("they run %d versions", len(versions))
		f.Advice = "finish the upgrade"
	}
	return f
}

func examineAlarms(alarms []Alarm) Finding {
	f := Finding{Check: "alarms", Level: OK, Finding: "none"}
	if raised(alarms, etcdserverpb.AlarmType_CORRUPT) {
		f.Level, f.Finding = Problem, "a member's data is not what the others have"
		f.Advice = "compare kx etcd hash of the members, and replace the one that differs"
	} else if raised(alarms, etcdserverpb.AlarmType_NOSPACE) {
		f.Level, f.Finding = Problem, "the quota is used up: etcd refuses all writes"
		f.Advice = "kx etcd top says what fills it; delete, then kx etcd compact, kx etcd defrag, kx etcd alarms --disarm"
	}
	return f
}

func examineQuota(members []MemberStatus) Finding {
	f := Finding{Check: "quota", Level: OK, Finding: "the quota is not told by this version of etcd"}
	most := -1.0 // the fullest member decides
	for _, m := range members {
		if m.Quota == 0 {
			continue
		}
		share := float64(m.DBSize) / float64(m.Quota)
		if share <= most {
			continue
		}
		if most = share; share >= quotaProblem {
			f.Level = Problem
		} else if share >= quotaWarning {
			f.Level = Warning
		}
		f.Finding = fmt.Sprintf("%s uses %.1f %% of its quota", m.Endpoint, 100*share)
	}
	if f.Level != OK {
		f.Advice = "kx etcd top says what fills it; kx etcd compact and kx etcd defrag free what is no longer needed; " +
			"an etcd outside kx can have more with --quota-backend-bytes"
	}
	return f
}

func examineFragments(members []MemberStatus) Finding {
	f := Finding{Check: "fragmentation", Level: OK, Finding: "none worth mentioning"}
	for _, m := range members {
		if free := m.DBSize - m.InUse; free > freeBytes && float64(free) > freeShare*float64(m.DBSize) {
			f.Level = Warning
			f.Finding = fmt.Sprintf("%s: %d of %d MiB of the file are free", m.Endpoint, free>>20, m.DBSize>>20)
			f.Advice = "kx etcd defrag makes the file smaller; the member answers nobody meanwhile"
		}
	}
	return f
}

// examineHistory checks whether etcd's history is compacted.
func examineHistory(ctx context.Context, s Source, head Head) Finding {
	f := Finding{Check: "history", Level: OK}
	f.Finding = fmt.Sprintf("revisions %d to %d can be read", max(head.Compacted, 1), head.Revision)
	kv, err := s.Get(ctx, compactRevKey, 0)
	if err == nil && kv == nil && head.Compacted == 0 && head.Revision > 100_000 {
		f.Level = Warning
		f.Finding += ", and nobody has ever compacted"
		f.Advice = "an API server compacts unless --etcd-compaction-interval is 0; kx etcd compact does it once"
	}
	return f
}

// contents collects what one pass over all keys finds.
type contents struct {
	decoder *Decoder
	custom  CustomCheck
	now     time.Time

	keys            int64
	large           examples
	largest         int
	unreadable      examples
	reasons         map[string]int
	orphans         examples
	orphanResources map[string]bool
	unfit           examples
	unfitReason     string
	unchecked       map[schema.GroupResource]error
	ahead           examples
	farthest        time.Duration
	hot             []Usage
	churn           int64
	resources       map[schema.GroupResource]bool
}

// examples counts keys and keeps the first few.
type examples struct {
	count int64
	keys  []string
}

func (e *examples) add(key string) {
	if e.count++; len(e.keys) < mostExamples {
		e.keys = append(e.keys, key)
	}
}

func (c *contents) examine(ctx context.Context, s Source, head Head, progress func(int)) ([]Finding, error) {
	d := c.decoder
	for kv, err := range Subtree(ctx, s, Path(d.Prefix, definitions), Range{Revision: head.Revision, KeysOnly: true}) {
		if err != nil {
			return nil, err
		}
		c.resources[schema.ParseGroupResource(kv.Key[strings.LastIndexByte(kv.Key, '/')+1:])] = true
	}
	o := TopOptions{Prefix: d.Prefix, Path: d.Prefix, Since: max(head.Compacted, 1), Revision: head.Revision}
	for p, err := range topPairs(ctx, s, o) {
		if err != nil {
			return nil, err
		}
		if progress != nil {
			progress(1)
		}
		u := use(p)
		c.churn += u.Churn
		if u.Churn >= hotWrites {
			c.hot = append(c.hot, u)
			if len(c.hot) >= 1000 {
				c.hot = c.hottest(mostExamples)
			}
		}
		if p.after != nil {
			c.look(ctx, p.after)
		}
	}
	return c.findings(), nil
}

func (c *contents) hottest(n int) []Usage {
	slices.SortFunc(c.hot, func(a, b Usage) int { return cmp.Compare(b.Churn, a.Churn) })
	return c.hot[:min(n, len(c.hot))]
}

func (c *contents) look(ctx context.Context, kv *KV) {
	c.keys++
	if size := len(kv.Value); size >= largeBytes {
		c.large.add(kv.Key)
		c.largest = max(c.largest, size)
	}
	l, ok := Locate(c.decoder.Prefix, kv.Key)
	if !ok {
		return
	}
	if l.Custom && !c.resources[l.Resource] {
		c.orphans.add(kv.Key)
		c.orphanResources[l.Resource.String()] = true
	}
	created, err := c.decoder.creationTime(kv.Key, kv.Value)
	if err != nil {
		c.unreadable.add(kv.Key)
		var reason *DecodeError
		if errors.As(err, &reason) && (len(c.reasons) < mostExamples || c.reasons[reason.Reason] > 0) {
			c.reasons[reason.Reason]++
		}
		return
	}
	if l.Custom && c.custom != nil && c.resources[l.Resource] {
		c.check(ctx, l.Resource, kv)
	}
	if ahead := created.Sub(c.now); ahead > clockSkew {
		c.ahead.add(kv.Key)
		c.farthest = max(c.farthest, ahead)
	}
}

func (c *contents) findings() []Finding {
	all := []Finding{c.sizes(), c.hotKeys(), c.findOrphans(), c.undecodable()}
	if c.custom != nil {
		all = append(all, c.schemas())
	}
	return append(all, c.clock())
}

func (c *contents) sizes() Finding {
	f := Finding{Check: "large objects", Level: OK, Finding: fmt.Sprintf("none of %d values has %d KiB", c.keys, largeBytes>>10),
		Keys: c.large.keys}
	if c.large.count > 0 {
		f.Level = Warning
		f.Finding = fmt.Sprintf("%d of %d have %d KiB or more, the largest %d KiB", c.large.count, c.keys, largeBytes>>10, c.largest>>10)
		f.Advice = "kx etcd top --by object lists them; etcd takes 1.5 MiB by default, and each watcher gets each change of them in full"
	}
	if c.largest >= tooLargeBytes {
		f.Level = Problem
	}
	return f
}

func (c *contents) hotKeys() Finding {
	f := Finding{Check: "hot keys", Level: OK, Finding: fmt.Sprintf("none stands out of %d writes", c.churn)}
	for _, u := range c.hottest(mostExamples) {
		if float64(u.Churn) < hotShare*float64(c.churn) {
			continue
		}
		f.Level = Warning
		f.Keys = append(f.Keys, u.Name)
		f.Finding = fmt.Sprintf("%d keys make a fifth or more of %d writes each", len(f.Keys), c.churn)
		f.Advice = "kx etcd history KEY says who writes them"
	}
	return f
}

func (c *contents) findOrphans() Finding {
	f := Finding{Check: "orphans", Level: OK, Finding: "every custom resource has its definition", Keys: c.orphans.keys}
	if c.orphans.count > 0 {
		var names []string
		for name := range c.orphanResources {
			names = append(names, name)
		}
		slices.Sort(names)
		f.Level = Warning
		f.Finding = fmt.Sprintf("%d keys are of custom resources without a definition: %s", c.orphans.count, strings.Join(names, ", "))
		f.Advice = "create the CustomResourceDefinition again to reach them, or kx etcd delete them"
	}
	return f
}

func (c *contents) undecodable() Finding {
	f := Finding{Check: "values", Level: OK, Finding: "all can be decoded", Keys: c.unreadable.keys}
	if c.unreadable.count > 0 {
		var reasons []string
		for reason, n := range c.reasons {
			reasons = append(reasons, fmt.Sprintf("%s (%d)", reason, n))
		}
		slices.Sort(reasons)
		f.Level = Problem
		f.Finding = fmt.Sprintf("%d can't be decoded: %s", c.unreadable.count, strings.Join(reasons, "; "))
		f.Advice = "one such value makes each list of its resource fail: " +
			"kx etcd history KEY shows older revisions to put back, kx etcd delete --force KEY removes it"
	}
	return f
}

func (c *contents) clock() Finding {
	f := Finding{Check: "clock", Level: OK, Finding: "no object is from the future", Keys: c.ahead.keys}
	if c.ahead.count > 0 {
		f.Level = Warning
		f.Finding = fmt.Sprintf("%d objects were created up to %s after this machine's time", c.ahead.count, c.farthest.Round(time.Second))
		f.Advice = "compare the clocks of this machine and of the API servers: certificates, leases and timeouts go by them"
	}
	return f
}
