package tui

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/steps"
)

// TestChinese names each text that Chinese lacks, each entry of the catalogue that nobody uses or that stands in the file of another
// room, and each translation with other placeholders than its English text. Reasons have their Chinese where they are declared, to
// which core/trace holds them.
func TestChinese(t *testing.T) {
	entries, errs := lang.Catalogue(lang.Chinese)
	for _, err := range errs {
		t.Errorf("core/lang/%v", err)
	}
	used := texts(t)
	known := map[string]bool{}
	for _, e := range entries {
		if e.Room != lang.Words {
			known[e.English] = true
		}
		if used.texts[e.English] == nil && !used.literals[e.English] {
			t.Errorf("core/lang/zh/%s.txt: nobody uses the entry: %s", e.Room, e.English)
		}
		for room := range used.texts[e.English] {
			if e.Room != "all" && e.Room != lang.Words && e.Room != room && !strings.HasPrefix(room, e.Room+"/") {
				t.Errorf("core/lang/zh/%s.txt has what is said in %s: move it to the file of that room, or of one above both: %s",
					e.Room, room, e.English)
			}
		}
		if got, want := placeholders(e.Room, e.Text), placeholders(e.Room, e.English); !slices.Equal(got, want) {
			t.Errorf("%q has the placeholders %q, and its translation %q", e.English, want, got)
		}
	}
	missing := 0
	for _, text := range slices.Sorted(maps.Keys(used.texts)) {
		if !known[text] && translatable(text) {
			missing++
			file := "the file of its screen in core/lang/zh/tui" // commands and panes come without their folder
			if rooms := slices.Sorted(maps.Keys(used.texts[text])); len(rooms) > 0 {
				file = "core/lang/zh/" + rooms[0] + ".txt, or that of a room above,"
			}
			t.Errorf("%s needs this line, and below it four spaces and the Chinese:\n%s", file, text)
		}
	}
	if missing > 0 {
		t.Errorf("%d texts are missing", missing)
	}
}

// collection is what can be translated.
type collection struct {
	// texts has for each text the folders in whose source it was found.
	texts map[string]map[string]bool
	// literals are all strings of the source: an entry may be used in a way that this test does not know.
	literals map[string]bool
	// whys are the functions that say why a command can't be done.
	whys map[string]bool
}

// add adds the texts of a file of the source, or of none.
func (c *collection) add(file string, texts ...string) {
	for _, text := range texts {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if c.texts[text] == nil {
			c.texts[text] = map[string]bool{}
		}
		if file != "" {
			c.texts[text][strings.TrimPrefix(path.Dir(file), "../")] = true
		}
	}
}

// texts collects what kx says: steps, commands, screens, and what the source hands to functions that translate.
func texts(t *testing.T) *collection {
	c := &collection{texts: map[string]map[string]bool{}, literals: map[string]bool{}, whys: map[string]bool{}}
	for _, id := range steps.All() {
		c.add("../core/steps/doc.go", id.Info().Title, id.Info().Object.Who)
	}
	for _, s := range steps.AllStepless() {
		c.add("../core/steps/doc.go", s.Text)
	}
	for _, f := range filter.Fields() {
		c.add("../core/filter/doc.go", f.Help)
	}
	m := entire(t)
	for _, command := range m.table.Commands() {
		c.add("", command.Title, command.Help, command.Hint)
		for _, ctx := range command.Contexts {
			c.add("", ctx.Name)
		}
	}
	for _, s := range m.order {
		c.add("", string(s.Name()))
	}
	c.source(t, "..")
	return c
}

// handed are functions whose literal arguments are shown in the reader's language, and by the same names fields of literals, and
// variables.
var handed = map[string]bool{
	"Phrase": true, "phrase": true, "Say": true, "Complain": true, "say": true, "complain": true, "Message": true, "fact": true, "factTo": true, "Next": true, "add": true, "has": true, "gap": true,
}

// shown are fields of the screens' values that are shown in the reader's language.
var shown = []string{"Title", "Help", "Hint", "help", "bad", "note", "label"}

// source collects literals from the source of the module: the arguments of functions that translate, sentences of stories, and why
// commands can't be done.
func (c *collection) source(t *testing.T, root string) {
	fset := token.NewFileSet()
	files := map[string]*ast.File{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && d.Name() != ".."):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".html"):
			return c.template(filepath.ToSlash(path))
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(path)
		if strings.HasPrefix(name, "../tui/send/schema/") || strings.HasPrefix(name, "../tui/theme/palette") {
			return nil // their names mean something else
		}
		files[name] = file
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if pair, ok := n.(*ast.KeyValueExpr); ok && called(pair.Key) == "WhyNot" {
				c.whys[called(pair.Value)] = true
			}
			return true
		})
	}
	for path, file := range files {
		c.file(file, path, strings.HasPrefix(path, "../tui/") || strings.HasPrefix(path, "../cmd/kx/") || strings.HasPrefix(path, "../core/"))
	}
}

