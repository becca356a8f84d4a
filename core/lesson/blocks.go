package lesson

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// blocks are the kinds of blocks. Other fenced blocks are text.
var blocks = map[string]func(*block) (Part, error){
	"run":      readRun,
	"hold":     readHold,
	"fault":    readFault,
	"release":  readRelease,
	"stop":     readStop,
	"server":   readServer,
	"predict":  readPredict,
	"expect":   readExpect,
	"show":     readShow,
	"read":     readRead,
	"hint":     readHint,
	"starter":  readStarter,
	"solution": readSolution,
}

// first is the error of the first that has one.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func readRun(b *block) (Part, error) {
	id, err1 := b.id("id")
	background, err2 := b.flag("bg")
	fails, err3 := b.flag("fails")
	unsaid := defaultLimit
	if background {
		unsaid = 0 // its reader may take any time
	}
	limit, err4 := b.duration("limit", unsaid)
	needs, err5 := b.needs()
	script, err6 := b.requiredText()
	return Run{Line(b.line), id, script, background, fails, limit, needs}, first(err1, err2, err3, err4, err5, err6)
}

func readHold(b *block) (Part, error) {
	of, err := b.id("of")
	if err != nil {
		return nil, err
	}
	h := Hold{Line: Line(b.line), Of: of}
	err = b.eachLine(func(i int, line string) error {
		if problem := filterProblem(line, b.known); problem != "" {
			return b.lineErrorf(i, "expected a filter: %s", problem)
		}
		h.Filters = append(h.Filters, line)
		return nil
	})
	if err == nil && len(h.Filters) == 0 {
		err = b.errorf("expected a filter")
	}
	return h, err
}

func readFault(b *block) (Part, error) {
	of, err := b.id("of")
	if err != nil {
		return nil, err
	}
	spec, problem := parseFault([]byte(strings.Join(b.body, "\n")), b.known)
	if problem != "" {
		return nil, b.errorf("%s", problem)
	}
	return Fault{Line(b.line), of, *spec}, nil
}

// parseFault reads the spec of a fault. problem is why it is none.
func parseFault(text []byte, known filter.Vocabulary) (spec *v1alpha1.FaultSpec, problem string) {
	spec = &v1alpha1.FaultSpec{}
	if err := yaml.UnmarshalStrict(text, spec); err != nil {
		return nil, fmt.Sprintf("expected the fields of a fault, such as effect and filter: %v", err)
	}
	if spec.Effect == "" {
		return nil, "expected an effect: Delay, Fail, TimeoutAfterCommit, DropWatch, StaleCache or WebhookDown"
	}
	if problem := filterProblem(spec.Filter, known); problem != "" {
		return nil, "expected a filter: " + problem
	}
	return spec, ""
}

// empty is why a block that says all in its first line has a body.
func (b *block) empty() error {
	if b.text() != "" {
		return b.errorf("expected an empty block")
	}
	return nil
}

func readRelease(b *block) (Part, error) {
	of, err := b.id("of")
	return Release{Line(b.line), of}, first(err, b.empty())
}

func readStop(b *block) (Part, error) {
	of, err := b.id("of")
	return Stop{Line(b.line), of}, first(err, b.empty())
}

func readServer(b *block) (Part, error) {
	s := Server{Line: Line(b.line)}
	err := b.eachLine(func(i int, line string) error {
		if problem := checkServeFlag(line); problem != "" {
			return b.lineErrorf(i, "%s", problem)
		}
		s.Flags = append(s.Flags, line)
		return nil
	})
	return s, err
}

var numbered = regexp.MustCompile(`^(\d+)\. +(.+)$`)

