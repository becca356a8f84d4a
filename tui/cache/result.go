package cache

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/diff"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/shell"
)

// report is the result of a question about a cache: a check, or an object in both places.
type report struct {
	title   string
	command string // that shows the same
	pending bool
	err     error
	lines   []line
}

// askAbout runs a question in the background and shows its lines.
func (s *Screen) askAbout(title, command string, ask func() ([]line, error)) tea.Cmd {
	s.stopStream()
	r := &report{title: title, command: command, pending: true}
	s.report = r
	s.result.ToTop()
	s.GoTo(resultPart)
	return screen.Do(s.host, ask, func(lines []line, err error) tea.Cmd {
		r.pending, r.lines, r.err = false, lines, err
		return nil
	})
}

// check compares the chosen cache with etcd.
func (s *Screen) check() tea.Cmd {
	name, life, client := s.want, s.life, s.host.API()
	return s.askAbout("Check "+name+" against etcd", shell.Line("kx", "cache", "check", name), func() ([]line, error) {
		var check v1alpha1.CacheCheck
		err := client.Get(life, cachesPath+"/"+url.PathEscape(name)+"/check", nil, &check)
		return checkLines(&check.Status), err
	})
}

func checkLines(c *v1alpha1.CacheCheckStatus) []line {
	head := line{text: fmt.Sprintf("The same: all %d objects at revision %d, byte by byte, in %s.", c.Items,
		c.Revision, micros(c.TookMicros)), mark: "="}
	if !c.Consistent {
		head = line{text: fmt.Sprintf("Not the same at revision %d, in %d of %d objects (%s):", c.Revision,
			int64(len(c.Differences))+c.Cut, c.Items, micros(c.TookMicros)), mark: "!"}
	}
	lines := []line{head}
	for _, d := range c.Differences {
		lines = append(lines, line{text: "  " + draw.Clean(d.Message), mark: "!"})
	}
	if c.Cut > 0 {
		lines = append(lines, line{text: fmt.Sprintf("  and %d more", c.Cut), mark: "!"})
	}
	return lines
}

// object shows one object in the cache beside the same object in etcd.
func (s *Screen) object(namespace, name string) tea.Cmd {
	cache, life, client := s.want, s.life, s.host.API()
	query := url.Values{"name": {name}}
	title := name
	if namespace != "" {
		query.Set("namespace", namespace)
		title = namespace + "/" + name
	}
	return s.askAbout("Object "+title+" of "+cache, shell.Line("kx", "cache", "get", cache, title), func() ([]line, error) {
		var object v1alpha1.CachedObject
		err := client.Get(life, cachesPath+"/"+url.PathEscape(cache)+"/object", query, &object)
		if err != nil {
			return nil, err
		}
		return objectLines(&object.Status, cache == "secrets")
	})
}

func objectLines(o *v1alpha1.CachedObjectStatus, secret bool) ([]line, error) {
	verdict := line{text: "Both have the same.", mark: "="}
	if o.Difference != "" {
		verdict = line{text: draw.Clean(o.Difference), mark: "!"}
	}
	lines := []line{verdict, {text: draw.Clean(o.Key)},
		{text: "  cache, which has seen up to " + fmt.Sprint(o.Revision) + ": " + stateWords(o.Cached)},
		{text: "  etcd: " + stateWords(o.Etcd)}, {}}
	a, b := jsonOf(o.Cached, secret), jsonOf(o.Etcd, secret)
	if secret {
		lines = append(lines, line{text: "(what is secret is masked; the verdict is about the bytes)"})
	}
	lines = append(lines, line{text: "- the cache alone, + etcd alone"})
	difference, _, err := diff.Objects(a, b, true)
	if err != nil {
		return nil, err
	}
	for _, l := range difference {
		mark := ""
		if l.Mark != ' ' {
			mark = string(l.Mark)
		}
		lines = append(lines, line{text: string(l.Mark) + " " + strings.Repeat("  ", l.Depth) + l.Text, mark: mark})
	}
	return lines, nil
}

