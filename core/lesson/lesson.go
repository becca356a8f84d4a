package lesson

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// Lesson is one file.
type Lesson struct {
	Description
	// Parts are text and blocks, in the order of the file.
	Parts []Part
}

// Description is the header of a file.
type Description struct {
	ID    string `yaml:"id"`
	Title string `yaml:"title"`
	// Learned says in one sentence what the learner knows at the end; empty if the file says nothing.
	Learned string `yaml:"learned"`
	// Tracks are the ways through the lessons that this one is part of.
	Tracks   []Track  `yaml:"tracks"`
	Minutes  int      `yaml:"minutes"`
	After    []string `yaml:"after"`
	Recalls  []string `yaml:"recalls"`
	Articles []string `yaml:"articles"`
	Needs    []string `yaml:"needs"`
	Apart    bool     `yaml:"apart"`
	// Ports is the number of consecutive free ports that the commands and servers can name: $PORT1 and so on.
	Ports    int       `yaml:"ports"`
	Serve    []string  `yaml:"serve"`
	Mutation *Mutation `yaml:"mutation"`
}

// Track is a way through the lessons, for one kind of learner.
type Track string

// Tracks are all of them, in the order in which they are listed.
var Tracks = []Track{"use", "articles", "extend"}

// Title returns the track's title for learners, in English.
func (t Track) Title() string {
	switch t {
	case "use":
		return "I use Kubernetes"
	case "articles":
		return "I read the articles"
	case "extend":
		return "I extend it"
	}
	return ""
}

// Outcome says in a clause what a learner knows at the track's end, in English.
func (t Track) Outcome() string {
	switch t {
	case "use":
		return "what your requests do in the server, and what refuses them"
	case "articles":
		return "each chain of the articles from a request of your own"
	case "extend":
		return "where definitions, webhooks, policies and storages of yours meet the server's own steps"
	}
	return ""
}

// Next names what comes after the track, in English: another track, or documents.
func (t Track) Next() string {
	switch t {
	case "use":
		return "kx learn --track extend, and docs/guide.md"
	case "articles":
		return "kx learn --track extend, and docs/architecture.md"
	case "extend":
		return "docs/own-storage.md, and docs/contributing.md for changes of kx"
	}
	return ""
}

// Mutation is a change of the server with which an expectation of the run Of fails.
type Mutation struct {
	Of    string
	Serve []string
	Fault *v1alpha1.FaultSpec
}

// Part is one piece of a lesson: Text, or a block.
type Part interface {
	// At is the line of the file on which it begins, from 1.
	At() int
}

// Line is where a part begins.
type Line int

// At is the line itself.
func (l Line) At() int { return int(l) }

// Text is Markdown that is read. The heading of a section begins a Text of its own.
type Text struct {
	Line
	Markdown string
}

// Section is the heading that it begins with; empty if it goes on with a section.
func (t Text) Section() string {
	heading, ok := strings.CutPrefix(t.Markdown, sectionMark)
	if !ok {
		return ""
	}
	heading, _, _ = strings.Cut(heading, "\n")
	return strings.TrimSpace(heading)
}

// Run is a script, whose requests later blocks speak of.
type Run struct {
	Line
	ID     string
	Script string
	// Background says that the lesson goes on while it runs.
	Background bool
	// Fails says that it exits with another code than 0.
	Fails bool
	// Limit bounds its duration; 0 for any time.
	Limit time.Duration
	// Needs lists requirements on the machine beyond those of the lesson. Where one is missing, the run and all parts
	// that refer to it are left out.
	Needs []string
}

// Hold has breakpoints that are there before the run Of.
type Hold struct {
	Line
	Of      string
	Filters []string
}

// Fault is there before the run Of.
type Fault struct {
	Line
	Of   string
	Spec v1alpha1.FaultSpec
}

// Release takes the breakpoints and faults of a run away, and waits for its end.
type Release struct {
	Line
	Of string
}

// Stop interrupts a run in the background.
type Stop struct {
	Line
	Of string
}

// Server starts the lesson's server anew, on the same data.
type Server struct {
	Line
	Flags []string
}

// Predict is a question that is asked before the answer can be seen.
type Predict struct {
	Line
	ID       string
	Question string
	Answers  []string
	// Answer is the number of the right one, from 1.
	Answer int
}

// Expect describes the expected output.
type Expect struct {
	Line
	Of string
	// Reveal is the ID of the question that it answers; empty if none.
	Reveal     string
	Within     time.Duration
	Conditions []Condition
}

// Condition is one line of an Expect.
type Condition struct {
	Line
	// Text is the line as it was written.
	Text string
	Kind ConditionKind
	// Requests
	Count   int
	AtLeast bool
	Filter  string
	// Object and Gone
	Namespace, Object string
	Paths, Values     []string
	// Prints and Hides
	Phrase string
}

// ConditionKind is the subject of a condition.
type ConditionKind int

// The kinds of conditions.
const (
	Requests ConditionKind = iota // a number of requests
	Object                        // fields of an object
	Gone                          // an object that is not there
	Prints                        // a phrase in the output of the run
	Hides                         // a phrase that is not in it
)

