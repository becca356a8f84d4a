package kxapi

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/builtin"
)

// sources are the files from which this server was built. They have no watch, because they never change.
type sources struct {
	files fs.FS
	// index returns the files in the order of their paths, without their text. The first call makes it.
	index func() ([]v1alpha1.Source, error)
}

func newSources(files fs.FS) *sources {
	return &sources{files, sync.OnceValues(func() ([]v1alpha1.Source, error) { return indexOf(files) })}
}

func (s *sources) resource() *anyResource {
	return declare(resource[*v1alpha1.Source]{
		plural: "sources", singular: "source", shortNames: []string{"src"}, empty: &v1alpha1.SourceList{},
		columns: sourceColumns, row: sourceRow, fields: sourceFields, get: s.get, all: s.all,
	})
}

// eachFile calls give for each file of the source, in the order of their paths.
func eachFile(files fs.FS, give func(file string, text []byte)) error {
	for _, room := range []string{"core", "server", "store"} {
		err := fs.WalkDir(files, room, func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := fs.ReadFile(files, file)
			give(file, text)
			return err
		})
		if err != nil {
			return fmt.Errorf("read the embedded source: %w", err)
		}
	}
	return nil
}

func indexOf(files fs.FS) ([]v1alpha1.Source, error) {
	var sources []v1alpha1.Source
	err := eachFile(files, func(file string, text []byte) {
		sources = append(sources, v1alpha1.Source{
			ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.SourceName(file)},
			Spec:       v1alpha1.SourceSpec{Package: path.Dir(file), File: file, Lines: int32(bytes.Count(text, []byte("\n")))},
		})
	})
	return sources, err
}

// get returns one file with its text.
func (s *sources) get(_ context.Context, name string) (*v1alpha1.Source, error) {
	index, err := s.index()
	i := slices.IndexFunc(index, func(one v1alpha1.Source) bool { return one.Name == name })
	if err != nil || i < 0 {
		return nil, err
	}
	source := index[i].DeepCopy()
	text, err := fs.ReadFile(s.files, source.Spec.File)
	source.Spec.Text = string(text)
	return source, err
}

// all returns the files without their text.
func (s *sources) all(context.Context) (all []*v1alpha1.Source, err error) {
	index, err := s.index()
	for i := range index {
		all = append(all, index[i].DeepCopy())
	}
	return all, err
}

// sourceFields returns the fields for field selectors.
func sourceFields(s *v1alpha1.Source) fields.Set {
	return fields.Set{"metadata.name": s.Name, "spec.package": s.Spec.Package, "spec.file": s.Spec.File}
}

var sourceColumns = []builtin.Column{
	builtin.NameColumn,
	{Name: "Package", Type: "string", Description: "The package, from the module's root."},
	{Name: "File", Type: "string", Description: "The file in it."},
	{Name: "Lines", Type: "integer", Description: "How many lines it has."},
}

func sourceRow(s *v1alpha1.Source) metav1.TableRow {
	return builtin.Row(s.Name, s.Spec.Package, strings.TrimPrefix(s.Spec.File, s.Spec.Package+"/"), int64(s.Spec.Lines))
}
