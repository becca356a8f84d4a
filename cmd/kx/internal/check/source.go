package check

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Inputs names what is checked.
type Inputs struct {
	// Paths are files and directories; "-" is In.
	Paths []string
	// Kustomizations are directories.
	Kustomizations []string
	In             io.Reader
}

// standardInput names standard input in positions.
const standardInput = "stdin"

// fileMost limits a file, whose nodes take many times its bytes.
const fileMost = 32 << 20

// reader collects the documents of inputs.
type reader struct {
	documents []*document
	leftOut   []Note
}

// read reads the inputs. What can't be read becomes a document with a failure.
func read(in Inputs) *reader {
	r := &reader{}
	for _, path := range in.Paths {
		if path == "-" {
			r.stream(standardInput, in.In)
			continue
		}
		if isDir(path) {
			r.directory(path)
			continue
		}
		r.file(path)
	}
	for _, dir := range in.Kustomizations {
		r.kustomization(dir)
	}
	return r
}

// fail adds a document that stands for a file which can't be read.
func (r *reader) fail(file, message string) {
	d := &document{file: file, position: Position{file, 1, 1}}
	r.documents = append(r.documents, d.fail(d.position, message)...)
}

func (r *reader) leaveOut(file, text string) {
	r.leftOut = append(r.leftOut, Note{Position{file, 1, 1}, text})
}

func (r *reader) file(path string) {
	f, err := os.Open(path)
	if err != nil {
		r.fail(path, "the file can't be read: "+reason(err)+": mend its path or its mode")
		return
	}
	defer f.Close()
	r.stream(path, f)
}

// reason returns an error without the path, which stands before it.
func reason(err error) string {
	var of *fs.PathError
	if errors.As(err, &of) {
		err = of.Err
	}
	return err.Error()
}

func (r *reader) stream(name string, in io.Reader) {
	data, err := io.ReadAll(io.LimitReader(in, fileMost+1))
	switch {
	case err != nil:
		r.fail(name, "the file can't be read: "+reason(err)+": mend its path or its mode")
	case len(data) > fileMost:
		r.fail(name, fmt.Sprintf("the file has more than the %d MiB that are read: split it", fileMost>>20))
	case bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0:
		r.fail(name, "the file has bytes that are no text: leave it out, or convert it to UTF-8")
	default:
		r.documents = append(r.documents, parse(name, data)...)
	}
}

// kustomizationNames are the file names that kustomize knows.
var kustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// directory reads the manifests below a directory. Hidden directories and the templates of charts are none.
func (r *reader) directory(dir string) {
	root := dir + string(filepath.Separator) // so that a link is followed
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		inside := path != root
		path = filepath.Clean(path)
		switch name := entry; {
		case err != nil:
			r.fail(path, "the directory can't be read: "+reason(err)+": mend its mode")
		case inside && name.IsDir() && strings.HasPrefix(name.Name(), "."):
			return filepath.SkipDir
		case name.IsDir() && isFile(filepath.Join(path, "Chart.yaml")):
			r.leaveOut(path, fmt.Sprintf("a chart, which is not rendered here: helm template %s | kx check -", path))
			return filepath.SkipDir
		case name.IsDir():
		case slices.Contains(kustomizationNames, name.Name()):
			r.leaveOut(path, "a kustomization, which is not built here: kx check -k "+filepath.Dir(path))
		case name.Type()&fs.ModeSymlink != 0 && !strings.HasPrefix(name.Name(), ".") && isDir(path):
			r.leaveOut(path, "a link to a directory, which is not followed: kx check "+path)
		case slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) && isFile(path):
			r.file(path)
		}
		return nil
	})
	if err != nil {
		r.fail(dir, "the directory can't be read: "+reason(err)+": mend its mode")
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
