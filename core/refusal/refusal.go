package refusal

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/steps"
)

// Codes for which a card adds facts from other steps and requests.
const (
	codeUnauthorized = 401
	codeForbidden    = 403
	codeNotFound     = 404
	codeConflict     = 409
	codeGone         = 410
	codeInvalid      = 422
	codeBusy         = 429
	codeLate         = 504
)

// The reasons that decide what a card explains, by the names that journeys have.
const (
	reasonWebhookFailed      = "webhook-failed"
	reasonPolicyDenied       = "policy-denied"
	reasonRevisionMoved      = "revision-moved"
	reasonOwnersConflict     = "owners-conflict"
	reasonCreateOverExisting = "create-over-existing"
)

// titles holds HTTP's names of the codes that an API server answers with.
var titles = map[int32]string{
	400: "Bad Request", codeUnauthorized: "Unauthorized", codeForbidden: "Forbidden", codeNotFound: "Not Found", 405: "Method Not Allowed",
	406: "Not Acceptable", codeConflict: "Conflict", codeGone: "Gone", 413: "Content Too Large", 415: "Unsupported Media Type",
	codeInvalid: "Unprocessable Entity", codeBusy: "Too Many Requests", 500: "Internal Server Error", 503: "Service Unavailable",
	codeLate: "Gateway Timeout",
}

// Card says why a request was refused.
type Card struct {
	// Title is the code with its name.
	Title string
	// Step is the index of the step that refused; -1 if none did.
	Step  int
	Facts []Fact
	// Next is the client's next action; empty if none is known.
	Next string
}

// Fact is one thing that is known, and where more is.
type Fact struct {
	Name, Text string
	// Said says that the step which refused says it itself.
	Said bool
	// Journey is the request that the fact is about; empty for none.
	Journey string
	// Key and Revision locate the fact's object in etcd; empty and 0 without one.
	Key      string
	Revision int64
}

// Explain explains the refusal of a request. others are the journeys that [RelatedRequests] has picked, with their
// steps where those are known. It returns nil for a request that was not refused.
func Explain(j *v1alpha1.Journey, others []*v1alpha1.Journey, in lang.Language) *Card {
	code := refusalCode(j)
	if code == 0 {
		return nil
	}
	c := &card{j: j, others: others, words: in, at: Step(j)}
	c.Step = c.at
	c.Title = strings.TrimSpace(fmt.Sprintf("%d %s", code, titles[code]))
	switch {
	case c.explainFault(), c.admission():
	case code == codeConflict:
		c.conflict()
	case code == codeInvalid:
		c.invalid()
	case code == codeNotFound:
		c.missing()
	case code == codeGone:
		c.explainExpired()
	case code == codeForbidden, code == codeUnauthorized:
		c.forbidden()
	case code == codeBusy:
		c.busy()
	case code == codeLate:
		c.explainTimeout()
	default:
		c.explainError()
	}
	c.Next = in.Text(c.Next)
	return &c.Card
}

// refusalCode is the code with which a request, or a watch behind its answer, was refused; 0 if it was not.
func refusalCode(j *v1alpha1.Journey) int32 {
	switch st := &j.Status; {
	case st.WatchError >= 400:
		return st.WatchError
	case st.Code >= 400:
		return st.Code
	}
	return 0
}

// Step is the index of the step that failed a request: of the failed ones that the fewest others led to, the last; and
// from there on the first that failed as its caller did, or else the last that each called. It is -1 if no step failed,
// or if the request succeeded all the same: a dry run creates what it looks for in vain.
func Step(j *v1alpha1.Journey) int {
	if j.Status.Code != 0 && refusalCode(j) == 0 {
		return -1
	}
	taken := j.Status.Steps
	at := outermost(taken)
	for at >= 0 {
		below := -1
		for i := at + 1; i < len(taken); i++ {
			if int(taken[i].Parent) != at || taken[i].Error == "" {
				continue
			}
			below = i
			if taken[i].Error == taken[at].Error && isAdmission(&taken[i]) {
				break // the others are asked all the same, and the client has the answer of the first
			}
		}
		if below < 0 {
			break
		}
		at = below
	}
	return at
}

// outermost is the failed step to which the fewest others led; -1 for none.
func outermost(taken []v1alpha1.Step) int {
	found, least := -1, 0
	for i := range taken {
		if taken[i].Error == "" {
			continue
		}
		depth := 0
		for at := i; taken[at].Parent >= 0 && int(taken[at].Parent) < at; depth++ {
			at = int(taken[at].Parent)
		}
		if found < 0 || depth <= least {
			found, least = i, depth
		}
	}
	return found
}

// card is a Card that is made.
type card struct {
	Card
	j      *v1alpha1.Journey
	others []*v1alpha1.Journey
	words  lang.Language
	at     int
}

func (c *card) add(f Fact) {
	if f.Text != "" {
		f.Name = c.words.Text(f.Name)
		c.Facts = append(c.Facts, f)
	}
}

func (c *card) say(name, text string, values ...any) {
	c.add(Fact{Name: name, Text: c.words.Phrase(text, values...)})
}

// explainError repeats the error of the refusing step.
func (c *card) explainError() {
	s := c.step()
	if s == nil {
		return
	}
	c.add(Fact{Name: "what", Text: s.Error, Said: true})
	c.add(Fact{Name: "why", Text: c.words.Why(c.j, s), Said: true})
}

// step is the one that refused; nil if none did.
func (c *card) step() *v1alpha1.Step {
	if c.at < 0 {
		return nil
	}
	return &c.j.Status.Steps[c.at]
}

// explainFault explains a failure that a fault rule caused.
func (c *card) explainFault() bool {
	for i := range c.j.Status.Interventions {
		v := &c.j.Status.Interventions[i]
		if v.Kind != "Failed" {
			continue
		}
		c.say("injected", "nothing was wrong: %s", v.Message)
		c.say("by", "%s %s", v.By, v.User)
		c.Next = "delete the fault, or go on without it: it will fail again where the fault applies"
		return true
	}
	return false
}

// lastStep finds the last step of an ID before the index, or anywhere for -1.
func (c *card) lastStep(id steps.ID) *v1alpha1.Step {
	for i := len(c.j.Status.Steps) - 1; i >= 0; i-- {
		if c.j.Status.Steps[i].ID == id.String() {
			return &c.j.Status.Steps[i]
		}
	}
	return nil
}

// number returns a step's attribute of that name; 0 without one.
func number(s *v1alpha1.Step, name string) int64 {
	if s == nil {
		return 0
	}
	n, _ := strconv.ParseInt(s.Attribute(name), 10, 64)
	return n
}

// is says whether a step gave a reason.
func is(s *v1alpha1.Step, reason string) bool {
	return s != nil && s.Reason != nil && s.Reason.Kind == reason
}

// before says how long before the refused request another one came.
func (c *card) before(other *v1alpha1.Journey) string {
	d := c.j.Status.Started.Sub(other.Status.Started.Time)
	if d < 0 {
		return c.words.Phrase("while this one ran")
	}
	return c.words.Phrase("%s earlier", roundDuration(d))
}

// roundDuration is a duration with two or three digits.
func roundDuration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
