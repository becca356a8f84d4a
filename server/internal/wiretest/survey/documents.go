package survey

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

	"k8s.io/apimachinery/pkg/util/yaml"
)

// Source names the objects of one resource: a file below the directory of objects.
type Source struct {
	// Group is empty for the core group, whose directory is called core.
	Group, Resource string
}

// String is group/resource, as directories and tests call it.
func (s Source) String() string {
	if s.Group == "" {
		return "core/" + s.Resource
	}
	return s.Group + "/" + s.Resource
}

// Sources lists the files below dir with the ending, in order.
func Sources(dir, ending string) ([]Source, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*"+ending))
	if err != nil {
		return nil, err
	}
	var sources []Source
	for _, path := range paths {
		s := Source{Group: filepath.Base(filepath.Dir(path)), Resource: strings.TrimSuffix(filepath.Base(path), ending)}
		if strings.HasSuffix(s.Resource, ".before") {
			continue
		}
		if s.Group == "core" {
			s.Group = ""
		}
		sources = append(sources, s)
	}
	return sources, nil
}

// Matches says whether the list of names, with commas between them, has the source or its group. An empty list has all.
func (s Source) Matches(list string) bool {
	group, _, _ := strings.Cut(s.String(), "/")
	names := strings.Split(list, ",")
	return list == "" || slices.Contains(names, group) || slices.Contains(names, s.String())
}

// Documents are the objects of one resource.
type Documents struct {
	// Before are created first, for others to refer to.
	Before  []any `json:"before,omitempty"`
	Objects []any `json:"objects"`
}

// Load reads the objects of a source, and those that have to be there before them.
func Load(dir string, s Source) (Documents, error) {
	file := filepath.Join(dir, filepath.FromSlash(s.String()))
	objects, err := loadFile(file + ".yaml")
	if err != nil {
		return Documents{}, err
	}
	before, err := loadFile(file + ".before.yaml")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return Documents{}, err
	}
	named := map[string]bool{}
	for _, object := range objects {
		name := text(object, "metadata", "namespace") + "/" + text(object, "metadata", "name")
		if named[name] && text(object, "metadata", "name") != "" {
			return Documents{}, fmt.Errorf("%s.yaml has two objects called %s", file, name)
		}
		named[name] = true
	}
	return Documents{Before: before, Objects: objects}, nil
}

func loadFile(file string) ([]any, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var objects []any
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		var object json.RawMessage
		if err := decoder.Decode(&object); err == io.EOF {
			return objects, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if len(object) == 0 || string(object) == "null" {
			continue
		}
		objects = append(objects, parse(object))
	}
}
