package steps

import (
	"fmt"
	"io/fs"
	"iter"
	"path"
	"regexp"
	"strings"
)

// Saying is a place at which code gives a reason for a step.
type Saying struct {
	// Function is named with its package, from the module's root.
	Function, File string
	Line           int
}

// Sayings lists the places at which the code gives reasons, by the reasons' names.
type Sayings map[string][]Saying

// ReadSayings finds the places in the source of the rooms that take steps.
func ReadSayings(source fs.FS) (Sayings, error) {
	r := sayings{source: source, declared: map[string][]declared{}, found: Sayings{}}
	for _, read := range []func(name string, text string){r.declare, r.say} {
		for _, room := range []string{"core", "server", "store"} {
			if err := r.walk(room, read); err != nil {
				return nil, fmt.Errorf("find the reasons in the source of %s: %w", room, err)
			}
		}
	}
	return r.found, nil
}

// sayings reads the source twice: first the declarations of reasons, then their uses.
type sayings struct {
	source fs.FS
	// declared lists the reasons by the names of their variables.
	declared map[string][]declared
	found    Sayings
}

// declared is the declaration of a reason: its name, and the directory of its variable.
type declared struct{ reason, dir string }

func (r *sayings) walk(room string, read func(name, text string)) error {
	return fs.WalkDir(r.source, room, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") {
			return err
		}
		text, err := fs.ReadFile(r.source, name)
		if err == nil {
			read(name, string(text))
		}
		return err
	})
}

// declaration is a variable with the name of its reason.
var declaration = regexp.MustCompile(`(?m)^\s*(?:var )?(\w+)\s*=\s*(?:trace\.)?Because\(\s*"([^"]+)"`)

func (r *sayings) declare(name, text string) {
	if !strings.Contains(text, "Because(") {
		return
	}
	for _, m := range declaration.FindAllStringSubmatch(text, -1) {
		r.declared[m[1]] = append(r.declared[m[1]], declared{m[2], path.Dir(name)})
	}
}

func (r *sayings) say(file, text string) {
	if strings.HasPrefix(file, "core/") || !strings.Contains(text, "trace.") {
		return
	}
	dir, function, n := path.Dir(file), "", 0
	for line := range strings.Lines(text) {
		n++
		if strings.HasPrefix(line, "func ") {
			function = functionAt(dir, line)
		}
		if function == dir+".Reasons" { // lists the reasons of a package, and gives none
			continue
		}
		code, _, _ := strings.Cut(line, "// ")
		for before, name := range words(code) {
			for _, d := range r.declared[name] {
				if before != path.Base(d.dir) && (before != "" || d.dir != dir || declaration.MatchString(line)) {
					continue
				}
				r.found[d.reason] = append(r.found[d.reason], Saying{Function: function, File: file, Line: n})
			}
		}
	}
}

// words are the names in a line of code, each with the name before its dot.
func words(code string) iter.Seq2[string, string] {
	return func(yield func(before, name string) bool) {
		before, begin := "", -1
		for i := 0; i <= len(code); i++ {
			if i < len(code) && (code[i] == '_' || code[i]|0x20 >= 'a' && code[i]|0x20 <= 'z' || code[i] >= '0' && code[i] <= '9') {
				if begin < 0 {
					begin = i
				}
				continue
			}
			name := ""
			if begin >= 0 {
				name, begin = code[begin:i], -1
				if !yield(before, name) {
					return
				}
			}
			if before = ""; i < len(code) && code[i] == '.' {
				before = name
			}
		}
	}
}

// head is the first line of a function: its receiver's star and type, and its name.
var head = regexp.MustCompile(`^func (?:\(\w* ?(\*?)(\w+)(\[[^)]*\])?\) )?(\w+)`)

// functionAt returns the name of the function that begins in a line, as journeys write it.
func functionAt(dir, line string) string {
	m := head.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	receiver := m[2]
	if m[3] != "" {
		receiver += "[...]"
	}
	switch {
	case m[1] != "":
		receiver = "(*" + receiver + ")."
	case receiver != "":
		receiver += "."
	}
	return dir + "." + receiver + m[4]
}

// Of returns the place at which a step gave a reason. Most reasons are given at one place. If there are several, it is
// the one in the function that took the step, in its file or in its package. ok is false if that does not tell them
// apart.
func (s Sayings) Of(reason, function, file string) (at Saying, ok bool) {
	all := s[reason]
	if len(all) == 1 {
		return all[0], true
	}
	for _, near := range []func(Saying) bool{
		func(at Saying) bool { return at.Function == function || strings.HasPrefix(function, at.Function+".") },
		func(at Saying) bool { return at.File == file },
		func(at Saying) bool { return path.Dir(at.File) == path.Dir(file) },
	} {
		var those []Saying
		for _, at := range all {
			if at.Function != "" && near(at) {
				those = append(those, at)
			}
		}
		if len(those) == 1 {
			return those[0], true
		}
	}
	return Saying{}, false
}
