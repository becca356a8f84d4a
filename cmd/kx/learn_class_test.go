package main

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/kx-apiserver/kx/cmd/kx/internal/learn"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/tui/play"
)

// picture is a drawing in a handout.
var picture = regexp.MustCompile(`^data:image/svg\+xml;base64,(.*)$`)

// TestHandout writes a lesson as a page: all that a learner needs is in it, what they are to find out is folded or away.
func TestHandout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, code := learnHere(t, dir, "handout", "conflict", "--lang", "zh", "--out", "conflict.html"); code != 0 {
		t.Fatal(out)
	}
	data, err := os.ReadFile(filepath.Join(dir, "conflict.html"))
	if err != nil {
		t.Fatal(err)
	}
	open, folded, drawings := pageOf(t, data)
	entries, err := learn.Catalogue(lang.Chinese)
	if err != nil {
		t.Fatal(err)
	}
	e, err := learn.Find(entries, "conflict")
	if err != nil {
		t.Fatal(err)
	}
	shows := 0
	for _, part := range e.Parts {
		switch part := part.(type) {
		case lesson.Predict:
			mustHave(t, open, append(part.Answers, part.Question)...)
		case lesson.Run:
			mustHave(t, open, part.Script)
		case lesson.Starter:
			mustHave(t, open, part.Script)
		case lesson.Hint:
			mustHave(t, folded, part.Text)
		case lesson.Expect:
			if e.Run(part.Of) == nil {
				mustHave(t, open, part.Conditions[0].Text)
			} else {
				mustHave(t, folded, part.Conditions[0].Text)
			}
		case lesson.Show:
			mustHave(t, folded, part.Say)
			if part.Open != "" {
				shows++
			}
		case lesson.Solution:
			if strings.Contains(open+folded, part.Script) {
				t.Errorf("the page has the solution of %s", part.ID)
			}
		}
	}
	if drawings != shows || shows == 0 {
		t.Errorf("it has %d pictures with steps, for %d requests that the lesson shows", drawings, shows)
	}
}

// TestHandoutOfAStranger writes a lesson that brings HTML, links and images of its own, and one that does not hold.
func TestHandoutOfAStranger(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, code := learnHere(t, dir, "new", "my.md"); code != 0 {
		t.Fatal(out)
	}
	file := filepath.Join(dir, "my.md")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	hostile := append(bytes.Clone(data), "\n<script>alert(1)</script> <img src=x onerror=alert(1)> [a](https://example.com/javascript:alert) ![c](https://example.com/c.png) \x1b[31m\n"...)
	if err := os.WriteFile(file, hostile, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := learnHere(t, dir, "handout", "./my.md", "--out", "my.html"); code != 1 || !strings.Contains(out, "with --yes") {
		t.Errorf("without a question: %d: %s", code, out)
	}
	out, code := learnHere(t, dir, "handout", "--yes", "./my.md")
	if code != 0 || strings.Contains(out, "\x1b") || strings.Contains(out, "example.com") {
		t.Errorf("%d: %s", code, out)
	}
	pageOf(t, []byte(out))
	untrue := bytes.Replace(data, []byte("1 verb:create resource:configmaps name:maybe code:201"), []byte("7 verb:delete"), 1)
	if err := os.WriteFile(file, untrue, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := learnHere(t, dir, "handout", "--yes", "./my.md", "--out", "my.html"); code != 1 || !strings.Contains(out, "does not hold, so no handout was made: line ") {
		t.Errorf("%d: %s", code, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "my.html")); err == nil {
		t.Error("a handout was left")
	}
}

// pageOf is the text of a page that is to be seen and that which is folded, and how many of its pictures have steps. It fails for a page
// that could run or load something.
func pageOf(t *testing.T, data []byte) (open, folded string, drawings int) {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var walk func(n *html.Node, hidden bool)
	walk = func(n *html.Node, hidden bool) {
		if n.Type == html.TextNode {
			if hidden {
				folded += n.Data
			} else {
				open += n.Data
			}
		}
		if n.Type == html.ElementNode && strings.Contains(" script a iframe object link form ", " "+n.Data+" ") {
			t.Errorf("the page has an element %s", n.Data)
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") {
				t.Errorf("the page has an attribute %s", a.Key)
			}
			if a.Key != "src" {
				continue
			}
			found := picture.FindStringSubmatch(a.Val)
			if found == nil {
				t.Errorf("the page loads %s", a.Val)
				continue
			}
			if svg, err := base64.StdEncoding.DecodeString(found[1]); err == nil && strings.Count(string(svg), "<text") > 3 {
				drawings++
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c, hidden || n.Data == "details")
		}
	}
	walk(root, false)
	return open, folded, drawings
}

func mustHave(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, strings.TrimRight(want, "\n")) {
			t.Errorf("the page does not have %q where it must be", want)
		}
	}
}

