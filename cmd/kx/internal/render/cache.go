package render

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
)

// ServerTable prints a server's table without the columns for wide output.
func ServerTable(out io.Writer, t *metav1.Table) error {
	var shown []int
	c := Columns[metav1.TableRow]{cells: func(row metav1.TableRow) (cells []any) {
		for _, i := range shown {
			cells = append(cells, row.Cells[i])
		}
		return cells
	}}
	for i, column := range t.ColumnDefinitions {
		if column.Priority == 0 {
			shown = append(shown, i)
			c.titles = append(c.titles, strings.ToUpper(column.Name))
		}
	}
	return All(out, Table, c, t.Rows...)
}

// fields writes pairs of names and values, a line each.
func fields(out io.Writer, fields ...string) error {
	width := 0
	for i := 0; i < len(fields); i += 2 {
		width = max(width, len(fields[i])+1)
	}
	for i := 0; i < len(fields); i += 2 {
		if _, err := fmt.Fprintf(out, "%-*s  %s\n", width, fields[i]+":", draw.Clean(fields[i+1])); err != nil {
			return err
		}
	}
	return nil
}

// Cache writes a cache and its watches.
func Cache(out io.Writer, format Format, cache *v1alpha1.Cache) error {
	if format != Table {
		return WriteOne(out, format, cache)
	}
	s := &cache.Status
	state := fmt.Sprintf("%s for %s", s.State, agoText(s.Since.Time))
	if s.Error != "" {
		state += ": " + s.Error
	}
	seen := fmt.Sprintf("%d, etcd is at %d", s.Revision, s.EtcdRevision)
	switch {
	case s.CaughtUpMicros == nil && s.Lag == 0:
		seen = fmt.Sprintf("%d, where etcd is now is not known", s.Revision)
	case s.CaughtUpMicros == nil:
		seen += ": the cache has not caught up"
	default:
		seen += fmt.Sprintf(": caught up in %s", time.Duration(*s.CaughtUpMicros)*time.Microsecond)
	}
	history := fmt.Sprintf("%s events after revision %d, %s", Count(s.History.Events), s.History.After, Bytes(s.History.Bytes))
	if s.History.Oldest != nil {
		history += ", the oldest " + agoText(s.History.Oldest.Time) + " ago"
	}
	err := fields(out,
		"Name", cache.Name,
		"State", state,
		"Items", fmt.Sprintf("%s, %s", Count(s.Items), Bytes(s.Bytes)),
		"Revision", seen,
		"History", history,
		"Snapshots", fmt.Sprint(s.Snapshots),
		"Answered", fmt.Sprintf("%s by the cache, %s by etcd instead", Count(s.Hits), Count(s.Fallbacks)),
		"Watches", Count(s.Watches).String(),
	)
	if err != nil || len(s.Watchers) == 0 {
		return err
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	return All(out, Table, watches, s.Watchers...)
}

func agoText(t time.Time) string { return duration.HumanDuration(time.Since(t)) }

var watches = columns("WATCH  JOURNEY  USER  KEY  SINCE  SELECTORS  FROM  AT  SENT  QUEUE  BOOKMARK", func(w v1alpha1.CacheWatcher) []any {
	queue, bookmark := fmt.Sprintf("%d/%d", w.Queued, w.Buffer), "-"
	if w.Behind {
		queue += " and behind"
	}
	if w.LastBookmark != 0 {
		bookmark = fmt.Sprint(w.LastBookmark)
	}
	return []any{w.ID, w.Journey, w.User, w.Key, agoText(w.Since.Time), strings.Trim(w.LabelSelector+" "+w.FieldSelector, " "),
		w.From, w.At, w.Sent, queue, bookmark}
})

// CachedObject compares an object in a cache and in etcd. It writes the object once if both are equal, and else their
// difference.
func CachedObject(out io.Writer, format Format, both *v1alpha1.CachedObject) error {
	if format != Table {
		return WriteOne(out, format, both)
	}
	s := &both.Status
	err := fields(out,
		"Key", s.Key,
		"In the cache", inWords(s.Cached)+fmt.Sprintf(" (the cache has seen revision %d)", s.Revision),
		"In etcd", inWords(s.Etcd),
		"Verdict", cmp.Or(s.Difference, "the same"),
	)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	cached, stored := raw(s.Cached), raw(s.Etcd)
	if s.Difference != "" || stored == nil {
		colored, err := WantsColour("auto", out)
		if err != nil {
			return err
		}
		return writeDiff(out, cached, stored, colored)
	}
	var object any
	d := json.NewDecoder(bytes.NewReader(stored))
	d.UseNumber()
	if err := d.Decode(&object); err != nil {
		return err
	}
	return WriteOne(out, YAML, object)
}

func inWords(state *v1alpha1.ObjectState) string {
	switch {
	case state == nil:
		return "nothing"
	case state.Error != "":
		return fmt.Sprintf("revision %d, %s, can't be read: %s", state.Revision, Bytes(state.Bytes), state.Error)
	}
	return fmt.Sprintf("revision %d, %s", state.Revision, Bytes(state.Bytes))
}

// raw returns the object of a state as JSON, or nil.
func raw(state *v1alpha1.ObjectState) []byte {
	if state == nil || state.Object == nil {
		return nil
	}
	return state.Object.Raw
}

// Checks lists comparisons of caches with etcd.
var Checks = columns("NAME  ITEMS  REVISION  TOOK  VERDICT", func(c *v1alpha1.CacheCheck) []any {
	verdict := "the same"
	if !c.Status.Consistent {
		verdict = fmt.Sprintf("%s differ", Count(int64(len(c.Status.Differences))+c.Status.Cut))
	}
	return []any{c.Name, Count(c.Status.Items), c.Status.Revision, time.Duration(c.Status.TookMicros) * time.Microsecond, verdict}
})

// CacheDifferences writes the differences that a comparison found.
func CacheDifferences(out io.Writer, check *v1alpha1.CacheCheck) error {
	if _, err := fmt.Fprintf(out, "\n%s at revision %d:\n", check.Name, check.Status.Revision); err != nil {
		return err
	}
	for _, d := range check.Status.Differences {
		if _, err := fmt.Fprintf(out, "  %s\n", draw.Clean(d.Message)); err != nil {
			return err
		}
	}
	if check.Status.Cut > 0 {
		if _, err := fmt.Fprintf(out, "  and %s more\n", Count(check.Status.Cut)); err != nil {
			return err
		}
	}
	return nil
}
