package render

import (
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kx-apiserver/kx/cmd/kx/internal/migrate"
	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/backup"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/shell"
)

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// Members lists the members of a cluster.
var Members = columns("ID  NAME  LEARNER  PEER URLS  CLIENT URLS", func(m admin.Member) []any {
	return []any{m.ID, m.Name, m.Learner, strings.Join(m.PeerURLs, ","), dash(strings.Join(m.ClientURLs, ","))}
})

// Statuses lists members with their state.
var Statuses = columns("ENDPOINT  VERSION  DB  IN USE  QUOTA  REVISION  RAFT TERM  INDEX  STATE", func(m admin.MemberStatus) []any {
	state := "no leader"
	switch {
	case len(m.Errors) > 0:
		state = strings.Join(m.Errors, ", ")
	case m.Leader:
		state = "leader"
	case m.Learner:
		state = "learner"
	case m.HasLeader:
		state = "follower"
	}
	return []any{m.Endpoint, m.Version, Bytes(m.DBSize), Bytes(m.InUse), Bytes(m.Quota), m.Revision, m.RaftTerm, m.RaftIndex, state}
})

// Alarms lists the alarms of members.
var Alarms = columns("MEMBER  ALARM", func(a admin.Alarm) []any { return []any{a.Member, a.Alarm} })

// Hashes lists the hashes of members.
var Hashes = columns("ENDPOINT  HASH  REVISION  COMPACTED", func(h admin.Hash) []any {
	return []any{h.Endpoint, h.Hash, h.Revision, h.Compacted}
})

// Leases lists leases.
var Leases = columns("ID  GRANTED  REMAINING  KEYS  NAMES", func(l admin.Lease) []any {
	return []any{l.ID, time.Duration(l.GrantedSeconds) * time.Second, time.Duration(l.RemainingSeconds) * time.Second, l.Keys,
		strings.Join(l.Names, " ")}
})

// Defragmented lists defragmented members.
var Defragmented = columns("ENDPOINT  BEFORE  AFTER  TOOK", func(d admin.Defragmentation) []any {
	return []any{d.Endpoint, Bytes(d.Before), Bytes(d.After), time.Duration(d.TookMs) * time.Millisecond}
})

// Snapshots lists snapshots.
var Snapshots = columns("FILE  REVISION  COMPACTED  KEYS  SIZE  SUM", func(i *admin.SnapshotInfo) []any {
	sum := "right"
	if i.Sum == "" {
		sum = "none: a copy of a database"
	}
	return []any{i.File, i.Revision, i.Compacted, Count(i.Keys), Bytes(i.Size), sum}
})

// Archives lists archives.
var Archives = columns("FILE  REVISION  KEYS  SIZE  FILES  READ BACK", func(s *backup.Summary) []any {
	return []any{s.File, s.Manifest.Etcd.Revision, Count(s.Manifest.Etcd.Keys), Bytes(s.Size), len(s.Parts), s.Manifest.Verified}
})

// Restore is the result of a restore.
type Restore struct {
	*admin.RestoreResult
	// Parts lists the restored files besides etcd's. Missing lists encryption keys that values need, and that the
	// archive lacks.
	Parts   []string          `json:"parts,omitempty"`
	Missing []admin.NeededKey `json:"missing,omitempty"`
	// Serve is the command that serves the restored state as before.
	Serve []string `json:"serve,omitempty"`
}

var restored = columns("DIRECTORY  KEYS  SNAPSHOT'S REVISION  REVISION", func(r *Restore) []any {
	return []any{r.Dir, Count(r.Keys), r.Snapshot, r.Revision}
})

