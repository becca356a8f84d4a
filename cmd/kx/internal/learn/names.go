package learn

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/server"
)

// KnownNames answers which names the texts of lessons may use.
type KnownNames struct {
	// Flag reports whether a command has a flag of that name, without its dashes.
	Flag func(name string) bool
}

var (
	codeSpan   = regexp.MustCompile("`([^`\n]+)`")
	flagIn     = regexp.MustCompile(`(?:^|[\s(])--([a-z][a-z0-9-]*)`)
	stepLike   = regexp.MustCompile(`^[a-z][a-z0-9]*\.[a-z][a-z0-9-]*$`)
	symbolLike = regexp.MustCompile(`^\(?\*?[A-Za-z][A-Za-z0-9]*\)?(?:\.[A-Za-z][A-Za-z0-9]*)*(?:\(\))?$`)
	humps      = regexp.MustCompile(`[a-z0-9]\.?[A-Z]`)
	word       = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	inFence    = regexp.MustCompile("(?ms)^```.*?^```$")
)

// unknown returns the names in a lesson's texts that do not exist: steps, flags, functions and links.
func unknown(e Entry, known KnownNames) []string {
	var problems []string
	own := ownWords(e.Lesson)
	for _, p := range e.Parts {
		text, ok := p.(lesson.Text)
		if !ok {
			continue
		}
		markdown := inFence.ReplaceAllString(text.Markdown, "")
		complain := func(format string, values ...any) {
			problems = append(problems, fmt.Sprintf("the text from line %d on: ", text.At())+fmt.Sprintf(format, values...))
		}
		for _, m := range codeSpan.FindAllStringSubmatch(markdown, -1) {
			if problem := unknownName(m[1], known, own); problem != "" {
				complain("%s", problem)
			}
		}
		for _, m := range link.FindAllStringSubmatch(markdown, -1) {
			if target, _, _ := strings.Cut(m[1], "#"); target != "" && !strings.Contains(target, "://") {
				if _, err := fs.Stat(e.Files, path.Join(path.Dir(e.File), target)); err != nil {
					complain("the link to %s leads nowhere", m[1])
				}
			}
		}
	}
	return problems
}

// unknownName explains why the name in a piece of code does not exist. It returns "" for a known name, and for code
// without a name of kx.
func unknownName(code string, known KnownNames, own map[string]bool) string {
	for _, m := range flagIn.FindAllStringSubmatch(code, -1) {
		if !known.Flag(m[1]) {
			return fmt.Sprintf("no command has the flag --%s", m[1])
		}
	}
	switch {
	case stepLike.MatchString(code) && stepFamilies()[code[:strings.IndexByte(code, '.')]]:
		if _, ok := steps.Lookup(code); !ok {
			return fmt.Sprintf("there is no step %s", code)
		}
	case symbolLike.MatchString(code) && humps.MatchString(code):
		for _, name := range word.FindAllString(code, -1) {
			if !own[name] && !sourceWords()[name] {
				return fmt.Sprintf("nothing in kx's source is called %s", name)
			}
		}
	}
	return ""
}

// ownWords returns the words of the lesson's blocks: its text may name the objects that it creates.
func ownWords(l *lesson.Lesson) map[string]bool {
	own := map[string]bool{}
	for _, p := range l.Parts {
		var text string
		switch p := p.(type) {
		case lesson.Run:
			text = p.Script
		case lesson.Starter:
			text = p.Script
		case lesson.Solution:
			text = p.Script
		case lesson.Expect:
			for _, c := range p.Conditions {
				text += c.Text + "\n"
			}
		}
		for _, name := range word.FindAllString(text, -1) {
			own[name] = true
		}
	}
	return own
}

// stepFamilies holds the first parts of steps' names.
var stepFamilies = sync.OnceValue(func() map[string]bool {
	families := map[string]bool{}
	for _, id := range steps.All() {
		family, _, _ := strings.Cut(id.String(), ".")
		families[family] = true
	}
	return families
})

// sourceWords holds all words of the source in the binary, which includes upstream's symbols in the table of steps.
var sourceWords = sync.OnceValue(func() map[string]bool {
	words := map[string]bool{}
	for _, room := range rooms {
		_ = fs.WalkDir(server.Source(), room, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") {
				return err
			}
			data, err := fs.ReadFile(server.Source(), name)
			if err != nil {
				return err
			}
			for _, w := range word.FindAll(data, -1) {
				words[string(w)] = true
			}
			return nil
		})
	}
	return words
})
