package reload

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// File is a file with its content.
type File struct {
	Path string
	Data []byte
}

// Source is a file, a pair of files, or the files of a directory.
type Source struct {
	// Path is the path of the file or the directory.
	Path string

	directory bool
	// other is the second file of a pair.
	pair  bool
	other string
}

// OneFile returns the source for the file at path.
func OneFile(path string) Source { return Source{Path: path} }

// Pair returns the source for two files that belong together, such as a certificate and its key. The first names it.
func Pair(path, other string) Source { return Source{Path: path, pair: true, other: other} }

// Directory returns the source for the YAML and JSON files in the directory at path, by their names.
// Subdirectories do not count.
func Directory(path string) Source { return Source{Path: path, directory: true} }

// noun returns its name in sentences.
func (s Source) noun() string {
	if s.directory {
		return "directory"
	}
	return "file"
}

// mostBytes limits the total size of a directory's files: etcd would store no larger object, and many of these
// are a mistake.
const mostBytes = 32 << 20

// Read returns the files, sorted by name, and their hash. For one file it equals the result of sha256sum.
func (s Source) Read() (files []File, hash string, err error) {
	if s.pair {
		return s.readPair()
	}
	if !s.directory {
		data, err := os.ReadFile(s.Path)
		if err != nil {
			return nil, "", err
		}
		return []File{{s.Path, data}}, fmt.Sprintf("sha256:%x", sha256.Sum256(data)), nil
	}
	entries, err := os.ReadDir(s.Path) // sorted by name
	if err != nil {
		return nil, "", err
	}
	all, left := sha256.New(), int64(mostBytes)
	for _, entry := range entries {
		if entry.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(entry.Name()))) {
			continue
		}
		f := File{Path: filepath.Join(s.Path, entry.Name())}
		if f.Data, err = readAtMost(f.Path, left); err != nil {
			return nil, "", err
		}
		left -= int64(len(f.Data))
		if left < 0 {
			return nil, "", fmt.Errorf("%s: the files have more than %d bytes", s.Path, mostBytes)
		}
		all.Write(f.Data)
		all.Write([]byte{0}) // moving bytes from one file to the next is a change
		files = append(files, f)
	}
	return files, fmt.Sprintf("sha256:%x", all.Sum(nil)), nil
}

func (s Source) readPair() (files []File, hash string, err error) {
	both := sha256.New()
	for _, path := range []string{s.Path, s.other} {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, "", err
		}
		fmt.Fprintf(both, "%d ", len(data)) // moving bytes from one file to the other is a change
		both.Write(data)
		files = append(files, File{path, data})
	}
	return files, fmt.Sprintf("sha256:%x", both.Sum(nil)), nil
}

// readAtMost reads at most one byte more than the limit, which shows that a file is longer.
func readAtMost(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, most+1))
}
