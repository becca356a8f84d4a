package trace_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// The tests of this file hold the reasons of the whole module to what reason.go says of them.

// declaration is a call of trace.Because in the source.
type declaration struct {
	at, dir, variable      string
	name, english, chinese string
}

// declarations are the reasons that the module declares.
func declarations(t *testing.T) []declaration {
	t.Helper()
	fset := token.NewFileSet()
	var all []declaration
	for _, path := range sourceFiles(t) {
		s := parse(t, fset, path, nil)
		found, complaints := s.declarations(filepath.ToSlash(filepath.Dir(path)))
		all = append(all, found...)
		for _, complaint := range complaints {
			t.Error(complaint)
		}
	}
	if len(all) < 300 {
		t.Fatalf("%d reasons: this test reads the files wrongly", len(all))
	}
	return all
}

// because is how a file of a directory calls Because; empty if it does not know package trace.
func (s source) because(dir string) string {
	switch {
	case strings.HasSuffix(dir, "core/trace"):
		return "Because"
	case s.trace != "":
		return s.trace + ".Because"
	}
	return ""
}

func (s source) declarations(dir string) (found []declaration, complaints []string) {
	because := s.because(dir)
	if because == "" {
		return nil, nil
	}
	declared := map[*ast.CallExpr]bool{}
	for _, decl := range s.file.Decls {
		vars, ok := decl.(*ast.GenDecl)
		if !ok || vars.Tok != token.VAR {
			continue
		}
		for _, spec := range vars.Specs {
			v := spec.(*ast.ValueSpec)
			if len(v.Names) != 1 || len(v.Values) != 1 {
				continue
			}
			call, ok := v.Values[0].(*ast.CallExpr)
			if !ok || types.ExprString(call.Fun) != because || len(call.Args) != 3 {
				continue
			}
			d := declaration{at: s.fset.Position(v.Pos()).String(), dir: dir, variable: v.Names[0].Name}
			for i, text := range []*string{&d.name, &d.english, &d.chinese} {
				if *text, ok = literal(call.Args[i]); !ok {
					complaints = append(complaints, s.complain(call.Pos(), "the texts of a reason are literals"))
				}
			}
			declared[call] = true
			found = append(found, d)
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && types.ExprString(call.Fun) == because && !declared[call] {
			complaints = append(complaints, s.complain(call.Pos(), "a reason is declared by a variable of the package"))
		}
		return true
	})
	return found, complaints
}

// literal is the text of a literal, or of several that are joined.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		a, ok := literal(e.X)
		b, also := literal(e.Y)
		return a + b, ok && also && e.Op == token.ADD
	}
	return "", false
}