// Write writes a table with one row, and below it the restored files and the missing keys.
func (r *Restore) Write(out io.Writer) error {
	if err := All(out, Table, restored, r); err != nil {
		return err
	}
	var b strings.Builder
	if len(r.Parts) > 0 {
		fmt.Fprintf(&b, "restored: etcd, %s\n", strings.Join(r.Parts, ", "))
	}
	for _, m := range r.Missing {
		fmt.Fprintf(&b,
			"missing: the key %s of %s, which %s values need: start kx serve with an --encryption-provider-config that has it\n",
			escape.Line(m.Key), escape.Line(m.Provider), Count(m.Values))
	}
	if len(r.Serve) > 0 {
		fmt.Fprintf(&b, "serve it: %s\n", escape.Line(shell.Line(r.Serve...)))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// PutBack lists the objects that were created again.
var PutBack = columns("KIND  NAMESPACE  NAME  OUTCOME  NOTES", func(p migrate.Restoration) []any {
	return []any{p.Kind, p.Namespace, p.Name, p.Outcome, strings.Join(append(p.Notes, p.Error), " ")}
})

// Tree lists the nodes of a tree of keys. The first level has full paths; below it, the last part is indented.
func Tree(keysOnly bool) Columns[admin.Node] {
	name := func(n admin.Node) string {
		indent := strings.Repeat("  ", max(n.Depth-1, 0))
		switch {
		case n.More:
			return indent + fmt.Sprintf("… %s more", Count(n.Keys))
		case n.Depth <= 1:
			return n.Path
		}
		return indent + n.Path[strings.LastIndexByte(strings.TrimSuffix(n.Path, "/"), '/')+1:]
	}
	if keysOnly {
		return columns("KEY  KEYS  REVISION", func(n admin.Node) []any { return []any{name(n), Count(n.Keys), n.Revision} })
	}
	return columns("KEY  KEYS  BYTES  REVISION", func(n admin.Node) []any {
		return []any{name(n), Count(n.Keys), Bytes(n.Bytes), n.Revision}
	})
}

// Usage lists the usage of etcd by group of keys. title is the title of the first column.
func Usage(title string) Columns[admin.Usage] {
	return columns(title+"  KEYS  BYTES  LARGEST  WRITES  CHURN", func(u admin.Usage) []any {
		return []any{u.Name, Count(u.Keys), Bytes(u.Bytes), Bytes(u.Largest), Count(u.Writes), Count(u.Churn)}
	})
}

// Matches lists found objects, with the results of a JSONPath if there is one.
func Matches(criteria admin.Criteria) Columns[admin.Match] {
	switch {
	case criteria.JSONPath != "":
		return columns("KEY  REVISION  RESULT", func(m admin.Match) []any {
			if m.Error != "" {
				return []any{m.Key, m.Revision, m.Error}
			}
			return []any{m.Key, m.Revision, strings.Join(m.Results, ", ")}
		})
	case criteria.Labels != nil:
		return columns("KEY  REVISION  ERROR", func(m admin.Match) []any { return []any{m.Key, m.Revision, m.Error} })
	}
	return columns("KEY  REVISION", func(m admin.Match) []any { return []any{m.Key, m.Revision} })
}

// Value writes the value of a key: raw, decoded, or as a table about the key.
func Value(out io.Writer, format Format, kv *admin.KV, decoder *admin.Decoder) error {
	switch format {
	case Raw:
		_, err := out.Write(kv.Value)
		return err
	case Hex:
		_, err := io.WriteString(out, hex.Dump(kv.Value))
		return err
	}
	value, err := decoder.Decode(kv.Key, kv.Value)
	if err != nil {
		return err
	}
	var data []byte
	switch format {
	case JSON:
		data, err = value.JSON()
		data = append(escape.JSON(data), '\n')
	case YAML:
		data, err = value.YAML()
	default:
		return All(out, format,
			columns("KEY  KIND  FORMAT  ENCRYPTION  BYTES  CREATED  REVISION  VERSION  LEASE", func(kv *admin.KV) []any {
				kind := strings.TrimSpace(value.Kind.GroupVersion().String() + " " + value.Kind.Kind)
				lease := "-"
				if kv.Lease != 0 {
					lease = fmt.Sprintf("%x", kv.Lease)
				}
				return []any{kv.Key, kind, string(value.Format), value.Encryption, Bytes(len(kv.Value)), kv.CreateRevision, kv.ModRevision,
					kv.Version, right(lease)}
			}), kv)
	}
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	return err
}

// Changes lists the changes of a key.
var Changes = columns("REVISION  OPERATION  TIME  BYTES  WRITTEN BY", func(c admin.Change) []any {
	by := authors(c)
	if c.Error != "" {
		by = c.Error
	}
	return []any{c.Revision, c.Operation, timeText(c.Time), Bytes(c.Bytes), by}
})

// authors names the writers of a change.
func authors(c admin.Change) string {
	var names []string
	for _, a := range c.Authors {
		name := a.Manager
		if a.Subresource != "" {
			name += "/" + a.Subresource
		}
		if a.Operation == "Apply" {
			name += " (apply)"
		}
		names = append(names, name)
	}
	return dash(strings.Join(names, ", "))
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// Event is a change of a key.
type Event struct {
	Key string `json:"key"`
	admin.Change
	Object map[string]any `json:"object,omitempty"`
}

// Events lists events. The list has no end, so the columns have fixed widths.
var Events = Columns[Event]{
	titles: []string{"REVISION", "OPERATION", "BYTES", "WRITTEN BY", "KEY"},
	least:  []int{8, 0, 9, 24, 0},
	cells: func(e Event) []any {
		key := e.Key
		if e.Error != "" {
			key = e.Error
		}
		return []any{e.Revision, e.Operation, Bytes(e.Bytes), authors(e.Change), key}
	},
}

// History writes a change and its difference to the object before, and returns the object for the next call.
func History(out io.Writer, c admin.Change, before []byte, colored bool) (after []byte, err error) {
	fmt.Fprintf(out, "revision %d  %s  %s  %s  %s\n", c.Revision, c.Operation, timeText(c.Time), Bytes(c.Bytes), escape.Line(authors(c)))
	if c.Error != "" {
		_, err := fmt.Fprintf(out, "  %s\n\n", escape.Text(c.Error))
		return before, err
	}
	if c.Value != nil {
		if after, err = c.Value.JSON(); err != nil {
			return nil, err
		}
	}
	if err := writeDiff(out, before, after, colored); err != nil {
		return nil, err
	}
	_, err = fmt.Fprintln(out)
	return after, err
}

// Difference is a key whose values differ at two revisions.
type Difference struct {
	Key            string         `json:"key"`
	Operation      string         `json:"operation"`
	BeforeRevision int64          `json:"beforeRevision,omitempty"`
	AfterRevision  int64          `json:"afterRevision,omitempty"`
	Before         map[string]any `json:"before,omitempty"`
	After          map[string]any `json:"after,omitempty"`
}

// Differences writes differences as a list or as text.
type Differences struct {
	*List[Difference]
	decoder *admin.Decoder
	colored bool
}

// NewDifferences begins a list; Close ends it.
func NewDifferences(out io.Writer, format Format, decoder *admin.Decoder, colored bool) *Differences {
	return &Differences{NewList(out, format, Columns[Difference]{}), decoder, colored}
}

// Add writes a difference.
func (d *Differences) Add(found admin.Difference) error {
	operation := "update"
	switch {
	case found.Before == nil:
		operation = "create"
	case found.After == nil:
		operation = "delete"
	}
	before, err := d.state(found.Before)
	if err == nil {
		var after state
		if after, err = d.state(found.After); err == nil {
			return d.add(found.Key, operation, before, after)
		}
	}
	if d.format != Table {
		return err
	}
	_, err = fmt.Fprintf(d.out, "%s: %s\n\n", operation, escape.Text(err.Error()))
	return err
}

func (d *Differences) add(key, operation string, before, after state) error {
	if d.format != Table {
		return d.List.Add(Difference{key, operation, before.revision, after.revision, before.object, after.object})
	}
	fmt.Fprintf(d.out, "%s %s: %s to %s\n", operation, escape.Line(key), before, after)
	if err := writeDiff(d.out, before.data, after.data, d.colored); err != nil {
		return err
	}
	return d.write("\n")
}

// state is a key at one revision. The zero state means that the key did not exist.
type state struct {
	revision int64
	object   map[string]any
	data     []byte // JSON, for text
}

func (s state) String() string {
	if s.revision == 0 {
		return "nothing"
	}
	return fmt.Sprintf("revision %d", s.revision)
}

func (d *Differences) state(kv *admin.KV) (s state, err error) {
	if kv == nil {
		return s, nil
	}
	v, err := d.decoder.Decode(kv.Key, kv.Value)
	if err != nil {
		return s, err
	}
	s.revision, s.object = kv.ModRevision, v.Object
	if d.format == Table {
		s.data, err = v.JSON()
	}
	return s, err
}

// Findings writes the findings of an examination.
func Findings(out io.Writer, format Format, findings []admin.Finding) error {
	if format != Table {
		return All(out, format, Columns[admin.Finding]{}, findings...)
	}
	for _, f := range findings {
		fmt.Fprintf(out, "%-8s %s: %s\n", f.Level, f.Check, draw.Clean(f.Finding))
		for _, key := range f.Keys {
			fmt.Fprintf(out, "%8s   %s\n", "", draw.Clean(key))
		}
		if f.Advice != "" {
			fmt.Fprintf(out, "%8s → %s\n", "", strings.TrimSpace(f.Advice))
		}
	}
	return nil
}

// Salvage writes the saved and the lost data of a damaged directory.
func Salvage(out io.Writer, format Format, s *admin.SalvageResult) error {
	if format != Table {
		return WriteOne(out, format, s)
	}
	fmt.Fprintf(out, "%s holds %s keys: the database up to revision %d, and %d entries of the log, up to revision %d\n",
		draw.Clean(s.Dir), Count(s.Keys), s.Database, s.Entries, s.Salvaged)
	fmt.Fprintf(out, "its revision is raised to %d\n", s.Revision)
	for _, loss := range s.Losses {
		fmt.Fprintf(out, "not read: %s\n", draw.Clean(loss.What))
		for _, key := range loss.Keys {
			fmt.Fprintf(out, "  %s\n", draw.Clean(key))
		}
	}
	return nil
}

// Plan writes the changes that a write of a key would make.
func Plan(out io.Writer, p *admin.Plan, colored bool) error {
	at := "which is not there"
	if p.Before != nil {
		at = fmt.Sprintf("at revision %d", p.Before.ModRevision)
	}
	fmt.Fprintf(out, "%s %s, %s:\n", p.Operation, escape.Line(p.Key), at)
	return writeDiff(out, p.BeforeJSON, p.AfterJSON, colored)
}
