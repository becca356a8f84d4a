package lang

import (
	"slices"
	"strings"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/trace"
)

// Bounds of a sentence that is filled in: a capture may hold any. The sentences of kx stay below them.
const (
	sentenceMost     = 1024 // bytes
	placeholdersMost = 8
)

// Why is the reason of a step of the journey: the sentence in the language that the journey has, with the step's
// values. Without such a sentence it is as the server wrote it.
func (l Language) Why(j *v1alpha1.Journey, s *v1alpha1.Step) string {
	if l == English || s.Reason == nil {
		return s.Why
	}
	i := slices.IndexFunc(j.Status.Sentences, func(said v1alpha1.Sentence) bool { return said.Kind == s.Reason.Kind })
	if i < 0 {
		return s.Why
	}
	text := j.Status.Sentences[i].Chinese
	if text == "" || len(text) > sentenceMost || strings.Count(text, "{") > placeholdersMost {
		return s.Why
	}
	words := l.catalogue().words
	complete := true
	filled := Fill(text, func(placeholder string) string {
		name, kind, _ := strings.Cut(placeholder, ":")
		for _, v := range s.Reason.Values {
			if v.Name != name {
				continue
			}
			if word := words[v.Value]; kind == "word" && word != "" { // the server's own, so it may be in the catalogue
				return word
			}
			return v.Value
		}
		complete = false
		return ""
	})
	if !complete { // the sentence is of another version of kx than the step
		return s.Why
	}
	return filled
}

// Complete adds to a journey the sentences that it lacks and the reasons have: older servers did not send them.
func Complete(j *v1alpha1.Journey, reasons trace.Catalogue) {
	j.Complete(func(kind string) (v1alpha1.Sentence, bool) {
		r, ok := reasons.Reason(kind)
		return v1alpha1.Sentence{Kind: r.String(), English: r.Sentence(), Chinese: r.Chinese()}, ok
	})
}