func kebab(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

var placeholder = regexp.MustCompile(`\{[^}]*\}`)

// problems are what is wrong with a declaration.
func (d declaration) problems() (all []string) {
	say := func(format string, values ...any) { all = append(all, fmt.Sprintf(format, values...)) }
	if kebab(d.variable) != d.name && kebab(d.variable) != "why-"+d.name {
		say("the variable %s is called %q", d.variable, d.name)
	}
	if token.IsExported(d.variable) != strings.HasSuffix(d.dir, "core/trace") {
		say("%s: only the reasons of core/trace are for other packages", d.variable)
	}
	values := placeholder.FindAllString(d.english, -1)
	names, texts := map[string]bool{}, 0
	for _, v := range values {
		name, kind, isText := strings.Cut(strings.Trim(v, "{}"), ":")
		if isText {
			texts++
		}
		if names[name] || name == "" || isText && kind != "word" && kind != "quote" {
			say("the placeholder %s is neither a number, a word nor a quote with a name of its own", v)
		}
		names[name] = true
	}
	if texts > 1 {
		say("it has %d texts; there is room for one", texts)
	}
	chinese := placeholder.FindAllString(d.chinese, -1)
	if slices.Sort(values); !slices.Equal(values, slices.Sorted(slices.Values(chinese))) {
		say("it has the placeholders %q, and in Chinese %q", values, chinese)
	}
	for _, text := range []string{d.english, d.chinese} {
		if rest := placeholder.ReplaceAllString(text, ""); text == "" || strings.ContainsAny(rest, "{}") || len(text) > 1024 || len(values) > 8 {
			say("the sentence %q is empty, too long, or has braces without a value", text)
		}
	}
	words := placeholder.ReplaceAllString(d.english, "")
	if isHan := func(r rune) bool { return unicode.Is(unicode.Han, r) }; strings.ContainsFunc(words, unicode.IsLetter) &&
		!strings.ContainsFunc(d.chinese, isHan) || strings.ContainsFunc(d.english, isHan) {
		say("it is not said in English and in Chinese: %q, %q", d.english, d.chinese)
	}
	return all
}

// TestReasonsAreDeclared: each reason has a name of its own, which is its variable's, and a sentence in both languages.
func TestReasonsAreDeclared(t *testing.T) {
	names := map[string]string{}
	for _, d := range declarations(t) {
		for _, problem := range d.problems() {
			t.Errorf("%s: %s", d.at, problem)
		}
		if other := names[d.name]; other != "" {
			t.Errorf("%s: the reason %s is declared at %s too", d.at, d.name, other)
		}
		names[d.name] = d.at
	}
	// The check itself.
	for _, test := range []struct {
		source   string
		problems int
	}{
		{`var keyTaken = trace.Because("key-taken", "at {revision}", "在 {revision}")`, 0},
		{`var whyKeyTaken = trace.Because("key-taken", "taken", "已占用")`, 0},
		{`var takenBy = trace.Because("taken-by", "{who:quote}", "{who:quote}")`, 0},
		{`var taken = trace.Because("key-taken", "taken", "已占用")`, 1},
		{`var KeyTaken = trace.Because("key-taken", "taken", "已占用")`, 1},
		{`var keyTaken = trace.Because("key-taken", "taken", "taken")`, 1},
		{`var keyTaken = trace.Because("key-taken", "taken", "")`, 2},
		{`var keyTaken = trace.Because("key-taken", "at {revision}", "在 {revisions}")`, 1},
		{`var keyTaken = trace.Because("key-taken", "{a:word} {b:word}", "{b:word} {a:word}")`, 1},
		{`var keyTaken = trace.Because("key-taken", "at {r:number}", "在 {r:number}")`, 1},
		{`var keyTaken = trace.Because("key-taken", "at {r", "在 {r")`, 2},
		{`var keyTaken = trace.Because("key-taken", text, "在")`, 2},
		{`func f() { trace.Because("key-taken", "taken", "已占用") }`, 1},
	} {
		s := parse(t, token.NewFileSet(), "x.go", "package x\nimport \""+tracePath+"\"\n"+test.source)
		found, complaints := s.declarations("store/x")
		for _, d := range found {
			complaints = append(complaints, d.problems()...)
		}
		if len(complaints) != test.problems {
			t.Errorf("%s: %q, want %d problems", test.source, complaints, test.problems)
		}
	}
}

// TestReasonsAreListed: each package lists the reasons that it declares, and the server's catalogue has all lists.
func TestReasonsAreListed(t *testing.T) {
	declared, listed := map[string][]string{}, map[string][]string{}
	for _, d := range declarations(t) {
		declared[d.dir] = append(declared[d.dir], d.variable)
	}
	catalogue := ""
	fset := token.NewFileSet()
	for _, path := range sourceFiles(t) {
		dir := filepath.ToSlash(filepath.Dir(path))
		for _, decl := range parse(t, fset, path, nil).file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Name.Name != "Reasons" || f.Recv != nil {
				continue
			}
			if dir == moduleRoot+"/server" {
				catalogue = roomsOf(f.Body, packages(t, fset, path))
				continue
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if list, ok := n.(*ast.CompositeLit); ok {
					for _, e := range list.Elts {
						listed[dir] = append(listed[dir], types.ExprString(e))
					}
				}
				return true
			})
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(declared)) {
		want, got := slices.Sorted(slices.Values(declared[dir])), slices.Sorted(slices.Values(listed[dir]))
		if !slices.Equal(want, got) {
			t.Errorf("%s declares the reasons\n%v\nand its func Reasons lists\n%v", dir, want, got)
		}
		if room := strings.TrimPrefix(dir, moduleRoot+"/"); !strings.Contains(catalogue, " "+room+" ") {
			t.Errorf("the catalogue in server/reasons.go lacks those of %s", room)
		}
	}
}

