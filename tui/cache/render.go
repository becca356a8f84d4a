package cache

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/pane"
)

// column is a column of a table: its title, its width, and whether it is aligned right.
type column struct {
	title string
	width int
	right bool
}

// tableLine lays cells out in columns. The last column may take the remaining width.
func tableLine(columns []column, cells []string) string {
	var b strings.Builder
	for i, c := range columns {
		if i > 0 {
			b.WriteByte(' ')
		}
		switch cell := cells[i]; {
		case i == len(columns)-1 && !c.right:
			b.WriteString(cell)
		case c.right:
			b.WriteString(draw.FitRight(cell, c.width))
		default:
			b.WriteString(draw.Fit(cell, c.width))
		}
	}
	return b.String()
}

func titles(columns []column) []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = c.title
	}
	return out
}

// nameIn returns the name of a row's cache: its first cell.
func nameIn(row metav1.TableRow) string { return fmt.Sprint(row.Cells[0]) }

// leastName is the least width of the column of names.
const leastName = 12

// listColumns returns the columns of the server's table that fit into w cells, from the first on. Columns for wide
// tables never cut names.
func listColumns(w int, table *metav1.Table) []column {
	var all []column
	for i, c := range table.ColumnDefinitions {
		one := column{title: strings.ToLower(c.Name), width: draw.Width(c.Name), right: c.Type == "integer"}
		for _, row := range table.Rows {
			one.width = max(one.width, draw.Width(fmt.Sprint(row.Cells[i])))
		}
		left := w - one.width - 1
		if i == 0 {
			left = w - min(one.width, leastName)
		}
		if left < 0 || c.Priority > 0 && left < all[0].width-leastName {
			break
		}
		w = left
		all = append(all, one)
	}
	if len(all) > 0 {
		all[0].width = min(all[0].width, leastName+w)
	}
	return all
}

// listRows draws the caches.
func (s *Screen) listRows() pane.Content {
	look := s.host.Theme()
	w, _ := s.list.Size()
	columns := listColumns(w-5, &s.caches)
	c := pane.Content{Title: look.Title(look.Words.Phrase("Caches")), Rows: len(s.caches.Rows),
		Empty: []string{"", "  " + look.Words.Phrase("Asking the server ...")}}
	switch {
	case s.wrong != "":
		c.Note = look.Bad("! " + look.Words.Phrase("no answer"))
		c.Empty = []string{"", "  " + s.wrong}
	case s.heard && len(s.caches.Rows) == 0:
		c.Empty = []string{"", "  " + look.Words.Phrase("The server has no watch caches: it was started with --watch-cache=false.")}
	}
	c.Head = []string{look.Dim("   " + tableLine(columns, titles(columns)))}
	state := s.stateColumn()
	c.Row = func(i int) pane.Row {
		var values []string
		for _, cell := range s.caches.Rows[i].Cells {
			values = append(values, draw.Clean(fmt.Sprint(cell)))
		}
		if s.unused(s.caches.Rows[i]) {
			values[state] = look.Words.Phrase("not used yet")
		}
		row := pane.Row{Text: tableLine(columns, values), Full: strings.Join(values, " ")}
		if state >= 0 && values[state] != string(v1alpha1.CacheFresh) && !s.unused(s.caches.Rows[i]) {
			row.Mark, row.Style = "!", look.Bad
		}
		return row
	}
	return c
}

// watcherColumns returns the columns of the watches in w cells.
func watcherColumns(w int) []column {
	all := []column{
		{"journey", 11, false}, {"watcher", 18, false}, {"watches", 24, false}, {"from", 7, true}, {"at", 7, true}, {"lag", 5, true},
		{"queue", 11, false}, {"sent", 7, true}, {"bookmark", 8, true}, {"when", 8, false}, {"state", 6, false},
	}
	switch {
	case w < 100:
		return []column{all[0], {"watcher", 10, false}, all[4], all[5], all[6], all[7], all[8], all[10]}
	case w < 130:
		all = append(all[:9:9], all[10])
	}
	for i := range all {
		w -= all[i].width + 1
	}
	all[1].width += max(w, 0) / 3
	all[2].width += max(w, 0) - max(w, 0)/3
	return all
}

// watcherRows draws the ruler and the watches of the chosen cache.
func (s *Screen) watcherRows() pane.Content {
	look := s.host.Theme()
	w, _ := s.watchers.Size()
	c := pane.Content{Title: look.Title(look.Words.Phrase("Watches")) + " " + draw.Clean(s.want),
		Empty: []string{"", "  " + look.Words.Phrase("Nobody watches.")}}
	cache := s.one
	if cache == nil {
		c.Empty = []string{"", "  " + look.Words.Text(cmp.Or(s.wrong, "Asking the server ..."))}
		return c
	}
	for _, l := range ruler(cache, w-4) {
		c.Head = append(c.Head, " "+l)
	}
	columns := watcherColumns(w - 5)
	c.Head = append(c.Head, look.Dim(" "+window(cache, s.host.Zone())), look.Dim("   "+tableLine(columns, titles(columns))))
	watchers := cache.Status.Watchers
	c.Rows = len(watchers)
	c.Row = func(i int) pane.Row {
		watcher := &watchers[i]
		cells := s.watcherCells(watcher)
		var values []string
		for _, column := range columns {
			values = append(values, draw.Clean(cells[column.title]))
		}
		row := pane.Row{Text: tableLine(columns, values),
			Full: strings.Join([]string{cells["journey"], cells["watcher"], cells["watches"], watcher.UserAgent}, " ")}
		if watcher.Behind {
			row.Mark, row.Style = "!", look.Bad
		}
		return row
	}
	return c
}

// selection describes the objects that a watch selects.
func selection(w *v1alpha1.CacheWatcher) string {
	return strings.TrimSpace(w.Key + " " + strings.TrimSpace(w.LabelSelector+" "+w.FieldSelector))
}

func (s *Screen) watcherCells(w *v1alpha1.CacheWatcher) map[string]string {
	journey, bookmark, when, state := "-", "-", "-", "live"
	if w.Journey != "" {
		journey = "#" + w.Journey
	}
	if w.LastBookmark > 0 {
		bookmark = fmt.Sprint(w.LastBookmark)
	}
	if w.LastBookmarkTime != nil {
		when = w.LastBookmarkTime.In(s.host.Zone()).Format(time.TimeOnly)
	}
	if w.Behind {
		state = "behind"
	}
	who := w.User
	if agent, _, _ := strings.Cut(w.UserAgent, "/"); agent != "" {
		who = agent + " (" + w.User + ")"
	}
	if who == "" {
		who = "the server itself"
	}
	return map[string]string{
		"journey": journey, "watcher": who, "watches": selection(w),
		"from": fmt.Sprint(w.From), "at": fmt.Sprint(w.At), "lag": fmt.Sprint(w.Lag),
		"queue": fmt.Sprintf("%s %d/%d", gauge(w.Queued, w.Buffer), w.Queued, w.Buffer), "sent": fmt.Sprint(w.Sent),
		"bookmark": bookmark, "when": when, "state": state,
	}
}

func micros(n int64) string { return draw.Duration(time.Duration(n) * time.Microsecond) }

// resourceOf returns a resource in the form of its cache's name.
func resourceOf(spec v1alpha1.CacheSpec) string {
	if spec.Group == "" {
		return spec.Resource
	}
	return spec.Resource + "." + spec.Group
}
