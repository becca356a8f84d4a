package lang

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// Fill replaces what stands in braces. A sentence of Chinese has a space between Chinese and other words; it goes where
// the value is Chinese too.
func Fill(sentence string, value func(placeholder string) string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(sentence, "{")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		placeholder, after, _ := strings.Cut(rest, "}")
		text := value(placeholder)
		written := out.String()
		if first, _ := utf8.DecodeRuneInString(text); isHan(first) && hanThenSpace(written) {
			out.Reset()
			out.WriteString(strings.TrimSuffix(written, " "))
		}
		out.WriteString(text)
		if last, _ := utf8.DecodeLastRuneInString(text); isHan(last) && spaceThenHan(after) {
			after = after[1:]
		}
		sentence = after
	}
}

func hanThenSpace(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(strings.TrimSuffix(text, " "))
	return strings.HasSuffix(text, " ") && isHan(r)
}

func spaceThenHan(text string) bool {
	r, _ := utf8.DecodeRuneInString(strings.TrimPrefix(text, " "))
	return strings.HasPrefix(text, " ") && isHan(r)
}

func isHan(r rune) bool { return unicode.Is(unicode.Han, r) }

// Journey is a journey whose titles and reasons are in the language, to be shown. It shares everything else with j,
// which stays as it is. What is saved or sent on is j.
func (l Language) Journey(j *v1alpha1.Journey) *v1alpha1.Journey {
	if l == English {
		return j
	}
	shown := *j
	shown.Status.Steps = slices.Clone(j.Status.Steps)
	for i := range shown.Status.Steps {
		s := &shown.Status.Steps[i]
		s.Title, s.Why = l.Text(s.Title), l.Why(j, s)
	}
	shown.Status.Marks = slices.Clone(j.Status.Marks)
	for i := range shown.Status.Marks {
		m := &shown.Status.Marks[i]
		m.Title = l.Text(m.Title)
	}
	return &shown
}

// Who is the name of who changed a field, as package blame has it. What such a name says after a comma, such as which
// plugin it was, stays.
func (l Language) Who(name string) string {
	if text := l.Text(name); text != name {
		return text
	}
	if who, which, ok := strings.Cut(name, ", "); ok && l != English {
		return l.Text(who) + "（" + which + "）"
	}
	return name
}
