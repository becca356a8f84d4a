package class

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"regexp"
	"strings"

	"github.com/russross/blackfriday/v2"

	"github.com/kx-apiserver/kx/cmd/kx/internal/export"
	"github.com/kx-apiserver/kx/cmd/kx/internal/learn"
	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/lesson"
)

//go:embed handout.html
var page string

// Handout plays a lesson and returns it as one HTML page: its text, its questions, the requests that it shows as
// pictures, and its tasks.
func Handout(ctx context.Context, player learn.Verifier, e learn.Entry, language lang.Language) ([]byte, error) {
	h := &handout{lesson: e.Lesson, language: language, pictures: map[int]*v1alpha1.Journey{}}
	player.Shown = func(part lesson.Show, j *v1alpha1.Journey) { h.pictures[part.At()] = j }
	report := player.Verify(ctx, e)
	switch {
	case report.Lacks != "":
		return nil, fmt.Errorf("the lesson %s needs %s, and it is not on this machine", e.ID, report.Lacks)
	case len(report.Problems) > 0:
		return nil, fmt.Errorf("the lesson %s does not hold, so no handout was made: %s", e.ID, escape.Line(report.Problems[0]))
	}
	return h.write(e.Parts)
}

// handout is a page in the making.
type handout struct {
	lesson   *lesson.Lesson
	language lang.Language
	// pictures holds the requests that were shown, by the line of their block.
	pictures map[int]*v1alpha1.Journey
	// copied is the player's position if the page is a copy, and nil for a handout.
	copied *position
}

// block is a part of the lesson for the template.
type block struct {
	Kind string
	// Text is rendered Markdown.
	Text template.HTML
	// Say introduces the block. Script and Lines are its contents.
	Say    string
	Script string
	Lines  []string
	// Right is the number of the right answer's line, or 0 if the page does not show it.
	Right int
	// Picture is a drawing of a request.
	Picture template.URL
}

// write makes the page from the first parts of the lesson.
func (h *handout) write(parts []lesson.Part) ([]byte, error) {
	t, err := template.New("handout").Funcs(template.FuncMap{"number": func(i int) int { return i + 1 }}).Parse(page)
	if err != nil {
		return nil, err
	}
	value := struct {
		Lang, Title, Minutes string
		Reloads              bool
		Blocks               []block
	}{Lang: h.language.String(), Title: escape.Line(h.lesson.Title), Minutes: h.language.Phrase("%d min", h.lesson.Minutes)}
	value.Reloads = h.copied != nil && !h.copied.over
	for _, part := range parts {
		b, err := h.block(part)
		if err != nil {
			return nil, err
		}
		if b.Kind != "" {
			value.Blocks = append(value.Blocks, b)
		}
	}
	var out bytes.Buffer
	err = t.Execute(&out, value)
	return out.Bytes(), err
}

// block converts a part. The Kind is empty for parts that a handout leaves out.
func (h *handout) block(part lesson.Part) (block, error) {
	say := h.language.Phrase
	switch part := part.(type) {
	case lesson.Text:
		return block{Kind: "text", Text: prose(part.Markdown)}, nil
	case lesson.Run:
		return block{Kind: "run", Say: say("Type:"), Script: escape.Text(part.Script), Lines: h.output(part)}, nil
	case lesson.Hold:
		return block{Kind: "lines", Say: say("A breakpoint holds the requests of the commands below:"), Lines: clean(part.Filters)}, nil
	case lesson.Fault:
		return block{Kind: "lines", Say: say("A fault is on the server for the commands below:"),
			Lines: clean([]string{faultOf(part)})}, nil
	case lesson.Release:
		return block{Kind: "lines", Say: say("What was held goes on.")}, nil
	case lesson.Server:
		return block{Kind: "lines", Say: say("The server starts anew with:"), Lines: clean(part.Flags)}, nil
	case lesson.Predict:
		return block{Kind: "question", Say: escape.Text(part.Question), Lines: clean(part.Answers), Right: h.right(part)}, nil
	case lesson.Expect:
		return block{Kind: h.expectationKind(part), Say: h.expectedSay(part), Lines: conditions(part)}, nil
	case lesson.Show:
		return h.pictureBlock(part)
	case lesson.Reading:
		return block{Kind: "lines", Say: say("Functions worth reading:"), Lines: clean(part.Steps)}, nil
	case lesson.Hint:
		return block{Kind: "hidden", Say: say("Hint %d", part.Number), Script: escape.Text(part.Text)}, nil
	case lesson.Starter:
		return block{Kind: "run", Say: say("Begin with this, and change it:"), Script: escape.Text(part.Script)}, nil
	}
	return block{}, nil
}

// expectationKind returns the kind of an expectation's block. It is open for a task, whose goal the reader must know.
// For a run it is folded in a handout, since it answers questions.
func (h *handout) expectationKind(part lesson.Expect) string {
	if h.lesson.Run(part.Of) == nil || h.copied != nil {
		return "lines"
	}
	return "folded"
}

func (h *handout) expectedSay(part lesson.Expect) string {
	if h.lesson.Run(part.Of) == nil {
		return h.language.Phrase("It is done when:")
	}
	return h.language.Phrase("What must be seen")
}

// pictureBlock makes the block of a request's picture and its text. It is folded in a handout, because it answers
// questions.
func (h *handout) pictureBlock(part lesson.Show) (block, error) {
	b := block{Kind: "picture", Say: h.language.Phrase("What the screen shows"), Script: escape.Text(part.Say)}
	if h.copied != nil {
		b.Kind = "open"
	}
	j := h.pictures[part.At()]
	if j == nil {
		return b, nil
	}
	var svg bytes.Buffer
	d := &export.Document{Journeys: []*v1alpha1.Journey{j}, Language: h.language}
	if err := d.Write(&svg, export.SVG); err != nil {
		return b, err
	}
	b.Picture = template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(svg.Bytes()))
	return b, nil
}

func conditions(part lesson.Expect) []string {
	lines := make([]string, len(part.Conditions))
	for i, c := range part.Conditions {
		lines[i] = escape.Line(c.Text)
	}
	return lines
}

// faultOf describes a fault on one line.
func faultOf(part lesson.Fault) string {
	words := []string{string(part.Spec.Effect), part.Spec.Filter}
	if part.Spec.Delay != nil {
		words = append(words, "delay: "+part.Spec.Delay.Duration.String())
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

func clean(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = escape.Line(line)
	}
	return out
}

// betweenWide matches a line break between Chinese characters of a paragraph, where a browser would show a space.
var betweenWide = regexp.MustCompile(`([\p{Han}\p{Po}）])\n([\p{Han}（《「])`)

// prose converts Markdown to HTML. It drops embedded HTML, links and images: a lesson may come from an untrusted
// author, and links are useless on paper.
func prose(text string) template.HTML {
	look := blackfriday.NewHTMLRenderer(blackfriday.HTMLRendererParameters{
		Flags: blackfriday.SkipHTML | blackfriday.SkipImages | blackfriday.SkipLinks,
	})
	const read = blackfriday.Tables | blackfriday.FencedCode | blackfriday.NoIntraEmphasis | blackfriday.SpaceHeadings |
		blackfriday.BackslashLineBreak
	text = betweenWide.ReplaceAllString(escape.Text(text), "$1$2")
	return template.HTML(blackfriday.Run([]byte(text), blackfriday.WithRenderer(look), blackfriday.WithExtensions(read)))
}
