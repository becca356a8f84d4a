package kxapi

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin/table"
)

// SourceREST is the storage of sources. It has no watch: the source does not change while the server runs.
type SourceREST struct {
	rest.TableConvertor
	files fs.FS
	// index has the files in the order of their paths, without their text. It is made for the first who asks.
	index func() ([]v1alpha1.Source, error)
}

var (
	_ rest.Getter               = &SourceREST{}
	_ rest.Lister               = &SourceREST{}
	_ rest.Scoper               = &SourceREST{}
	_ rest.SingularNameProvider = &SourceREST{}
	_ rest.ShortNamesProvider   = &SourceREST{}
)

// NewSourceREST serves the files of a server's source, whose paths are from the module's root.
func NewSourceREST(files fs.FS) *SourceREST {
	return &SourceREST{
		TableConvertor: sourceTable,
		files:          files,
		index:          sync.OnceValues(func() ([]v1alpha1.Source, error) { return indexOf(files) }),
	}
}

func (r *SourceREST) New() runtime.Object     { return &v1alpha1.Source{} }
func (r *SourceREST) NewList() runtime.Object { return &v1alpha1.SourceList{} }
func (r *SourceREST) Destroy()                {}
func (r *SourceREST) NamespaceScoped() bool   { return false }
func (r *SourceREST) GetSingularName() string { return "source" }
func (r *SourceREST) ShortNames() []string    { return []string{"src"} }

// eachFile gives the source file by file, in the order of their paths.
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

// Get returns one file with its text.
func (r *SourceREST) Get(_ context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	index, err := r.index()
	if err != nil {
		return nil, err
	}
	for i := range index {
		if index[i].Name != name {
			continue
		}
		source := index[i].DeepCopy()
		text, err := fs.ReadFile(r.files, source.Spec.File)
		source.Spec.Text = string(text)
		return source, err
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: v1alpha1.GroupName, Resource: "sources"}, name)
}

// List returns the files without their text.
func (r *SourceREST) List(_ context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	if err := wholeList(options, "sources"); err != nil {
		return nil, err
	}
	index, err := r.index()
	if err != nil {
		return nil, err
	}
	list := &v1alpha1.SourceList{Items: []v1alpha1.Source{}}
	for i := range index {
		if picks(options, sourceFields(&index[i])) {
			list.Items = append(list.Items, *index[i].DeepCopy())
		}
	}
	return list, nil
}

// sourceFields are the fields that field selectors can ask about.
func sourceFields(s *v1alpha1.Source) fields.Set {
	return fields.Set{"metadata.name": s.Name, "spec.package": s.Spec.Package, "spec.file": s.Spec.File}
}

// wholeList refuses what can't be asked of a list that is made when it is asked for: pages, and a resourceVersion.
func wholeList(options *metainternalversion.ListOptions, resource string) error {
	if options == nil {
		return nil
	}
	if options.Continue != "" {
		return apierrors.NewBadRequest(fmt.Sprintf("invalid continue token: %s are listed whole", resource))
	}
	if version := options.ResourceVersion; version != "" && version != "0" {
		return apierrors.NewBadRequest(fmt.Sprintf("invalid resourceVersion %q: %s have none", version, resource))
	}
	return nil
}

// picks says whether the selectors want an object that has no labels.
func picks(options *metainternalversion.ListOptions, of fields.Set) bool {
	if options == nil {
		return true
	}
	if s := options.FieldSelector; s != nil && !s.Empty() && !s.Matches(of) {
		return false
	}
	return options.LabelSelector == nil || options.LabelSelector.Matches(labels.Set{})
}

var sourceTable = newTable([]table.Column{
	table.NameColumn,
	{Name: "Package", Type: "string", Description: "The package, from the module's root."},
	{Name: "File", Type: "string", Description: "The file in it."},
	{Name: "Lines", Type: "integer", Description: "How many lines it has."},
}, func(s *v1alpha1.Source) metav1.TableRow {
	return table.Row(s.Name, s.Spec.Package, strings.TrimPrefix(s.Spec.File, s.Spec.Package+"/"), int64(s.Spec.Lines))
})
