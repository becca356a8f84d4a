package lang

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"sync"
)

// Entry is a text of the catalogue. Its room is the file in which it stands, such as tui/etcd, or all.
type Entry struct{ Room, English, Text string }

// Words is the room of the server's own words that stand in reasons. It is apart from the others: such a word may mean
// something else elsewhere.
const Words = "words"

// catalogue is what the files of a language have.
type catalogue struct {
	entries []Entry
	texts   map[string]string
	words   map[string]string
	errs    []error
}

// zh has a file for each room of the house that speaks Chinese, at the room's path.
//
//go:embed zh
var zh embed.FS

// chinese is read when it is first asked for: most processes speak English.
var chinese = sync.OnceValue(func() *catalogue { return readAll(zh) })

// Catalogue are all translations of a language by file, and what is wrong with the files.
func Catalogue(l Language) ([]Entry, []error) {
	return l.catalogue().entries, l.catalogue().errs
}

// readAll reads the files of a language.
func readAll(files fs.FS) *catalogue {
	c := &catalogue{texts: map[string]string{}, words: map[string]string{}}
	// The walk can't fail: the files are part of the program.
	_ = fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		c.read(path, string(text))
		return err
	})
	return c
}

// read reads a file: pairs of a line with the English text and an indented one with its translation. Empty lines and
// those that begin with # mean nothing; a text that does so has a backslash in front.
func (c *catalogue) read(path, file string) {
	_, room, _ := strings.Cut(strings.TrimSuffix(path, ".txt"), "/")
	texts := c.texts
	if room == Words {
		texts = c.words
	}
	english, n := "", 0
	wrong := func(format string, text string) {
		c.errs = append(c.errs, fmt.Errorf("%s:%d: "+format, path, n, text))
	}
	for line := range strings.Lines(file) {
		n++
		text := strings.TrimSpace(line)
		comment := strings.HasPrefix(text, "#")
		text = strings.TrimPrefix(text, `\`)
		indented := strings.HasPrefix(line, " ")
		switch {
		case text == "" || comment:
		case indented && english == "":
			wrong("%q translates nothing", text)
		case indented:
			if texts[english] != "" {
				wrong("%q is translated twice", english)
			}
			c.entries = append(c.entries, Entry{Room: room, English: english, Text: text})
			texts[english] = text
			english = ""
		default:
			if english != "" {
				wrong("%q has no translation", english)
			}
			english = text
		}
	}
	if english != "" {
		wrong("%q has no translation", english)
	}
}
