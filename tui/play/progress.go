package play

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/tui/whole"
)

// Progress is what a learner has done, in a file of theirs.
type Progress struct {
	file string
	// Lessons are those that were begun, by their IDs.
	Lessons map[string]*Record `json:"lessons,omitempty"`
}

// Record is what was done of one lesson.
type Record struct {
	// Done is when its last part was reached first; nil before that.
	Done *time.Time `json:"done,omitempty"`
	// Answered is when the end was reached first with tasks left out, since the learner wanted the questions alone; nil before that.
	Answered *time.Time `json:"answered,omitempty"`
	// Next is the index of the part at which the learner stands. The parts before it are played again by who comes back.
	Next int `json:"next,omitempty"`
	// At names that part (lesson.Place). Editions of a lesson differ in their numbers of parts, so this counts, and not Next.
	At string `json:"at,omitempty"`
	// Answers are the numbers that were given, by question.
	Answers map[string]int `json:"answers,omitempty"`
	// Hints are how many were taken, by task; Solved are the tasks that hold.
	Hints  map[string]int  `json:"hints,omitempty"`
	Solved map[string]bool `json:"solved,omitempty"`
	// Looked are the tasks whose solution was looked at before they held.
	Looked map[string]bool `json:"looked,omitempty"`
	// Skipped are the tasks that were left out so. The lesson is not done before they are.
	Skipped map[string]bool `json:"skipped,omitempty"`
	// Tries are the scripts with which tasks were solved. Later parts may rest on what they did.
	Tries map[string]string `json:"tries,omitempty"`
}

// LoadProgress reads a learner's file. There need not be one yet; an empty name is kept nowhere.
func LoadProgress(file string) (*Progress, error) {
	p := &Progress{file: file, Lessons: map[string]*Record{}}
	if file == "" {
		return p, nil
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the progress: %w", err)
	}
	if err := json.Unmarshal(data, p); err != nil {
		return nil, fmt.Errorf("read the progress in %s: %w; remove the file to begin anew", file, err)
	}
	for id, r := range p.Lessons {
		if r == nil {
			delete(p.Lessons, id)
		}
	}
	if p.Lessons == nil {
		p.Lessons = map[string]*Record{}
	}
	return p, nil
}

// Of is the record of a lesson, which is made if there is none.
func (p *Progress) Of(id string) *Record {
	r := p.Lessons[id]
	if r == nil {
		r = &Record{}
		p.Lessons[id] = r
	}
	return r
}

// Anew is the record of a lesson that begins anew.
func (r Record) Anew() Record { return Record{Done: r.Done, Answered: r.Answered} }

// Track is how far a learner has come on one way through the lessons.
type Track struct {
	lesson.Track
	// Lessons and Minutes are those of the track; Done lessons are done, and the others take Left minutes.
	Lessons, Done, Minutes, Left int
}

// Track counts a track's lessons among those that there are.
func (p *Progress) Track(track lesson.Track, lessons []*lesson.Lesson) Track {
	t := Track{Track: track}
	for _, l := range lessons {
		if !slices.Contains(l.Tracks, track) {
			continue
		}
		t.Lessons++
		t.Minutes += l.Minutes
		if r := p.Lessons[l.ID]; r != nil && r.Done != nil {
			t.Done++
		} else {
			t.Left += l.Minutes
		}
	}
	return t
}

// Save writes the file.
func (p *Progress) Save() error {
	if p.file == "" {
		return nil
	}
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if err := whole.Write(p.file, append(data, '\n')); err != nil {
		return fmt.Errorf("keep the progress: %w", err)
	}
	return nil
}
