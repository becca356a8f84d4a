package filter

import "strings"

// Place is where the cursor is in a filter that is being typed.
type Place struct {
	// OfStep says that it is among the conditions of one step: a word alone is the step's ID.
	OfStep bool
	// Field is the field whose value the user is typing, empty at a word that may become a field, a text or a step's
	// ID.
	Field string
	// Word is the part of it before the cursor.
	Word string
	// Quoted says that Word is behind a quote that is not closed.
	Quoted bool
}

// PlaceAt finds the place at the end of the input so far. It need not be a filter yet.
func PlaceAt(before string) Place {
	var p Place
	var groups []bool // of the open parentheses: whether the conditions in them are those of one step
	word, quote, link := 0, -1, false
	for i := 0; i < len(before); i++ {
		c := before[i]
		switch {
		case quote >= 0 && c == '\\':
			i++
		case c == '"' && quote >= 0:
			quote = -1
		case c == '"':
			quote = i
		case quote >= 0:
		case c == '(':
			form := strings.ToLower(before[word:i])
			groups = append(groups, p.OfStep || form == "step" || form == "steps")
			p.OfStep, word = groups[len(groups)-1], i+1
		case c == ')':
			groups = groups[:max(len(groups)-1, 0)]
			p.OfStep, word = len(groups) > 0 && groups[len(groups)-1], i+1
		case strings.HasPrefix(before[i:], arrow):
			i += len(arrow) - 1
			link, word = true, i+1
		case c == ' ' || c == '&' || c == '|' || c == '!' && i == word:
			link = link && word == i
			word = i + 1
		}
	}
	p.OfStep = p.OfStep || link
	p.read(before, word, quote)
	return p
}

// read reads the word that begins at start, with an open quote, if one is, at quote.
func (p *Place) read(before string, start, quote int) {
	rest := before[start:]
	name := rest[:len(rest)-len(strings.TrimLeftFunc(rest, func(r rune) bool { return r < 0x80 && isLetter(byte(r)) }))]
	for _, o := range operators {
		value, ok := strings.CutPrefix(rest[len(name):], o.text)
		if !ok || name == "" {
			continue
		}
		p.Field = strings.ToLower(name)
		if field, known := lookup(p.Field, p.OfStep); known {
			p.Field = field.Name
		}
		p.Word = value
		if quote < 0 {
			p.Word = value[strings.LastIndexByte(value, ',')+1:]
		}
		break
	}
	if p.Field == "" {
		p.Word = rest
		if p.OfStep {
			p.Word = rest[strings.LastIndexByte(rest, ',')+1:]
		}
	}
	if quote >= 0 {
		p.Word, p.Quoted = before[quote+1:], true
	}
}
