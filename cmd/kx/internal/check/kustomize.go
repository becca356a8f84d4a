package check

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// kustomization adds the objects that kustomize builds from a directory. The position of each is that of the document
// that it was made from. Without one, it is the beginning of the kustomization file.
func (r *reader) kustomization(dir string) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(withOrigins{filesys.MakeFsOnDisk(), dir}, dir)
	if err != nil {
		message, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
		r.fail(dir, "kustomize can't build it: "+message+": kx kustomize "+dir+" builds it alone")
		return
	}
	origins := takeOrigins(dir, built)
	file := kustomizationOf(dir)
	for i, res := range built.Resources() {
		text, err := res.AsYAML()
		if err != nil {
			r.fail(file, "kustomize can't write "+res.GetKind()+" "+res.GetName()+": "+err.Error()+": correct it")
			continue
		}
		for _, d := range newDocument(part{text: text}, file, yamlMedia) {
			if d.source = origins[i]; d.source != nil {
				d.position = d.source.position
			} else {
				d.position = Position{file, 1, 1}
				d.source = &document{root: &yaml.Node{Kind: yaml.MappingNode}} // no file has its fields
			}
			if d.failure != nil {
				d.failure.Position = d.position // its own counts lines of what kustomize wrote
			}
			r.documents = append(r.documents, d)
		}
	}
}

// kustomizationOf returns the kustomization file of a directory, or the directory if it has none.
func kustomizationOf(dir string) string {
	for _, name := range kustomizationNames {
		if path := filepath.Join(dir, name); isFile(path) {
			return path
		}
	}
	return dir
}

// withOrigins is a file system that adds an option to the kustomization of dir: each built object then has an
// annotation with the file that it comes from. Bases of dir inherit the option.
type withOrigins struct {
	filesys.FileSystem
	dir string
}

func (w withOrigins) ReadFile(path string) ([]byte, error) {
	data, err := w.FileSystem.ReadFile(path)
	if err != nil || !slices.Contains(kustomizationNames, filepath.Base(path)) || !sameFile(filepath.Dir(path), w.dir) {
		return data, err
	}
	var file yaml.Node
	if yaml.Unmarshal(data, &file) != nil || len(file.Content) == 0 || file.Content[0].Kind != yaml.MappingNode {
		return data, nil // kustomize reports what is wrong
	}
	root := file.Content[0]
	_, options, _ := entry(root, "buildMetadata", 1)
	if options == nil {
		options = &yaml.Node{Kind: yaml.SequenceNode}
		root.Content = append(root.Content, text("buildMetadata"), options)
	}
	options.Content = append(options.Content, text("originAnnotations"))
	return yaml.Marshal(&file)
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// takeOrigins returns, for each object, the document that it was made from, or nil. It removes the annotations that
// withOrigins asked for.
func takeOrigins(dir string, built resmap.ResMap) []*document {
	files := map[string][]*document{}
	var all []*document
	for _, res := range built.Resources() {
		all = append(all, original(dir, res, files))
	}
	_ = built.RemoveOriginAnnotations() // an annotation that stays does no harm
	return all
}

// original returns the document that an object was made from, or nil. Kustomize may have added a prefix or suffix to
// the name, so the document with the longest name within the object's is taken, and of those one in its namespace.
// files caches the documents of each file.
func original(dir string, res *resource.Resource, files map[string][]*document) *document {
	origin, err := res.GetOrigin()
	if err != nil || origin == nil || origin.Repo != "" || origin.Path == "" {
		return nil
	}
	path := filepath.Join(dir, filepath.FromSlash(origin.Path))
	documents, ok := files[path]
	if !ok {
		if data, err := os.ReadFile(path); err == nil && len(data) <= fileMost {
			documents = parse(path, data)
		}
		files[path] = documents
	}
	var found *document
	for _, d := range documents {
		if d.root == nil || d.Kind != res.GetKind() || !strings.Contains(res.GetName(), d.Name) {
			continue
		}
		here := func(d *document) bool { return d.Namespace == res.GetNamespace() }
		if found == nil || len(d.Name) > len(found.Name) || len(d.Name) == len(found.Name) && here(d) && !here(found) {
			found = d
		}
	}
	return found
}
