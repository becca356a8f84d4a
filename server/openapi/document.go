package openapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Part is the part of a group version from one source, such as a CustomResourceDefinition.
type Part struct {
	// Name is unique in the group version.
	Name string
	// Hash, if not empty, identifies the description: equal hashes mean equal descriptions. With it nothing needs to be
	// built to find out whether a document has changed.
	Hash string
	// V3 and V2 describe the part. Each is called once, when its result is first needed. The document takes the paths
	// and definitions from it, and from the group version's first part also the info and the security schemes. The name
	// of a built-in definition refers to the built-in one.
	V3 func() (*spec3.OpenAPI, error)
	V2 func() (*spec.Swagger, error)
}

// part is a Part with its fragments, which are made on demand.
type part struct {
	name, hash string
	v3, v2     lazy
}

// newPart makes a part. Errors name the path.
func newPart(p Part, path string, info spec.Info) *part {
	out := &part{name: p.Name, hash: p.Hash}
	out.renew(p, path, info)
	return out
}

// renew replaces the functions of the part by those of p, which has the same hash.
func (t *part) renew(p Part, path string, info spec.Info) {
	t.v3.renew(func() *fragment {
		return buildFragment(path, p.V3, fragmentV3, &spec3.OpenAPI{Info: &info})
	})
	t.v2.renew(func() *fragment {
		return buildFragment(path, p.V2, fragmentV2, &spec.Swagger{SwaggerProps: spec.SwaggerProps{Info: &info}})
	})
}

// buildFragment makes the fragment of a part. If describing it fails, it uses instead, so that the other parts stay
// visible.
func buildFragment[T any](path string, describe func() (T, error), cut func(T) (*fragment, error), instead T) *fragment {
	f, err := cutFragment(describe, cut)
	if err == nil {
		return f
	}
	utilruntime.HandleError(fmt.Errorf("describe %s: %w", path, err))
	f, err = cut(instead)
	if err != nil {
		panic(fmt.Sprintf("openapi: encode an empty document: %v", err))
	}
	return f
}

// cutFragment turns a panic into an error: the library that converts v2 to v3 dereferences what the document of another
// server may lack, such as the responses of an operation.
func cutFragment[T any](describe func() (T, error), cut func(T) (*fragment, error)) (_ *fragment, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v", reason)
		}
	}()
	document, err := describe()
	if err != nil {
		return nil, err
	}
	return cut(document)
}

// document is an immutable state of the description below one path of v3, or of everything in v2.
type document struct {
	path string
	// gvs lists the group versions of kinds that every group version has.
	gvs []schema.GroupVersion
	// installed is true if it describes built-in resources.
	installed bool
	parts     []*part // by name
	// salt returns the part of a document's hash that does not depend on its parts.
	salt func() string
	// info is the document's own info in v2. In v3 the info comes from the first part.
	info []byte

	etagV3, etagV2 func() string
}

// seal sets the derived fields of a document.
func (t *document) seal() *document {
	t.etagV3 = sync.OnceValue(func() string { return t.etag(func(p *part) *lazy { return &p.v3 }) })
	t.etagV2 = sync.OnceValue(func() string { return t.etag(func(p *part) *lazy { return &p.v2 }) })
	return t
}

func (t *document) etag(of func(*part) *lazy) string {
	hash := sha256.New()
	fmt.Fprintf(hash, "%s %q", t.salt(), t.gvs)
	for _, p := range t.parts {
		if p.hash != "" {
			fmt.Fprintf(hash, " %q %q", p.name, p.hash)
		} else {
			fmt.Fprintf(hash, " %q %x", p.name, of(p).get().hash)
		}
	}
	return strings.ToUpper(hex.EncodeToString(hash.Sum(nil)))
}

// fragments returns the fragments of all parts, and makes missing ones.
func (t *document) fragments(d *dialect) []*fragment {
	all := make([]*fragment, 0, len(t.parts))
	for _, p := range t.parts {
		if d == v2 {
			all = append(all, p.v2.get())
		} else {
			all = append(all, p.v3.get())
		}
	}
	return all
}

// head returns the document's info and security.
func (t *document) head(all []*fragment) (info, security []byte) {
	if t.info != nil || len(all) == 0 {
		return t.info, nil
	}
	return all[0].info, all[0].security
}

// sharedDefinitions returns the built-in definitions that fragments need, each once.
func (t *document) sharedDefinitions(d *dialect, all []*fragment) ([]*definitionForms, error) {
	names := map[string]struct{}{}
	for _, f := range all {
		for _, name := range f.shared {
			names[name] = struct{}{}
		}
	}
	list := make([]*definitionForms, 0, len(names))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		e, err := d.definition(name, t.gvs)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

// parameters writes the parameters that fragments need, each once.
func parameters(out *joiner, all []*fragment) {
	union := map[string]string{}
	for _, f := range all {
		maps.Copy(union, f.parameters)
	}
	for _, name := range slices.Sorted(maps.Keys(union)) {
		out.member(fmt.Appendf(nil, "%q:%s", name, union[name]))
	}
}

// writeJSON writes the document.
func (t *document) writeJSON(w io.Writer, d *dialect) error {
	all := t.fragments(d)
	shared, err := t.sharedDefinitions(d, all)
	if err != nil {
		return err
	}
	out := &joiner{w: w}
	each := func(write func(paths, definitions []byte)) {
		for _, f := range all {
			paths, definitions, err := f.expand()
			if err != nil && out.err == nil {
				out.err = err
			}
			write(paths, definitions)
		}
	}
	info, security := t.head(all)
	d.write(out, info, security,
		func() { each(func(paths, _ []byte) { out.member(paths) }) },
		func() {
			for _, e := range shared {
				out.member(e.json)
			}
			each(func(_, definitions []byte) { out.member(definitions) })
		},
		func() { parameters(out, all) })
	return out.err
}

// writeProto writes the document as its head and one message for each fragment. A reader merges them.
func (t *document) writeProto(w io.Writer, d *dialect) error {
	all := t.fragments(d)
	shared, err := t.sharedDefinitions(d, all)
	if err != nil {
		return err
	}
	var head bytes.Buffer
	out := &joiner{w: &head}
	info, security := t.head(all)
	nothing := func() {}
	d.write(out, info, security, nothing, nothing, func() { parameters(out, all) })
	message, err := d.toProto(head.Bytes(), true)
	if err != nil {
		return err
	}
	if _, err := w.Write(message); err != nil {
		return err
	}
	for _, e := range shared {
		message, err := e.proto()
		if err == nil {
			_, err = w.Write(message)
		}
		if err != nil {
			return err
		}
	}
	for _, f := range all {
		message, err := inflate(nil, f.proto())
		if err == nil {
			_, err = w.Write(message)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