// TestClass has learners hand in what they have done, and shows it as a table, also beside files that are no reports.
func TestClass(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	progress, err := play.LoadProgress(filepath.Join(dir, progressFile))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := learn.Catalogue(lang.English)
	if err != nil {
		t.Fatal(err)
	}
	e, err := learn.Find(entries, "first-get")
	if err != nil {
		t.Fatal(err)
	}
	when := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	record := progress.Record(e.ID)
	record.Done, record.Answers, record.Solved, record.Looked, record.Hints = &when, map[string]int{}, map[string]bool{}, map[string]bool{}, map[string]int{}
	questions := 0
	for _, part := range e.Parts {
		if q, ok := part.(lesson.Predict); ok {
			record.Answers[q.ID] = q.Answer
			if questions == 0 {
				record.Answers[q.ID] = q.Answer%len(q.Answers) + 1
			}
			questions++
		}
	}
	for _, task := range e.Tasks() {
		record.Solved[task.ID], record.Looked[task.ID], record.Hints[task.ID] = true, true, 2
	}
	if err := progress.Save(); err != nil {
		t.Fatal(err)
	}
	in := filepath.Join(dir, "in")
	if err := os.Mkdir(in, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{"ann": dir, "bob": t.TempDir()} {
		if out, code := learnHere(t, dir, "report", name, "--data-dir", data, "--out", filepath.Join(in, name+".json")); code != 0 {
			t.Fatal(out)
		}
	}
	out, code := learnHere(t, dir, "class", in)
	if want := regexp.MustCompile(`(?m)^LEARNER .*\nann +1 of \d+ +2 of 3 +(\d) of (\d) +(\d) +\d+ +first-get +20\d\d-\d\d-\d\d\nbob +0 of \d+ +0 of 0 +0 of 0 +0 +0 +20`); code != 0 || !want.MatchString(out) {
		t.Errorf("%d:\n%s", code, out)
	}
	for name, text := range map[string]string{
		"a.json": `{"learner":"a","made":"2026-01-02T03:04:05Z","lessons":[],"more":1}`,
		"b.json": `{"lessons":[]}`,
		"c.json": strings.Repeat(" ", 2<<20),
		"d.json": `{"learner":"\u001b[31mred","made":"2026-01-02T03:04:05Z","lessons":[]}`,
	} {
		if err := os.WriteFile(filepath.Join(in, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, code = learnHere(t, dir, "class", in, filepath.Join(dir, "none.json"))
	for _, want := range []string{`\x1b[31mred`, `a.json is no report as kx learn report writes it: json: unknown field "more"`, "b.json is no report as kx learn report writes it: it names no learner",
		"c.json is no report: it has more than 1048576 bytes", "none.json: no such file", "\nbob "} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if code != 1 || strings.Contains(out, "\x1b") {
		t.Errorf("%d:\n%s", code, out)
	}
}

// TestLearnCheck looks at a machine without sh and without tools, where the progress can't be read.
func TestLearnCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, progressFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := kx(t, "learn", "check", "--data-dir", dir)
	cmd.Env = append(cmd.Env, "PATH="+dir)
	data, _ := cmd.CombinedOutput()
	out := string(data)
	for _, want := range []string{"missing  a terminal: ", "missing  sh: ", "ok       a port of 127.0.0.1\n", "missing  the progress in ", "remove the file to begin anew",
		"missing  Go (own-storage): Go is not here\n", "create, "} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("%d:\n%s", code, out)
	}
	out, _ = learnHere(t, dir, "check", "first-get", "--data-dir", t.TempDir())
	if !strings.Contains(out, "ok       the progress in ") || strings.Contains(out, "own-storage") {
		t.Errorf("of one lesson it says:\n%s", out)
	}
}

// The copy of a lesson has what its player has seen: no answer before its time, what commands printed, pictures, and the end.
func TestLearnCopy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "copy.html")
	text := catalogued(t, "conflict")
	question := text.Parts[slices.IndexFunc(text.Parts, func(p lesson.Part) bool { _, ok := p.(lesson.Predict); return ok })].(lesson.Predict)
	copied := func() string {
		t.Helper()
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return html.UnescapeString(string(data))
	}
	const reloads, right = `http-equiv="refresh"`, `class="right"`
	lessonHere(t, &learnOptions{dataDir: dir, copy: file}, "conflict", func(p *played) {
		p.see("[, Lesson]", "space goes on to: 1. An update", "live")
		if page := copied(); !strings.Contains(page, reloads) || strings.Contains(page, question.Question) {
			t.Errorf("the copy has more or less than the lesson has shown:\n%s", page)
		}
		p.press(" ")
		p.see("space runs:")
		p.press(" ")
		p.see("Press the number of your answer.")
		p.until("the question is in the copy", func(string) bool { return strings.Contains(copied(), question.Question) })
		if page := copied(); !strings.Contains(page, "409") || strings.Contains(page, right) || strings.Contains(page, "<img") {
			t.Errorf("the copy does not have the output of the run, or has the answer:\n%s", page)
		}
		p.press("1")
		p.see("✗ You said 1", "→ beside the text: ")
		p.until("the answer and the picture are in the copy", func(string) bool {
			return strings.Contains(copied(), right+">"+question.Answers[question.Answer-1]) && strings.Contains(copied(), `<img src="data:image/svg`)
		})
	})
	if strings.Contains(copied(), reloads) {
		t.Error("the copy is loaded again and again after the end of the lesson")
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("others can't read the copy: %v %v", info.Mode(), err)
	}
}
