package export

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/story"
	"github.com/kx-apiserver/kx/tui/diff"
)

// markdown writes Markdown for issues: CommonMark with fences for diffs and diagrams.
type markdown struct{ *Document }

// piece writes a journey: its story, a diagram, and the changes of the object.
func (m *markdown) piece(j *v1alpha1.Journey, d detail) (*piece, error) {
	var b bytes.Buffer
	level := "##"
	if len(m.Journeys) > 1 {
		fmt.Fprintf(&b, "## %s\n\n", inMarkdown(m.title(j)))
		level = "###"
	}
	say := m.Language.Phrase
	fmt.Fprintln(&b, say("Journey %s, begun at %s.", inMarkdown(j.Name), j.Status.Started.UTC().Format(time.RFC3339Nano)))
	if j.Status.Cut > 0 {
		fmt.Fprintf(&b, "\n%s\n", say("%d things are missing: the journey was full.", j.Status.Cut))
	}
	fmt.Fprintf(&b, "\n%s %s\n\n", level, say("Story"))
	for _, l := range story.Tell(j, m.Language, m.Others[j.Name]...).Lines() {
		mark := ""
		if l.Failed {
			mark = "✗ "
		}
		fmt.Fprintf(&b, "%s- %s%s\n", strings.Repeat("  ", l.Depth), mark, inMarkdown(l.Text))
	}
	if len(j.Status.Steps) > 0 {
		fmt.Fprintf(&b, "\n%s %s\n\n%s", level, say("Layers"), fence("mermaid", m.sequence(j)))
	}
	if d < withoutChanges {
		m.changes(&b, level, nodes(j))
	}
	return &piece{body: b.Bytes(), accept: func() {}}, nil
}

// changes writes the changes of the object by steps, in the order of the steps.
func (m *markdown) changes(b *bytes.Buffer, level string, steps []*node) {
	for _, n := range steps {
		if lines := n.changes(); lines != nil {
			fmt.Fprintf(b, "\n%s %s\n\n%s", level, m.Language.Phrase("Changed by %s", inMarkdown(strings.TrimSpace(n.ID+" "+n.Subject))),
				fence("diff", diffText(lines)))
		}
		m.changes(b, level, n.Calls)
	}
}

// diffText returns a diff as text with a mark before each line.
func diffText(lines []diff.Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.TrimRight(string(l.Mark)+" "+strings.Repeat("  ", l.Depth)+escape.Line(l.Text), " ") + "\n")
	}
	return b.String()
}

func (m *markdown) document(out io.Writer, pieces []*piece, notes []string) error {
	parts := [][]byte{[]byte("# " + inMarkdown(m.heading(len(pieces))) + "\n\n" + inMarkdown(m.origin()) + "\n\n")}
	for _, note := range notes {
		parts = append(parts, []byte(inMarkdown(note)+"\n\n"))
	}
	for i, p := range pieces {
		if i > 0 {
			parts = append(parts, []byte("\n"))
		}
		parts = append(parts, p.body)
	}
	return join(out, parts...)
}

// fence returns a block of code. Its fence is longer than any fence in the text, so that the text can't end it.
func fence(language, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + text + fence + "\n"
}

// active escapes the characters with a meaning inside a line. An empty comment after @ and # keeps the name or number
// after them from becoming a mention.
var active = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", `*`, `\*`, `_`, `\_`, `[`, `\[`, `]`, `\]`, `|`, `\|`, `~`, `\~`, `$`, `\$`, `!`, `\!`,
	`<`, "&lt;", `>`, "&gt;", `&`, "&amp;", `@`, "@<!-- -->", `#`, "\\#<!-- -->", `://`, `\://`, `www.`, `www\.`,
)

// inMarkdown escapes a text for one line of a paragraph, a heading or a list.
func inMarkdown(text string) string {
	text = strings.TrimSpace(escape.Line(text))
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	switch {
	case text == "":
		return ""
	case strings.ContainsRune("-+=", rune(text[0])):
		return `\` + inLine(text)
	case digits > 0 && digits < len(text) && strings.ContainsRune(".)", rune(text[digits])): // a numbered list
		return text[:digits] + `\` + inLine(text[digits:])
	}
	return inLine(text)
}

// shortForm matches forms that GitHub replaces after parsing the Markdown: an emoji such as :bug:, and an issue such
// as GH-1. Its groups end where an inserted comment prevents the replacement.
var shortForm = regexp.MustCompile(`^(:)(?:[\w+-]*[a-zA-Z][\w+-]*|[+-]1|100|1234):|^([gG][hH])-\d`)

// inLine escapes characters with a meaning inside a line.
func inLine(text string) string {
	var b strings.Builder
	from := 0
	for i := range len(text) {
		if c := text[i]; c != ':' && c != 'g' && c != 'G' {
			continue
		}
		if m := shortForm.FindStringSubmatch(text[i:]); m != nil {
			end := i + len(m[1]) + len(m[2])
			b.WriteString(active.Replace(text[from:end]) + "<!-- -->")
			from = end
		}
	}
	b.WriteString(active.Replace(text[from:]))
	return b.String()
}
