package export

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render/journey"
	"github.com/kx-apiserver/kx/core/capture"
	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/refusal"
	"github.com/kx-apiserver/kx/core/story"
	"github.com/kx-apiserver/kx/tui/diff"
)

//go:embed page.html
var pageHTML string

// pageTemplate parses the templates of a page. Only an export of a page needs them.
func pageTemplate(l lang.Language) (*template.Template, error) {
	return template.New("page").Funcs(template.FuncMap{
		"line":   escape.Line,
		"say":    l.Phrase,
		"lang":   l.String,
		"comma":  func() string { return l.Phrase("%s, %s", "", "") },
		"mark":   func(b byte) string { return string(rune(b)) },
		"indent": func(depth int) string { return strings.Repeat("  ", depth) },
		"less":   func(a, b int) int { return max(a-b, 0) },
	}).Parse(pageHTML + pictureHTML)
}

// page writes an HTML page.
type page struct {
	*Document
	template *template.Template
	capture  *capture.Writer
	line     *bytes.Buffer // the last output of capture
	header   []byte        // the first line of the capture
	known    map[string]*function
	walks    int // the number of pictures so far
}

func newPage(d *Document) (*page, error) {
	t, err := pageTemplate(d.Language)
	if err != nil {
		return nil, err
	}
	p := &page{Document: d, template: t, line: &bytes.Buffer{}, known: map[string]*function{}}
	if p.capture, err = capture.NewWriter(capture.InPage(p.line), d.Server, d.Saved); err != nil {
		return nil, err
	}
	p.header = bytes.Clone(p.line.Bytes())
	return p, nil
}

// function is the code around a step's line.
type function struct {
	ID    string
	Where string
	First int
	Lines []codeLine
}

type codeLine struct {
	Number int
	Text   string
}

// pageStep is a step for the template.
type pageStep struct {
	*node
	Took    string
	Changes []diff.Line
	Calls   []*pageStep
	// Code is the ID of the step's line. If there is none, NoCode explains why.
	Code, NoCode string
}

// pageJourney is a journey for the template.
type pageJourney struct {
	*v1alpha1.Journey
	Title   string
	Started string
	Failed  bool
	Picture *picture
	Card    *refusal.Card
	Change  *objectChange
	Story   []story.Part
	Passed  []*pageStep
	Steps   []*pageStep
	Only    bool
}

// piece writes a journey, its line of the capture, and the functions that no earlier journey has.
func (p *page) piece(j *v1alpha1.Journey, d detail) (*piece, error) {
	p.line.Reset()
	if err := p.capture.Write(j); err != nil {
		return nil, err
	}
	line := bytes.Clone(p.line.Bytes())
	j = p.Language.Journey(j)
	b := &pageBuilder{page: p, detail: d, added: map[string]*function{}}
	shown := pageJourney{
		Journey: j, Title: p.title(j), Started: j.Status.Started.UTC().Format(time.RFC3339Nano),
		Picture: b.picture(j), Card: p.card(j), Story: story.Tell(j, p.Language, p.Others[j.Name]...).Parts,
		Failed: j.Status.Code >= 400 || j.Status.WatchError != 0, Only: len(p.Journeys) == 1,
	}
	if d < withoutChanges {
		shown.Change = p.change(j)
	}
	for _, n := range nodes(j) {
		if s := b.step(n); n.passed() {
			shown.Passed = append(shown.Passed, s)
		} else {
			shown.Steps = append(shown.Steps, s)
		}
	}
	body, err := p.execute("journey", shown)
	if err != nil {
		return nil, err
	}
	return b.piece(body, line)
}

func (p *page) execute(name string, value any) ([]byte, error) {
	var b bytes.Buffer
	err := p.template.ExecuteTemplate(&b, name, value)
	return b.Bytes(), err
}

// pageBuilder makes the steps of one journey.
type pageBuilder struct {
	*page
	detail detail
	added  map[string]*function // functions that no earlier journey has
	order  []*function
}

// piece adds to the text of a piece the functions that it is the first to have.
func (b *pageBuilder) piece(body, line []byte) (*piece, error) {
	made := &piece{body: body, capture: line}
	for _, f := range b.order {
		code, err := b.execute("function", f)
		if err != nil {
			return nil, err
		}
		made.code = append(made.code, code...)
	}
	made.accept = func() {
		b.walks++
		for key, f := range b.added {
			b.known[key] = f
		}
	}
	return made, nil
}

func (b *pageBuilder) step(n *node) *pageStep {
	s := &pageStep{node: n, Took: n.took()}
	if b.detail < withoutChanges {
		s.Changes = n.changes()
	}
	if b.detail < withoutCode && b.Files != nil && n.File != "" {
		s.Code, s.NoCode = b.code(n.Step)
	}
	for _, called := range n.Calls {
		s.Calls = append(s.Calls, b.step(called))
	}
	return s
}

// code finds the function of a step, and returns the ID of the step's line.
func (b *pageBuilder) code(s *v1alpha1.Step) (id, missing string) {
	at := s.DecisionPlace()
	text, err := b.Files(at.File)
	if err != nil {
		return "", err.Error()
	}
	first, lines := journey.Body(text, int(at.Line))
	if lines == nil {
		return "", b.Language.Phrase("%s has no line %d", at.File, at.Line)
	}
	key := fmt.Sprintf("%s:%d", at.File, first)
	f := b.known[key]
	if f == nil {
		f = b.added[key]
	}
	if f == nil {
		f = &function{ID: fmt.Sprintf("code-%d", len(b.known)+len(b.added)), Where: at.File + "  " + at.Function, First: first}
		for i, line := range lines {
			f.Lines = append(f.Lines, codeLine{first + i, escape.Line(strings.ReplaceAll(line, "\t", "    "))})
		}
		b.added[key] = f
		b.order = append(b.order, f)
	}
	return fmt.Sprintf("%s-%d", f.ID, at.Line), ""
}

// document joins the pieces. The capture comes first, so that its reader can stop before the visible part.
func (p *page) document(out io.Writer, pieces []*piece, notes []string) error {
	if p.Files == nil && p.NoFiles != "" {
		notes = append(notes, p.Language.Phrase("The code is left out: %s.", p.NoFiles))
	}
	value := struct {
		Heading, Origin string
		Notes           []string
		Code            bool
	}{p.heading(len(pieces)), p.origin(), notes, false}
	for _, made := range pieces {
		value.Code = value.Code || len(made.code) > 0
	}
	around := map[string][]byte{}
	for _, name := range []string{"head", "begin", "code", "end"} {
		part, err := p.execute(name, value)
		if err != nil {
			return err
		}
		around[name] = part
	}
	parts := [][]byte{around["head"], []byte(capture.PageBegin + "\n"), p.header}
	for _, made := range pieces {
		parts = append(parts, made.capture)
	}
	parts = append(parts, []byte(capture.PageEnd+"\n"), around["begin"])
	for _, made := range pieces {
		parts = append(parts, made.body)
	}
	parts = append(parts, around["code"])
	for _, made := range pieces {
		parts = append(parts, made.code)
	}
	return join(out, append(parts, around["end"])...)
}
