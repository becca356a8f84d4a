package learn

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/docs"
	"github.com/kx-apiserver/kx/server"
)

// Entry is a lesson to play.
type Entry struct {
	*lesson.Lesson
	// Number is the number of one of kx's lessons, or 0 for a lesson from a file.
	Number int
	// File is the lesson's path. Files is the tree in which its links are resolved.
	File  string
	Files fs.FS
}

// Catalogue returns kx's lessons in a language, in their order.
func Catalogue(language lang.Language) ([]Entry, error) {
	files, err := fs.Glob(docs.Files, path.Join("learn", language.String(), "[0-9][0-9]-*.md"))
	if err != nil {
		return nil, err
	}
	known := server.Reasons().Names
	entries := make([]Entry, len(files))
	for i, file := range files {
		data, err := fs.ReadFile(docs.Files, file)
		if err != nil {
			return nil, err
		}
		l, err := lesson.Parse("docs/"+file, data, known)
		if err != nil {
			return nil, err
		}
		number, _ := strconv.Atoi(path.Base(file)[:2]) // the pattern matches only digits here
		entries[i] = Entry{Lesson: l, Number: number, File: file, Files: docs.Files}
	}
	return entries, nil
}

// Find returns the lesson with a number or ID, or reads a file.
func Find(entries []Entry, name string) (Entry, error) {
	if isFile(name) {
		return read(name)
	}
	number, _ := strconv.Atoi(name) // 0 for a name
	for _, e := range entries {
		if e.ID == name || number > 0 && e.Number == number {
			return e, nil
		}
	}
	return Entry{}, fmt.Errorf("there is no lesson %q: kx learn lists them; a file is named with its path, such as ./my.md", name)
}

// isFile reports whether an argument names a file, and not one of kx's lessons.
func isFile(name string) bool {
	return strings.HasSuffix(name, ".md") || strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator)
}

func read(file string) (Entry, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return Entry{}, fmt.Errorf("read the lesson: %w", err)
	}
	l, err := lesson.Parse(file, data, server.Reasons().Names)
	if err != nil {
		return Entry{}, err
	}
	return Entry{Lesson: l, File: filepath.Base(file), Files: os.DirFS(filepath.Dir(file))}, nil
}