// packages are the imports of a file by the names that it has for them, as directories of the module.
func packages(t *testing.T, fset *token.FileSet, path string) map[string]string {
	byName := map[string]string{}
	for _, spec := range parse(t, fset, path, nil).file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		name := imported[strings.LastIndex(imported, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		byName[name] = strings.TrimPrefix(imported, strings.TrimSuffix(tracePath, "core/trace"))
	}
	return byName
}

// roomsOf names, between spaces, the packages whose func Reasons a body calls.
func roomsOf(body ast.Node, packages map[string]string) string {
	rooms := " "
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 0 {
			if name, ok := strings.CutSuffix(types.ExprString(call.Fun), ".Reasons"); ok {
				rooms += packages[name] + " "
			}
		}
		return true
	})
	return rooms
}

// TestReasonsAreGiven: each reason is given somewhere, with as many numbers as its sentence has, and a text if it has one.
func TestReasonsAreGiven(t *testing.T) {
	reasons := map[string]declaration{} // by directory and variable
	for _, d := range declarations(t) {
		reasons[d.dir+"."+d.variable] = d
	}
	given := map[string]int{}
	for _, path := range sourceFiles(t) {
		s, dir := parse(t, token.NewFileSet(), path, nil), filepath.ToSlash(filepath.Dir(path))
		of := func(e ast.Expr) string {
			if name, ok := strings.CutPrefix(types.ExprString(e), s.trace+"."); ok && s.trace != "" {
				return moduleRoot + "/core/trace." + name
			}
			return dir + "." + types.ExprString(e)
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				return n.Name.Name != "Reasons" // it lists them
			case *ast.ValueSpec:
				given[dir+"."+n.Names[0].Name]--
			case *ast.Ident, *ast.SelectorExpr:
				given[of(n.(ast.Expr))]++
			case *ast.CallExpr:
				if len(n.Args) > 0 {
					if complaint := s.checkWhy(n, reasons[of(n.Args[0])]); complaint != "" {
						t.Error(complaint)
					}
				}
			}
			return true
		})
	}
	for name, d := range reasons {
		if given[name] < 1 {
			t.Errorf("%s: no step gives the reason %s", d.at, d.variable)
		}
	}
	s := parse(t, token.NewFileSet(), "x.go", "package x\nfunc f() { s.Why(a); s.WhyText(a, t); s.Why(a, 1); s.WhyText(a, t, 1) }")
	for sentence, want := range map[string]int{"none": 3, "{n}": 3, "{t:word}": 3, "{n} {t:quote}": 3} {
		complaints := 0
		ast.Inspect(s.file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && s.checkWhy(call, declaration{variable: "a", english: sentence}) != "" {
				complaints++
			}
			return true
		})
		if complaints != want {
			t.Errorf("%s: %d complaints, want %d", sentence, complaints, want)
		}
	}
}

// checkWhy complains of a call of Why or WhyText whose values do not fit the sentence. A reason in a variable is not known.
func (s source) checkWhy(call *ast.CallExpr, reason declaration) string {
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || reason.variable == "" || call.Ellipsis.IsValid() || fun.Sel.Name != "Why" && fun.Sel.Name != "WhyText" {
		return ""
	}
	text, numbers := fun.Sel.Name == "WhyText", len(call.Args)-1
	if text {
		numbers--
	}
	texts := strings.Count(reason.english, ":word}") + strings.Count(reason.english, ":quote}")
	if want := strings.Count(reason.english, "{") - texts; numbers != want || text != (texts == 1) {
		return s.complain(call.Pos(), "%s is given %d numbers, and a text: %v; its sentence is %q. Why takes numbers; WhyText takes a text first",
			reason.variable, numbers, text, reason.english)
	}
	return ""
}

var reasonName = regexp.MustCompile(`^[a-z]+(-[a-z]+)+$`)

// TestReasonsAreKnown: what looks for a reason in a journey, by a constant such as reasonKeyMoved, looks for one that there is.
func TestReasonsAreKnown(t *testing.T) {
	names := map[string]bool{}
	for _, d := range declarations(t) {
		names[d.name] = true
	}
	found := 0
	for path, file := range files(t, token.NewFileSet()) {
		ast.Inspect(file, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Values) != 1 || !strings.HasPrefix(v.Names[0].Name, "reason") {
				return true
			}
			if name, ok := literal(v.Values[0]); ok && reasonName.MatchString(name) {
				if found++; !names[name] || kebab(v.Names[0].Name) != "reason-"+name {
					t.Errorf("%s: %s is %q, and there is no such reason", path, v.Names[0].Name, name)
				}
			}
			return true
		})
	}
	if found < 5 {
		t.Errorf("%d constants: this test reads the files wrongly", found)
	}
}