func readPredict(b *block) (Part, error) {
	id, err1 := b.id("id")
	answer, err2 := b.number("answer")
	if err := first(err1, err2); err != nil {
		return nil, err
	}
	q := Predict{Line: Line(b.line), ID: id, Answer: answer}
	err := b.eachLine(func(i int, line string) error {
		m := numbered.FindStringSubmatch(line)
		switch {
		case m == nil && len(q.Answers) == 0:
			q.Question = strings.TrimSpace(q.Question + "\n" + line)
		case m == nil:
			return b.lineErrorf(i, "expected answer %d: a number, a point and a text", len(q.Answers)+1)
		case m[1] != strconv.Itoa(len(q.Answers)+1):
			return b.lineErrorf(i, "expected answer %d, and got %s", len(q.Answers)+1, m[1])
		default:
			q.Answers = append(q.Answers, m[2])
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case q.Question == "":
		return nil, b.errorf("expected a question before the answers")
	case len(q.Answers) < 2 || len(q.Answers) > 9:
		return nil, b.errorf("expected 2 to 9 answers, each on a line: 1. a text")
	case answer > len(q.Answers):
		return nil, b.errorf("answer=%d, and there are %d answers", answer, len(q.Answers))
	}
	return q, nil
}

func readExpect(b *block) (Part, error) {
	of, err1 := b.id("of")
	within, err2 := b.duration("within", defaultWithin)
	e := Expect{Line: Line(b.line), Of: of, Within: within}
	var err3 error
	if _, ok := b.options["reveal"]; ok {
		e.Reveal, err3 = b.id("reveal")
	} else {
		b.taken = append(b.taken, "reveal")
	}
	if err := first(err1, err2, err3); err != nil {
		return nil, err
	}
	err := b.eachLine(func(i int, line string) error {
		c, problem := parseCondition(line, b.known)
		if problem != "" {
			return b.lineErrorf(i, "%s", problem)
		}
		c.Line = Line(b.line + 1 + i)
		e.Conditions = append(e.Conditions, c)
		return nil
	})
	if err == nil && len(e.Conditions) == 0 {
		err = b.errorf("expected a line such as: 1 verb:get code:200")
	}
	return e, err
}

var (
	countOf   = regexp.MustCompile(`^(\d{1,6})(\+?) +(.+)$`)
	objectOf  = regexp.MustCompile(`^(?:-n +([a-z0-9.-]+) +)?([a-z0-9.-]+/[A-Za-z0-9.:_-]+)$`)
	fieldsOf  = regexp.MustCompile(`^((?:-n +\S+ +)?\S+) +((?:\{[^{}]+\} *)+)= *(.*)$`)
	oneField  = regexp.MustCompile(`\{[^{}]+\}`)
	oneQuoted = regexp.MustCompile(`^"(?:[^"\\]|\\.)*"$`)
)

// parseCondition reads one line of an expectation. problem is why it is none.
func parseCondition(line string, known filter.Vocabulary) (c Condition, problem string) {
	c.Text = line
	if m := countOf.FindStringSubmatch(line); m != nil {
		c.Count, _ = strconv.Atoi(m[1]) // at most six digits
		c.AtLeast, c.Filter = m[2] == "+", m[3]
		if problem := filterProblem(c.Filter, known); problem != "" {
			return c, "expected a filter: " + problem
		}
		return c, ""
	}
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch word {
	case "get":
		return readFields(c, rest)
	case "gone":
		m := objectOf.FindStringSubmatch(rest)
		if m == nil {
			return c, "expected gone RESOURCE/NAME, with -n NAMESPACE in front where it is not default"
		}
		c.Kind, c.Namespace, c.Object = Gone, m[1], m[2]
		return c, ""
	case "prints", "hides":
		c.Kind = Prints
		if word == "hides" {
			c.Kind = Hides
		}
		if !oneQuoted.MatchString(rest) {
			return c, "expected a text in double quotes"
		}
		var err error
		if c.Phrase, err = strconv.Unquote(rest); err != nil || c.Phrase == "" {
			return c, "expected a text in double quotes"
		}
		return c, ""
	}
	return c, "expected a number and a filter, or get, gone, prints or hides"
}

func readFields(c Condition, rest string) (_ Condition, problem string) {
	m := fieldsOf.FindStringSubmatch(rest)
	if m == nil {
		return c, "expected get RESOURCE/NAME {.PATH} = VALUE"
	}
	o := objectOf.FindStringSubmatch(m[1])
	if o == nil {
		return c, "expected get RESOURCE/NAME, with -n NAMESPACE in front where it is not default"
	}
	c.Kind, c.Namespace, c.Object = Object, o[1], o[2]
	c.Paths = oneField.FindAllString(m[2], -1)
	c.Values = strings.Fields(m[3])
	if len(c.Paths) != len(c.Values) {
		return c, fmt.Sprintf("%d paths, and %d values: expected a word for each", len(c.Paths), len(c.Values))
	}
	return c, ""
}

// tabs lists the tabs of the pane Detail.
var tabs = []string{"Step", "Diff", "Source", "Timing", "Object", "Request", "etcd", "Watchers"}

// screens lists the screens that a lesson can open.
var screens = []string{"Capture", "Send", "etcd", "Cache", "Structure", "Story"}

func readShow(b *block) (Part, error) {
	of, err := b.id("of")
	if err != nil {
		return nil, err
	}
	s := Show{Line: Line(b.line), Of: of}
	err = b.eachLine(func(i int, line string) error {
		word, rest, _ := strings.Cut(line, " ")
		field, among := (*string)(nil), []string(nil)
		switch word {
		case "open":
			if problem := filterProblem(rest, b.known); problem != "" || rest == "" {
				return b.lineErrorf(i, "expected open FILTER: %s", problem)
			}
			field = &s.Open
		case "step":
			field = &s.Step
		case "tab":
			field, among = &s.Tab, tabs
		case "screen":
			field, among = &s.Screen, screens
		case "say":
			s.Say = strings.TrimSpace(s.Say + " " + rest)
			return nil
		default:
			return b.lineErrorf(i, "expected open, step, tab, screen or say")
		}
		if *field != "" {
			return b.lineErrorf(i, "%s is said twice", word)
		}
		if rest == "" || among != nil && !slices.Contains(among, rest) {
			return b.lineErrorf(i, "%s: expected one of %s", word, strings.Join(among, ", "))
		}
		*field = rest
		return nil
	})
	if err == nil && s.Open == "" && s.Screen == "" && s.Say == "" {
		err = b.errorf("expected open, screen or say")
	}
	if err == nil && (s.Step != "" || s.Tab != "") && s.Open == "" {
		err = b.errorf("step and tab are of a request: expected open FILTER too")
	}
	return s, err
}

func readRead(b *block) (Part, error) {
	of, err := b.id("of")
	r := Reading{Line: Line(b.line), Of: of}
	_ = b.eachLine(func(_ int, line string) error { r.Steps = append(r.Steps, line); return nil })
	if err == nil && len(r.Steps) == 0 {
		err = b.errorf("expected IDs of steps, each on a line")
	}
	return r, err
}

func readHint(b *block) (Part, error) {
	// The number stands alone, as in: hint 1.
	var number int
	for option, value := range b.options {
		n, err := strconv.Atoi(option)
		if err != nil || value != "" || len(b.options) != 1 || n < 1 {
			return nil, b.errorf("expected a number, such as: hint 1")
		}
		number = n
		b.taken = append(b.taken, option)
	}
	text, err := b.requiredText()
	if number == 0 {
		err = b.errorf("expected a number, such as: hint 1")
	}
	return Hint{Line(b.line), number, text}, err
}

func readStarter(b *block) (Part, error) {
	id, err1 := b.id("id")
	limit, err2 := b.duration("limit", defaultLimit)
	needs, err3 := b.needs()
	script, err4 := b.requiredText()
	return Starter{Line(b.line), id, script, limit, needs}, first(err1, err2, err3, err4)
}

func readSolution(b *block) (Part, error) {
	id, err := b.id("id")
	script, err2 := b.requiredText()
	return Solution{Line(b.line), id, script}, first(err, err2)
}
