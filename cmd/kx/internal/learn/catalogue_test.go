package learn

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/docs"
)

var rewrite = flag.Bool("rewrite", false, "write the tables of docs/learn/README.md anew")

func catalogue(t *testing.T, language lang.Language) []Entry {
	t.Helper()
	entries, err := Catalogue(language)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// TestOrder: lessons are numbered from 1 on, and name only lessons that come before them.
func TestOrder(t *testing.T) {
	earlier := map[string]bool{}
	for i, e := range catalogue(t, lang.English) {
		if e.Number != i+1 {
			t.Errorf("%s has the number %d, and is lesson %d", e.ID, e.Number, i+1)
		}
		if base := path.Base(e.File); base != fmt.Sprintf("%02d-%s.md", e.Number, e.ID) {
			t.Errorf("%s is in the file %s", e.ID, base)
		}
		if earlier[e.ID] {
			t.Errorf("there are two lessons %s", e.ID)
		}
		for _, id := range slices.Concat(e.After, e.Recalls) {
			if !earlier[id] {
				t.Errorf("%s names %s, which is no lesson before it", e.ID, id)
			}
		}
		earlier[e.ID] = true
		if e.Mutation == nil {
			t.Errorf("%s has no mutation: nothing shows that it can fail", e.ID)
		}
		if len(e.Tasks()) < 2 {
			t.Errorf("%s has %d tasks, and should have two", e.ID, len(e.Tasks()))
		}
		if e.Learned == "" {
			t.Errorf("%s does not say what was learned", e.ID)
		}
	}
}

// TestTracks: each lesson is on a track, and each track has what a lesson of it needs to come before.
func TestTracks(t *testing.T) {
	of := map[string][]lesson.Track{}
	for _, e := range catalogue(t, lang.English) {
		of[e.ID] = e.Tracks
		if len(e.Tracks) == 0 {
			t.Errorf("%s is on no track", e.ID)
		}
		for _, track := range e.Tracks {
			for _, before := range e.After {
				if !slices.Contains(of[before], track) {
					t.Errorf("%s is on the track %s, and %s, which comes before it, is not", e.ID, track, before)
				}
			}
		}
	}
}

// TestExplained: once a task is done, the lesson says why it came so.
func TestExplained(t *testing.T) {
	for _, language := range []lang.Language{lang.English, lang.Chinese} {
		for _, e := range catalogue(t, language) {
			for _, task := range e.Tasks() {
				last := task.Expects[len(task.Expects)-1]
				i := slices.IndexFunc(e.Parts, func(p lesson.Part) bool { return p.At() == last.At() })
				for i++; i < len(e.Parts); i++ { // what a fault of the task does ends first
					if _, ok := e.Parts[i].(lesson.Release); !ok {
						break
					}
				}
				text := ""
				if i < len(e.Parts) {
					if part, ok := e.Parts[i].(lesson.Text); ok {
						text = part.Markdown
					}
				}
				if text == "" || strings.HasPrefix(text, "#") {
					t.Errorf("%s: nothing explains the task %s after it", e.File, task.ID)
				}
			}
		}
	}
}

// TestLanguages: what runs and what must be seen is the same in both languages.
func TestLanguages(t *testing.T) {
	english, chinese := catalogue(t, lang.English), catalogue(t, lang.Chinese)
	if len(english) == 0 || len(english) != len(chinese) {
		t.Fatalf("%d lessons in English, %d in Chinese", len(english), len(chinese))
	}
	for i, e := range english {
		c := chinese[i]
		if path.Base(e.File) != path.Base(c.File) {
			t.Errorf("%s has no %s beside it", e.File, c.File)
			continue
		}
		de, dc := e.Description, c.Description
		de.Title, dc.Title, de.Learned, dc.Learned = "", "", "", ""
		if !reflect.DeepEqual(de, dc) {
			t.Errorf("%s: the description differs from that in English:\n%+v\n%+v", c.File, dc, de)
		}
		te, tc := inLanguage(e.Parts), inLanguage(c.Parts)
		for k := range max(len(te), len(tc)) {
			if k >= len(te) || k >= len(tc) || te[k] != tc[k] {
				t.Errorf("%s: block %d differs:\n%s\nin English:\n%s", c.File, k+1, at(tc, k), at(te, k))
				break
			}
		}
		if !hasHan(c.Title) || c.Learned != "" && !hasHan(c.Learned) {
			t.Errorf("%s: the title, or what was learned, is not Chinese", c.File)
		}
		for _, p := range c.Parts {
			if text, ok := p.(lesson.Text); ok && !hasHan(text.Markdown) && len(text.Markdown) > 60 && !strings.HasPrefix(text.Markdown, "```") {
				t.Errorf("%s:%d: the text is not Chinese: %.60s", c.File, text.At(), text.Markdown)
			}
		}
	}
}

func at(texts []string, i int) string {
	if i < len(texts) {
		return texts[i]
	}
	return "none"
}

var han = regexp.MustCompile(`\p{Han}`)

func hasHan(text string) bool { return han.MatchString(text) }

// inLanguage is what all languages share of the blocks.
func inLanguage(parts []lesson.Part) []string {
	var shared []string
	for _, p := range parts {
		switch p := p.(type) {
		case lesson.Text:
			continue
		case lesson.Predict:
			shared = append(shared, fmt.Sprintf("predict %s %d of %d", p.ID, p.Answer, len(p.Answers)))
		case lesson.Hint:
			shared = append(shared, fmt.Sprintf("hint %d", p.Number))
		case lesson.Show:
			shared = append(shared, fmt.Sprintf("show %s %q %s %s %s %v", p.Of, p.Open, p.Step, p.Tab, p.Screen, p.Say != ""))
		case lesson.Expect:
			var lines []string
			for _, c := range p.Conditions {
				lines = append(lines, c.Text)
			}
			shared = append(shared, fmt.Sprintf("expect %s %s %s\n%s", p.Of, p.Reveal, p.Within, strings.Join(lines, "\n")))
		case lesson.Run:
			p.Line = 0
			shared = append(shared, fmt.Sprintf("%+v", p))
		case lesson.Hold:
			p.Line = 0
			shared = append(shared, fmt.Sprintf("%+v", p))
		case lesson.Fault:
			p.Line = 0
			shared = append(shared, fmt.Sprintf("%+v", p))
		case lesson.Release:
			shared = append(shared, "release "+p.Of)
		case lesson.Stop:
			shared = append(shared, "stop "+p.Of)
		case lesson.Server:
			shared = append(shared, fmt.Sprintf("server %q", p.Flags))
		case lesson.Reading:
			shared = append(shared, fmt.Sprintf("read %s %q", p.Of, p.Steps))
		case lesson.Starter:
			shared = append(shared, "starter "+p.ID+"\n"+p.Script)
		case lesson.Solution:
			shared = append(shared, "solution "+p.ID+"\n"+p.Script)
		default:
			shared = append(shared, fmt.Sprintf("a new kind of block: %T", p))
		}
	}
	return shared
}

const readme = "learn/README.md"

var marked = regexp.MustCompile(`(?s)(<!-- lessons: [^\n]* -->\n).*?(<!-- end -->)`)

// TestReadme holds the tables of the README against the lessons. -rewrite writes them.
func TestReadme(t *testing.T) {
	data, err := fs.ReadFile(docs.Files, readme)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	if !marked.MatchString(text) {
		t.Fatalf("%s has no place for the lessons", readme)
	}
	want := marked.ReplaceAllStringFunc(text, func(old string) string {
		m := marked.FindStringSubmatch(old)
		return m[1] + tables(t) + m[2]
	})
	if want == text {
		return
	}
	if !*rewrite {
		t.Fatalf("docs/%s has other lessons: go test ./cmd/kx/internal/learn -rewrite", readme)
	}
	if err := os.WriteFile("../../../../docs/"+readme, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tables are that of the lessons, and that of the articles' chains.
func tables(t *testing.T) string {
	var out strings.Builder
	shown := map[string][]string{}
	out.WriteString("\n| | lesson | minutes | 中文 |\n| --- | --- | --- | --- |\n")
	chinese := catalogue(t, lang.Chinese)
	for i, e := range catalogue(t, lang.English) {
		base := path.Base(e.File)
		fmt.Fprintf(&out, "| %d | [%s](en/%s) | %d | [%s](zh/%s) |\n", e.Number, e.Title, base, e.Minutes, chinese[i].Title, base)
		for _, section := range e.Articles {
			shown[section] = append(shown[section], fmt.Sprintf("[%d](en/%s)", e.Number, base))
		}
	}
	out.WriteString("\nThe chains of the articles ([docs/articles.md](../articles.md)), and the lessons in which they are seen:\n\n| chain | lessons |\n| --- | --- |\n")
	order, known := chains()
	for _, section := range order {
		lessons, title := shown[section], known[section].title
		if len(lessons) == 0 {
			t.Errorf("no lesson shows %q of docs/articles.md: articles: [%s]", title, section)
		}
		fmt.Fprintf(&out, "| [%s](../articles.md#%s) | %s |\n", strings.ReplaceAll(title, "|", `\|`), section, strings.Join(lessons, ", "))
		delete(shown, section)
	}
	for section, lessons := range shown {
		t.Errorf("%s: docs/articles.md has no chain %s", strings.Join(lessons, ", "), section)
	}
	out.WriteString("\n")
	return out.String()
}
