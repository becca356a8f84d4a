package lang

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

// Entry is a text of the catalogue.
type Entry struct{ Room, English, Text string }

// Words is the room of the server's own words that stand in reasons. It is apart from the others: such a word may mean
// something else elsewhere.
const Words = "words of reasons"

// catalogue is a file of translations.
type catalogue struct {
	entries []Entry
	texts   map[string]string
	words   map[string]string
	errs    []error
}

//go:embed zh.txt
var zh string

// chinese is read when it is first asked for: most processes speak English.
var chinese = sync.OnceValue(func() *catalogue { return read(zh) })

// Catalogue are all translations of a language in the order of its file, and what is wrong with the file.
func Catalogue(l Language) ([]Entry, []error) {
	return l.catalogue().entries, l.catalogue().errs
}

// read reads a catalogue: a [room], and in it pairs of a line with the English text and an indented one with its
// translation. Empty lines and those that begin with # mean nothing; a text that does so has a backslash in front.
func read(file string) *catalogue {
	c := &catalogue{texts: map[string]string{}, words: map[string]string{}}
	room, english := "", ""
	wrong := func(n int, format string, values ...any) {
		c.errs = append(c.errs, fmt.Errorf("line %d: "+format, append([]any{n}, values...)...))
	}
	n := 0
	for line := range strings.Lines(file) {
		n++
		text := strings.TrimSpace(line)
		comment := strings.HasPrefix(text, "#")
		text = strings.TrimPrefix(text, `\`)
		indented := strings.HasPrefix(line, " ")
		switch {
		case text == "" || comment:
		case indented && english == "":
			wrong(n, "%q translates nothing", text)
		case indented:
			texts := c.texts
			if room == Words {
				texts = c.words
			}
			if texts[english] != "" {
				wrong(n, "%q is translated twice", english)
			}
			c.entries = append(c.entries, Entry{Room: room, English: english, Text: text})
			texts[english] = text
			english = ""
		default:
			if english != "" {
				wrong(n, "%q has no translation", english)
			}
			if english = text; strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
				room, english = strings.Trim(text, "[]"), ""
			}
		}
	}
	if english != "" {
		wrong(n, "%q has no translation", english)
	}
	return c
}