// Show names the view that the screen opens.
type Show struct {
	Line
	Of string
	// Open is a filter: the newest such request of the run is opened. Empty if none is.
	Open string
	// Step, Tab and Screen are empty where the block does not name one.
	Step, Tab, Screen string
	// Say is a sentence about what is shown.
	Say string
}

// Reading names the steps whose functions are worth reading.
type Reading struct {
	Line
	Of    string
	Steps []string
}

// Hint helps with the task that follows.
type Hint struct {
	Line
	Number int
	Text   string
}

// Starter begins a task: with it an expectation fails.
type Starter struct {
	Line
	ID, Script string
	// Limit bounds the duration of a try. Needs lists requirements as in a Run.
	Limit time.Duration
	Needs []string
}

// Solution makes all expectations of a task hold.
type Solution struct {
	Line
	ID, Script string
}

// Task is an exercise that the learner solves alone.
type Task struct {
	ID       string
	Hints    []Hint
	Starter  Starter
	Solution Solution
	Expects  []Expect
}

// Tasks are the lesson's, in the order of the file.
func (l *Lesson) Tasks() []Task {
	var tasks []Task
	var hints []Hint
	of := map[string]int{}
	for _, p := range l.Parts {
		switch p := p.(type) {
		case Hint:
			hints = append(hints, p)
		case Starter:
			of[p.ID] = len(tasks)
			tasks = append(tasks, Task{ID: p.ID, Starter: p, Hints: hints})
			hints = nil
		case Solution:
			tasks[of[p.ID]].Solution = p
		case Expect:
			if i, ok := of[p.Of]; ok {
				tasks[i].Expects = append(tasks[i].Expects, p)
			}
		}
	}
	return tasks
}

// Setup are the breakpoints and faults that are there before the run id.
func (l *Lesson) Setup(id string) (holds []Hold, faults []Fault) {
	for _, p := range l.Parts {
		switch p := p.(type) {
		case Hold:
			if p.Of == id {
				holds = append(holds, p)
			}
		case Fault:
			if p.Of == id {
				faults = append(faults, p)
			}
		}
	}
	return holds, faults
}

// Run is the run of that ID; nil if there is none.
func (l *Lesson) Run(id string) *Run {
	for _, p := range l.Parts {
		if r, ok := p.(Run); ok && r.ID == id {
			return &r
		}
	}
	return nil
}

// NeedsOf returns the Needs of a run or task.
func (l *Lesson) NeedsOf(id string) []string {
	for _, p := range l.Parts {
		switch p := p.(type) {
		case Run:
			if p.ID == id {
				return p.Needs
			}
		case Starter:
			if p.ID == id {
				return p.Needs
			}
		}
	}
	return nil
}

// AllNeeds are the lesson's and those of all its runs and tasks.
func (l *Lesson) AllNeeds() []string {
	all := slices.Clone(l.Needs)
	for _, p := range l.Parts {
		switch p := p.(type) {
		case Run:
			all = append(all, p.Needs...)
		case Starter:
			all = append(all, p.Needs...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Error is why a file is no lesson.
type Error struct {
	File string
	Line int
	// Problem describes the mistake, and what was expected.
	Problem string
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Problem) }

// filterProblem is why text is no filter; empty if it is one.
func filterProblem(text string, known filter.Vocabulary) string {
	if _, err := filter.Parse(text, known); err != nil {
		return err.Error()
	}
	return ""
}

// Place names part i, so that it is found again in another edition of the lesson, with more parts or fewer.
func (l *Lesson) Place(i int) string {
	if i >= len(l.Parts) {
		return "end"
	}
	kind, of, n := kindOf(l.Parts[i]), runOrQuestionOf(l.Parts[i]), 1
	for _, p := range l.Parts[:i] {
		if kindOf(p) == kind && runOrQuestionOf(p) == of {
			n++
		}
	}
	return fmt.Sprintf("%s %s %d", kind, of, n)
}

// Index is the part of that place; ok is false if there is none.
func (l *Lesson) Index(place string) (i int, ok bool) {
	for i := range len(l.Parts) + 1 {
		if l.Place(i) == place {
			return i, true
		}
	}
	return 0, false
}

// kindOf is the name of a part's type.
func kindOf(p Part) string {
	_, name, _ := strings.Cut(strings.ToLower(fmt.Sprintf("%T", p)), ".")
	return name
}

// runOrQuestionOf is the ID that a part has or speaks of, also that of a question.
func runOrQuestionOf(p Part) string {
	if q, ok := p.(Predict); ok {
		return q.ID
	}
	return RunOf(p)
}

// RunOf is the run or task that a part belongs to or speaks of; empty if none.
func RunOf(p Part) string {
	switch p := p.(type) {
	case Run:
		return p.ID
	case Hold:
		return p.Of
	case Fault:
		return p.Of
	case Release:
		return p.Of
	case Stop:
		return p.Of
	case Expect:
		return p.Of
	case Show:
		return p.Of
	case Reading:
		return p.Of
	case Starter:
		return p.ID
	case Solution:
		return p.ID
	}
	return ""
}