var saidInTemplate = regexp.MustCompile("say \"([^\"]*)\"")

func (c *collection) template(path string) error {
	text, err := os.ReadFile(path)
	for _, m := range saidInTemplate.FindAllStringSubmatch(string(text), -1) {
		c.add(path, m[1])
	}
	return err
}

func (c *collection) file(file *ast.File, path string, speaks bool) {
	for _, decl := range file.Decls {
		name := ""
		if f, ok := decl.(*ast.FuncDecl); ok {
			name = f.Name.Name
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if text, ok := literal(n); ok {
					c.literals[text] = true
				}
			case *ast.BinaryExpr:
				if text, ok := literal(n); ok {
					c.literals[text] = true
				}
			case *ast.CallExpr:
				if speaks && handed[called(n.Fun)] {
					c.literalsOf(path, n.Args...)
				}
			case *ast.AssignStmt:
				if speaks && handed[called(n.Lhs[0])] {
					c.literalsOf(path, n.Rhs...)
				}
			case *ast.ReturnStmt:
				if speaks && (c.whys[name] || strings.HasPrefix(strings.ToLower(name), "why")) {
					c.literalsOf(path, n.Results...)
				}
			case *ast.KeyValueExpr:
				key := called(n.Key)
				if strings.HasPrefix(path, "../core/refusal/") && key == "Name" || strings.HasPrefix(path, "../tui/") && slices.Contains(shown, key) {
					c.literalsOf(path, n.Value)
				}
			case *ast.ValueSpec:
				switch n.Names[0].Name {
				case "tabNames", "alsoCalled", "meaning", "laneNames", "statuses":
					c.sentences(path, n)
				case "Typed", "TypedLag", "NoAnswer":
					c.literalsOf(path, n.Values...)
				}
				if path == "../core/story/english.go" && len(n.Names) > 0 && n.Names[0].Name == "sentences" {
					c.sentences(path, n)
				}
			}
			return true
		})
	}
}

func (c *collection) sentences(path string, n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.KeyValueExpr:
			c.literalsOf(path, n.Value)
		case *ast.CompositeLit:
			c.literalsOf(path, n.Elts...)
		}
		return true
	})
}

func (c *collection) literalsOf(path string, all ...ast.Expr) {
	for _, e := range all {
		if text, ok := literal(e); ok {
			c.add(path, text)
		}
	}
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

// called is the last name of a function or a field.
func called(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// name is a text that is a name as a whole: of a function, a program, a field or a verb of etcd, or no word at all.
var name = regexp.MustCompile(`^((etcd3 )?[A-Za-z]+\.[A-Za-z]+|[a-z]*[A-Z][a-z]+[A-Z]\w*|serve[A-Z]\w*|create[A-Z]\w*|etcd|[A-Z]+|\$EDITOR|kubectl/kx/curl)$`)

// translatable says whether a text has words of English.
func translatable(text string) bool {
	words := braces.ReplaceAllString(verbs.ReplaceAllString(text, ""), "")
	return !name.MatchString(text) && strings.ContainsFunc(words, unicode.IsLetter)
}

var (
	braces = regexp.MustCompile(`\{[^}]*\}`)
	verbs  = regexp.MustCompile(`%(\[(\d+)\])?[-+ #0]*\d*(\.\d+)?[a-zA-Z]`)
)

// placeholders are those of a text, sorted. In a story, what stands in braces are words.
func placeholders(room, text string) []string {
	all := braces.FindAllString(text, -1)
	if room == "core/story" {
		for i := range all {
			all[i] = "{}"
		}
	}
	for i, m := range verbs.FindAllStringSubmatch(text, -1) {
		n := i + 1
		if m[2] != "" {
			n, _ = strconv.Atoi(m[2])
		}
		all = append(all, fmt.Sprintf("%d %s", n, m[0][len(m[0])-1:]))
	}
	slices.Sort(all)
	return all
}

// TestChineseSizes draws what most people see, in Chinese and at many sizes: every frame has exactly its cells.
func TestChineseSizes(t *testing.T) {
	d := newDriverIn(t, lang.Chinese)
	d.send(tea.WindowSizeMsg{Width: 120, Height: 40})
	d.put("2", "4", "6", "12", "14")
	for _, pressed := range [][]string{
		{}, {"tab"}, {"tab"}, {"]"}, {"]"}, {"]"}, {"]"}, {"]"}, {"]"}, {"]"}, {"?"}, {"esc", ":"}, {"esc", "/", "verb:"}, {"esc", "S"}, {"esc", "Q"},
	} {
		d.press(pressed...)
		for w := 1; w <= 210; w += 11 {
			for _, h := range []int{1, 15, 24, 31, 40, 60} {
				d.send(tea.WindowSizeMsg{Width: w, Height: h})
				d.frame()
			}
		}
		d.send(tea.WindowSizeMsg{Width: 120, Height: 40})
	}
}
