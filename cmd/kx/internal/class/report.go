package class

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kx-apiserver/kx/cmd/kx/internal/learn"
	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/tui/play"
)

// Report is a learner's progress, as a file to hand in.
type Report struct {
	Learner string    `json:"learner"`
	Made    time.Time `json:"made"`
	// Lessons lists the lessons that the learner has begun, in kx's order.
	Lessons []Lesson `json:"lessons"`
}

// Lesson is the progress in one lesson.
type Lesson struct {
	ID   string     `json:"id"`
	Done *time.Time `json:"done,omitempty"`
	// Questions counts all questions, Answered the learner's answers, and Right the right ones among them.
	Questions int `json:"questions"`
	Answered  int `json:"answered"`
	Right     int `json:"right"`
	// Tasks counts all tasks and Solved the solved ones. WithSolution counts the solved tasks whose solution the
	// learner looked at. Hints counts the hints that the learner took.
	Tasks        int `json:"tasks"`
	Solved       int `json:"solved"`
	WithSolution int `json:"withSolution"`
	Hints        int `json:"hints"`
}

// ReportOf makes the report of a learner's progress.
func ReportOf(learner string, made time.Time, entries []learn.Entry, progress *play.Progress) *Report {
	r := &Report{Learner: learner, Made: made.UTC().Truncate(time.Second), Lessons: []Lesson{}}
	for _, e := range entries {
		if record := progress.Lessons[e.ID]; record != nil {
			r.Lessons = append(r.Lessons, lessonOf(e, record))
		}
	}
	return r
}

func lessonOf(e learn.Entry, record *play.Record) Lesson {
	l := Lesson{ID: e.ID, Done: record.Done}
	for _, part := range e.Parts {
		if q, ok := part.(lesson.Predict); ok {
			l.Questions++
			if given := record.Answers[q.ID]; given > 0 {
				l.Answered++
				if given == q.Answer {
					l.Right++
				}
			}
		}
	}
	for _, task := range e.Tasks() {
		l.Tasks++
		l.Hints += record.Hints[task.ID]
		if record.Solved[task.ID] {
			l.Solved++
			if record.Looked[task.ID] {
				l.WithSolution++
			}
		}
	}
	return l
}

// reportMost limits the bytes of a report.
const reportMost = 1 << 20

// Collect reads the reports in files and directories. In a directory it reads the files that end in .json. If a file
// is no report, it returns an error in addition to the other reports.
func Collect(places []string) (reports []*Report, err error) {
	for _, place := range places {
		files := []string{place}
		if info, statErr := os.Stat(place); statErr == nil && info.IsDir() {
			if files, statErr = filepath.Glob(filepath.Join(escapeGlob(place), "*.json")); statErr != nil || len(files) == 0 {
				err = errors.Join(err, fmt.Errorf("%s has no file that ends in .json: kx learn report NAME writes one", escape.Line(place)))
			}
		}
		for _, file := range files {
			r, readErr := read(file)
			if readErr != nil {
				err = errors.Join(err, readErr)
				continue
			}
			reports = append(reports, r)
		}
	}
	slices.SortStableFunc(reports, func(a, b *Report) int { return strings.Compare(a.Learner, b.Learner) })
	return reports, err
}

// escapeGlob escapes a directory's name for use in a pattern.
func escapeGlob(dir string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

func read(file string) (*Report, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read a report: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, reportMost+1))
	if err != nil {
		return nil, fmt.Errorf("read a report: %w", err)
	}
	name := escape.Line(file)
	if len(data) > reportMost {
		return nil, fmt.Errorf("%s is no report: it has more than %d bytes", name, reportMost)
	}
	r := &Report{}
	strict := json.NewDecoder(bytes.NewReader(data))
	strict.DisallowUnknownFields()
	if err := strict.Decode(r); err != nil {
		return nil, fmt.Errorf("%s is no report as kx learn report writes it: %s", name, escape.Line(err.Error()))
	}
	if r.Learner == "" {
		return nil, fmt.Errorf("%s is no report as kx learn report writes it: it names no learner", name)
	}
	return r, nil
}

// Table returns the progress of a class: a row of titles, and a row for each learner.
func Table(reports []*Report, lessons int) [][]string {
	rows := [][]string{{"LEARNER", "LESSONS", "RIGHT", "TASKS", "WITH SOLUTION", "HINTS", "LAST", "MADE"}}
	for _, r := range reports {
		var sum Lesson
		done, last := 0, ""
		var when time.Time
		for _, l := range r.Lessons {
			sum.Answered += l.Answered
			sum.Right += l.Right
			sum.Tasks += l.Tasks
			sum.Solved += l.Solved
			sum.WithSolution += l.WithSolution
			sum.Hints += l.Hints
			if l.Done != nil {
				done++
				if !l.Done.Before(when) {
					when, last = *l.Done, l.ID
				}
			}
		}
		rows = append(rows, []string{
			escape.Line(r.Learner), fmt.Sprintf("%d of %d", done, lessons), fmt.Sprintf("%d of %d", sum.Right, sum.Answered),
			fmt.Sprintf("%d of %d", sum.Solved, sum.Tasks), fmt.Sprint(sum.WithSolution), fmt.Sprint(sum.Hints),
			escape.Line(last), r.Made.UTC().Format(time.DateOnly),
		})
	}
	return rows
}
