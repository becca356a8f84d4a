package render

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/kx-apiserver/kx/cmd/kx/internal/check"
	"github.com/kx-apiserver/kx/core/mask"
	"github.com/kx-apiserver/kx/tui/draw"
)

// The formats of a check, beside JSON.
const (
	Plain  Format = "text"
	JUnit  Format = "junit"
	SARIF  Format = "sarif"
	GitHub Format = "github"
)

// Check writes the results of a check. Result is called for each document, and Summary once, at the end.
type Check interface {
	Result(*check.Result) error
	Summary(*check.Summary) error
}

// CheckOptions configure the output of a check as text.
type CheckOptions struct {
	// All has a line also for documents that are accepted without a warning.
	All bool
	// Changes shows what the server changed.
	Changes, Colored bool
}

// NewCheck begins the output of a check.
func NewCheck(out io.Writer, format Format, o CheckOptions) Check {
	switch format {
	case JSON:
		return &checkJSON{sections: newSections(out, JSON)}
	case JUnit:
		return &checkJUnit{out: out}
	case SARIF:
		return &checkSARIF{out: out}
	case GitHub:
		return &checkGitHub{out}
	}
	return &checkText{out, o}
}

// checkText writes a line for each finding, as compilers do.
type checkText struct {
	out io.Writer
	CheckOptions
}

// sentence returns the message of a finding as one line.
func sentence(r *check.Result, f *check.Finding) string {
	return strings.Join(strings.Fields(f.Message), " ") + template(r)
}

// template names the template that a document was rendered from.
func template(r *check.Result) string {
	if r.Template == "" {
		return ""
	}
	return " (of " + r.Template + ")"
}

// outcomes are the words for the levels of findings.
var outcomes = map[check.Level]string{check.Refusal: "refused", check.Warning: "warning", check.Failure: "not checked",
	check.Mismatch: "not as expected"}

// Result implements Check.
func (c *checkText) Result(r *check.Result) error {
	for i := range r.Findings {
		f := &r.Findings[i]
		if err := c.line("%s: %s: %s: %s", f.Position, r.Subject(), outcomes[f.Level], sentence(r, f)); err != nil {
			return err
		}
	}
	switch {
	case r.Written != "":
		return c.writeAccepted(r, "written: "+r.Written)
	case r.Outcome == check.Met && c.All:
		return c.writeAccepted(r, "as expected")
	case r.Updated != "" && r.Outcome == check.Accepted && (c.All || !r.There):
		return c.writeAccepted(r, "updated, as the object is there already: "+r.Updated)
	case r.Changes != nil && c.Changes:
		return c.writeAccepted(r, "changed")
	case r.Outcome == check.Accepted && len(r.Findings) == 0 && c.All:
		return c.writeAccepted(r, "accepted")
	}
	return nil
}

// writeAccepted writes a line about a document that is accepted, and its changes.
func (c *checkText) writeAccepted(r *check.Result, how string) error {
	if err := c.line("%s: %s: %s%s", r.Position, r.Subject(), how, template(r)); err != nil || r.Changes == nil || !c.Changes {
		return err
	}
	before, err := maskedJSON(r.Changes.Before)
	if err != nil {
		return err
	}
	after, err := maskedJSON(r.Changes.After)
	if err != nil {
		return err
	}
	return writeDiff(c.out, before, after, c.Colored)
}

// maskedJSON returns an object as JSON, without what is secret.
func maskedJSON(object any) ([]byte, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return mask.JSON(data, false)
}

func (c *checkText) line(format string, args ...any) error {
	_, err := fmt.Fprintln(c.out, draw.Clean(fmt.Sprintf(format, args...)))
	return err
}

// noteList is a list of a summary, with what it is called.
type noteList struct {
	name string
	all  []check.Note
}

// notes are the lists of a summary.
func notes(s *check.Summary) []noteList {
	all := []noteList{
		{"assumed, as documents refer to it", s.Assumed}, {"not asked", s.NotAsked}, {"not in the set", s.Missing},
		{"there, but not in the check", s.NotTaken}, {"left out", s.LeftOut},
	}
	for i := range s.Expressions {
		if e := &s.Expressions[i]; e.Missing() != "" {
			all = append(all, noteList{e.Missing(), []check.Note{{Position: e.Position, Text: e.String()}}})
		}
	}
	return all
}

// Summary implements Check.
func (c *checkText) Summary(s *check.Summary) error {
	for _, list := range notes(s) {
		for _, note := range list.all {
			if err := c.line("%s: %s: %s", note.Position, list.name, note.Text); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintln(c.out, counts(s))
	return err
}

// counts are the last lines of a check.
func counts(s *check.Summary) string {
	text := fmt.Sprintf("documents: %d; accepted: %d; of these updated: %d; refused: %d; not checked: %d; warnings: %d",
		s.Documents, s.Accepted, s.Updated, s.Refused, s.Unchecked, s.Warnings)
	if s.Rows == 0 {
		return text
	}
	covered := 0
	for i := range s.Expressions {
		if s.Expressions[i].Missing() == "" {
			covered++
		}
	}
	return text + fmt.Sprintf("\nrows: %d; not as expected: %d; written: %d; expressions: %d; covered: %d",
		s.Rows, s.Unmet, s.Written, len(s.Expressions), covered)
}

// checkJSON writes one document.
type checkJSON struct {
	sections *sections
	// rows is true when the documents are over.
	rows bool
}

// Result implements Check.
func (c *checkJSON) Result(r *check.Result) error {
	if r.Changes != nil {
		var both [2]any
		for i, object := range []any{r.Changes.Before, r.Changes.After} {
			data, err := maskedJSON(object)
			if err != nil {
				return err
			}
			both[i] = json.RawMessage(data)
		}
		changed := *r
		changed.Changes = &check.Changes{Before: both[0], After: both[1]}
		r = &changed
	}
	if r.Row != "" && !c.rows {
		c.rows = true
		if err := c.sections.endRows("documents"); err != nil {
			return err
		}
	}
	return c.sections.row(c.list(), r)
}

// Summary implements Check.
func (c *checkJSON) Summary(s *check.Summary) error {
	if err := c.sections.endRows(c.list()); err != nil {
		return err
	}
	if err := c.sections.Value("summary", s); err != nil {
		return err
	}
	return c.sections.Close()
}

func (c *checkJSON) list() string {
	if c.rows {
		return "rows"
	}
	return "documents"
}

// checkGitHub writes commands of a workflow, which GitHub shows at the lines of the files.
type checkGitHub struct{ out io.Writer }

var (
	gitHubText     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	gitHubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func (c *checkGitHub) command(name string, at check.Position, title, message string) error {
	_, err := fmt.Fprintf(c.out, "::%s file=%s,line=%d,col=%d,title=%s::%s\n", name, gitHubProperty.Replace(at.File), at.Line, at.Column,
		gitHubProperty.Replace(draw.Clean(title)), gitHubText.Replace(draw.Clean(message)))
	return err
}

// Result implements Check.
func (c *checkGitHub) Result(r *check.Result) error {
	for i := range r.Findings {
		f := &r.Findings[i]
		name := "error"
		if f.Level == check.Warning {
			name = "warning"
		}
		if err := c.command(name, f.Position, r.Subject()+": "+outcomes[f.Level], sentence(r, f)); err != nil {
			return err
		}
	}
	return nil
}

// Summary implements Check.
func (c *checkGitHub) Summary(s *check.Summary) error {
	for _, list := range notes(s) {
		for _, note := range list.all {
			if err := c.command("notice", note.Position, list.name, note.Text); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintln(c.out, counts(s))
	return err
}
