package trace

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kx-apiserver/kx/core/mask"
)

// Reason is a sentence that says why a step went the way it did, in English and in Chinese. It is declared once, by
// [Because], beside the code that decides. The zero Reason is none. A sentence has room for values:
//
//	{revision}      a number
//	{state:word}    a text of the server's own
//	{error:quote}   a text that may quote the request or an object; it is masked where the request is confidential
//
// A sentence has any number of numbers and at most one text. A step records the Reason and its values. So requests
// spend no time on formatting, filters can select by name, and readers can read it in their own language.
type Reason struct{ *sentence }

// sentence is the declaration of a Reason. It never changes.
type sentence struct {
	name, english, chinese string
	quotes                 bool
}

// Because declares a Reason. name is the variable's name in kebab case. The Chinese has the placeholders of the
// English, in any order.
func Because(name, english, chinese string) Reason {
	return Reason{&sentence{name, english, chinese, strings.Contains(english, ":quote}")}}
}

// IsZero reports that there is no reason.
func (r Reason) IsZero() bool { return r.sentence == nil }

// String is the name of the reason, such as "key-was-free"; empty for no reason.
func (r Reason) String() string {
	if r.IsZero() {
		return ""
	}
	return r.name
}

// Sentence is the English sentence, with its placeholders.
func (r Reason) Sentence() string {
	if r.IsZero() {
		return ""
	}
	return r.english
}

// Chinese is the sentence in Chinese, with the same placeholders.
func (r Reason) Chinese() string {
	if r.IsZero() {
		return ""
	}
	return r.chinese
}

// Fill is the English sentence with the text in the place of its one value that is not a number.
func (r Reason) Fill(text string) string {
	values := r.values()
	for i := range values {
		values[i].Text = text
	}
	return fill(r.Sentence(), values)
}

// values are the reason's placeholders, with zero values.
func (r Reason) values() []Attr {
	var values []Attr
	pieces(r.Sentence(), func(_, name string, isText bool) {
		if name != "" {
			values = append(values, Attr{Name: name, IsInt: !isText})
		}
	})
	return values
}

// fill replaces the placeholders of a sentence, in any language, by the values of the same names.
func fill(text string, values []Attr) string {
	var out strings.Builder
	pieces(text, func(literal, name string, isText bool) {
		out.WriteString(literal)
		i := slices.IndexFunc(values, func(a Attr) bool { return a.Name == name })
		switch {
		case name == "" || i < 0:
		case isText:
			out.WriteString(values[i].Text)
		default:
			out.WriteString(strconv.FormatInt(values[i].Int, 10))
		}
	})
	return out.String()
}

// pieces splits a sentence into pairs of a literal text and the placeholder after it. The last pair may have no
// placeholder.
func pieces(text string, each func(literal, name string, isText bool)) {
	for text != "" {
		literal, rest, found := strings.Cut(text, "{")
		if !found {
			each(literal, "", false)
			return
		}
		placeholder, after, _ := strings.Cut(rest, "}")
		name, _, isText := strings.Cut(placeholder, ":")
		each(literal, name, isText)
		text = after
	}
}

// Why records the reason why the step went the way it did, with the numbers in the order of the sentence. A later call
// replaces an earlier one.
func (s *Step) Why(r Reason, numbers ...int64) {
	if s != nil {
		s.setReason(r, "", numbers)
	}
}

// WhyText is Why for a reason with a text among its values.
func (s *Step) WhyText(r Reason, text string, numbers ...int64) {
	if s != nil {
		s.setReason(r, text, numbers)
	}
}

func (s *Step) setReason(r Reason, text string, numbers []int64) {
	if !r.IsZero() && r.quotes && s.Confidential() {
		text = mask.Masked
	}
	text = clip(text)
	more := max(len(numbers)-1, 0)
	j := s.j
	j.lock()
	if j.room(whyBytes + len(text) + more*entryBytes) {
		e := j.log.add()
		e.kind, e.why, e.step, e.text = entryWhy, r, s.index, text
		if len(numbers) > 0 {
			e.n = numbers[0]
		}
		for _, n := range numbers[len(numbers)-more:] {
			e := j.log.add()
			e.kind, e.step, e.n = entryMore, s.index, n
		}
		j.log.tell()
	}
	j.unlock()
}

// loggedReason is a step's reason, read from a log.
type loggedReason struct {
	reason Reason
	values []Attr
	filled int // how many of the values are set
}

func readWhy(e *entry) loggedReason {
	w := loggedReason{reason: e.why, values: e.why.values()}
	for i := range w.values {
		if !w.values[i].IsInt {
			w.values[i].Text = e.text
		}
	}
	w.add(e.n)
	return w
}

// add sets the next number.
func (w *loggedReason) add(n int64) {
	for ; w.filled < len(w.values); w.filled++ {
		if v := &w.values[w.filled]; v.IsInt {
			v.Int = n
			w.filled++
			return
		}
	}
}

func (w *loggedReason) String() string { return fill(w.reason.Sentence(), w.values) }