func stateWords(s *v1alpha1.ObjectState) string {
	switch {
	case s == nil:
		return "it is not there"
	case s.Error != "":
		return fmt.Sprintf("revision %d, %d bytes that can't be read: %s", s.Revision, s.Bytes, draw.Clean(s.Error))
	}
	return fmt.Sprintf("revision %d, %d bytes", s.Revision, s.Bytes)
}

// jsonOf returns the object of a state, without secrets.
func jsonOf(s *v1alpha1.ObjectState, secret bool) []byte {
	if s == nil || s.Object == nil {
		return []byte("null")
	}
	if !secret {
		return s.Object.Raw
	}
	var object map[string]any
	if json.Unmarshal(s.Object.Raw, &object) != nil {
		return []byte("null")
	}
	for _, field := range []string{"data", "stringData"} {
		values, _ := object[field].(map[string]any)
		for name := range values {
			values[name] = "masked"
		}
	}
	if meta, ok := object["metadata"].(map[string]any); ok {
		if annotations, ok := meta["annotations"].(map[string]any); ok && annotations[lastApplied] != nil {
			annotations[lastApplied] = "masked"
		}
	}
	data, err := json.Marshal(object)
	if err != nil {
		return []byte("null")
	}
	return data
}

// lastApplied is the annotation with kubectl apply's copy of its input.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// resultRows draws the result of the user's watch or question.
func (s *Screen) resultRows() pane.Content {
	look := s.host.Theme()
	c := pane.Content{Text: true}
	var lines []line
	switch {
	case s.stream != nil:
		v := s.watched
		c.Title = look.Title("Watch "+draw.Clean(resourceOf(s.stream.start.spec))) + " " + s.stream.start.words()
		lines = s.streamLines(&v)
		c.Note = streamNote(&v)
	case s.report != nil:
		c.Title = look.Title(draw.Clean(s.report.title))
		lines = s.report.lines
		switch {
		case s.report.pending:
			c.Empty = []string{"", "  " + look.Words.Phrase("Asking ...")}
		case s.report.err != nil:
			lines = []line{{text: draw.Clean(api.Reason(s.report.err)), mark: "!"}}
		}
	}
	c.Rows = len(lines)
	c.Row = func(i int) pane.Row {
		row := pane.Row{Text: lines[i].text}
		switch lines[i].mark {
		case "!", "-":
			row.Style = look.Bad
		case "+":
			row.Style = look.Good
		case "=":
			row.Style = look.Dim
		}
		if lines[i].mark == "!" {
			row.Text = "! " + row.Text
		}
		return row
	}
	return c
}

func streamNote(v *progress) string {
	state := "live"
	switch {
	case v.ended && v.err != nil:
		state = "ended with an error"
	case v.ended:
		state = "ended by the server"
	case v.path == "":
		state = "looking for its path"
	}
	note := state + ", 1 event"
	if v.events != 1 {
		note = fmt.Sprintf("%s, %d events", state, v.events)
	}
	if v.gone > 0 {
		note += fmt.Sprintf(", the first %d are not kept", v.gone)
	}
	return note
}

func (s *Screen) streamLines(v *progress) []line {
	var lines []line
	if v.path != "" {
		q := s.stream.start.query()
		q.Set("watch", "true")
		lines = append(lines, line{text: "GET " + v.path + "?" + q.Encode(), mark: "="})
	}
	lines = append(lines, v.lines...)
	if !v.ended {
		return lines
	}
	switch {
	case v.err == nil:
		lines = append(lines, line{text: "The server ended the watch: a client goes on from the last resourceVersion above.", mark: "="})
	case v.expired():
		lines = append(lines, line{text: "410 Gone: " + draw.Clean(api.Reason(v.err)), mark: "!"}, line{})
		for _, text := range v.advice(s.stream.start, s.one) {
			lines = append(lines, line{text: text})
		}
	default:
		lines = append(lines, line{text: fmt.Sprintf("%d %s", api.Code(v.err), draw.Clean(api.Reason(v.err))), mark: "!"})
	}
	return lines
}
