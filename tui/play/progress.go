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
	"github.com/kx-apiserver/kx/tui/disk"
)

// Progress is a learner's record of all lessons, in a file of theirs.
type Progress struct {
	file string
	// Lessons holds the lessons that were begun, by ID.
	Lessons map[string]*Record `json:"lessons,omitempty"`
}

// Record is a learner's record of one lesson.
type Record struct {
	// Done is the time at which the last part was first reached; nil before that.
	Done *time.Time `json:"done,omitempty"`
	// Answered is the time at which the end was first reached with tasks left out, by a learner who wanted only the
	// questions; nil before that.
	Answered *time.Time `json:"answered,omitempty"`
	// Next is the index of the learner's next part. A learner who comes back has the parts before it played again.
	Next int `json:"next,omitempty"`
	// At names that part (lesson.Place). It takes precedence over Next, since editions of a lesson differ in their
	// parts.
	At string `json:"at,omitempty"`
	// Answers holds the learner's answers, by question.
	Answers map[string]int `json:"answers,omitempty"`
	// Hints counts the hints taken, by task; Solved holds the solved tasks.
	Hints  map[string]int  `json:"hints,omitempty"`
	Solved map[string]bool `json:"solved,omitempty"`
	// Looked holds the tasks whose solution the learner looked at before solving them.
	Looked map[string]bool `json:"looked,omitempty"`
	// Skipped holds the tasks that were left out. The lesson is not done before they are.
	Skipped map[string]bool `json:"skipped,omitempty"`
	// Tries holds the scripts that solved tasks. Later parts may depend on their effects.
	Tries map[string]string `json:"tries,omitempty"`
}

// LoadProgress reads a learner's file, which may be missing. With an empty name nothing is saved.
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

// Record returns the record of a lesson, and makes it if needed.
func (p *Progress) Record(id string) *Record {
	r := p.Lessons[id]
	if r == nil {
		r = &Record{}
		p.Lessons[id] = r
	}
	return r
}

// Restart returns the record for a new start of the lesson.
func (r Record) Restart() Record { return Record{Done: r.Done, Answered: r.Answered} }

// Track is a learner's progress on a track, one way through the lessons.
type Track struct {
	lesson.Track
	// Lessons and Minutes count the whole track; Done counts finished lessons, and Left the minutes of the others.
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
	if err := disk.Write(p.file, append(data, '\n')); err != nil {
		return fmt.Errorf("keep the progress: %w", err)
	}
	return nil
}
