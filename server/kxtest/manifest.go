package kxtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// manifest is an object of a file.
type manifest struct {
	file   string
	object *unstructured.Unstructured
}

// is reports whether the object is of a kind in a group, whatever the version.
func (m *manifest) is(group string, kinds ...string) bool {
	gvk := m.object.GroupVersionKind()
	for _, kind := range kinds {
		if gvk.Group == group && gvk.Kind == kind {
			return true
		}
	}
	return false
}

// String names the object and its file in errors.
func (m *manifest) String() string {
	return fmt.Sprintf("%s: %s %q", m.file, m.object.GetKind(), m.object.GetName())
}

// readAll reads the objects of files and directories.
func readAll(paths []string) (all []*manifest, err error) {
	for _, path := range paths {
		files, err := filesOf(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			objects, err := readFile(file)
			if err != nil {
				return nil, err
			}
			all = append(all, objects...)
		}
	}
	return all, nil
}

// filesOf returns a file itself, or the manifests of a directory, in the order of their names.
func filesOf(path string) (files []string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		switch strings.ToLower(filepath.Ext(e.Name())) {
		case ".yaml", ".yml", ".json":
			if !e.IsDir() {
				files = append(files, filepath.Join(path, e.Name()))
			}
		}
	}
	return files, nil
}

// kustomizeGroup is the group of files that tell kustomize what to do with those beside them.
const kustomizeGroup = "kustomize.config.k8s.io"

// readFile reads the documents of a file. Those for kustomize and other tools are left out: they have its group, or
// neither version nor kind.
func readFile(file string) (all []*manifest, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		switch kind := object.GroupVersionKind(); {
		case kind.Empty() || kind.Group == kustomizeGroup:
			continue
		case kind.Kind == "" || kind.Version == "":
			return nil, fmt.Errorf("%s: %q has no apiVersion or no kind", file, object.GetName())
		}
		if !strings.HasSuffix(object.GetKind(), "List") || object.Object["items"] == nil {
			all = append(all, &manifest{file, object})
			continue
		}
		err = object.EachListItem(func(item runtime.Object) error {
			all = append(all, &manifest{file, item.(*unstructured.Unstructured)})
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
}

// readOf reads the objects of some kinds. Others in the files are left out, as envtest does. A path that has none of
// them is refused: it is not the one that was meant.
func readOf(paths []string, group string, kinds ...string) (all []*manifest, err error) {
	for _, path := range paths {
		found, err := readAll([]string{path})
		if err != nil {
			return nil, err
		}
		before := len(all)
		for _, m := range found {
			if m.is(group, kinds...) {
				all = append(all, m)
			}
		}
		if len(all) == before {
			return nil, fmt.Errorf("%s has no %s", path, strings.Join(kinds, " and no "))
		}
	}
	return all, nil
}
