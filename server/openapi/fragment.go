package openapi

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// fragment is the encoded contribution of a part to a document. A document is the sequence of its fragments. So no tree
// is kept, and a change of one part encodes no other part again.
type fragment struct {
	// info and security come from the part's own document.
	info, security []byte
	// body is compressed. It has the members of paths in JSON, followed by those of the part's own definitions.
	body []byte
	// pathBytes is the position at which the definitions begin in the expanded body.
	pathBytes int
	size      int
	// shared names the built-in definitions that it needs, sorted.
	shared []string
	// parameters holds the parameters of v2 by name.
	parameters map[string]string
	// hash covers all fields above.
	hash [sha256.Size]byte

	proto func() []byte // compressed
}

// lazy is a fragment that is made on demand. mu guards build and made.
type lazy struct {
	mu    sync.Mutex
	build func() *fragment
	made  *fragment
}

func (l *lazy) get() *fragment {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made == nil {
		l.made = l.build()
		l.build = nil // it holds the source of the fragment
	}
	return l.made
}

// renew replaces the function that makes the fragment by one with the same result.
func (l *lazy) renew(build func() *fragment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made == nil {
		l.build = build
	}
}

func fragmentV3(document *spec3.OpenAPI) (*fragment, error) {
	f := &fragment{}
	paths, own, security := map[string]*spec3.Path{}, map[string]*spec.Schema{}, spec3.SecuritySchemes(nil)
	if document.Paths != nil {
		paths = document.Paths.Paths
	}
	if document.Components != nil {
		f.shared, own = split(document.Components.Schemas)
		security = document.Components.SecuritySchemes
	}
	return f, f.encode(v3, document.Info, security, paths, own)
}

func fragmentV2(document *spec.Swagger) (*fragment, error) {
	f := &fragment{parameters: map[string]string{}}
	paths := map[string]spec.PathItem{}
	if document.Paths != nil {
		paths = document.Paths.Paths
	}
	for name, parameter := range document.Parameters {
		data, err := json.Marshal(parameter)
		if err != nil {
			return nil, fmt.Errorf("encode parameter %s: %w", name, err)
		}
		f.parameters[name] = intern(data)
	}
	definitions := make(map[string]*spec.Schema, len(document.Definitions))
	for name, d := range document.Definitions {
		definitions[name] = &d
	}
	shared, own := split(definitions)
	f.shared = shared
	return f, f.encode(v2, document.Info, nil, paths, own)
}

// split separates built-in definitions, which are the same in all documents, from others.
func split(definitions map[string]*spec.Schema) (shared []string, own map[string]*spec.Schema) {
	own = map[string]*spec.Schema{}
	for name, s := range definitions {
		if Has(name) {
			shared = append(shared, name)
		} else {
			own[name] = s
		}
	}
	slices.Sort(shared)
	return shared, own
}

// encode fills the fragment. It sorts everything, so that equal content has equal bytes.
func (f *fragment) encode(d *dialect, info *spec.Info, security, paths, own any) error {
	var err error
	if f.info, err = json.Marshal(info); err != nil {
		return fmt.Errorf("encode info: %w", err)
	}
	if f.security, err = json.Marshal(security); err != nil {
		return fmt.Errorf("encode security: %w", err)
	}
	members, err := membersOf(paths)
	if err != nil {
		return fmt.Errorf("encode paths: %w", err)
	}
	f.pathBytes = len(members)
	definitions, err := membersOf(own)
	if err != nil {
		return fmt.Errorf("encode definitions: %w", err)
	}
	members = append(members, definitions...)
	f.size = len(members)
	f.body = deflate(members)

	hash := sha256.New()
	for _, part := range [][]byte{f.info, f.security, members} {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	fmt.Fprintf(hash, "%q %q", f.shared, slices.Sorted(maps.Keys(f.parameters)))
	hash.Sum(f.hash[:0])
	f.proto = sync.OnceValue(func() []byte { return f.protoOrNothing(d) })
	return nil
}

// membersOf encodes a map as a JSON object, without its braces.
func membersOf(m any) ([]byte, error) {
	data, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return data[1 : len(data)-1], nil
}

// expand returns the members of paths and of the fragment's own definitions.
func (f *fragment) expand() (paths, definitions []byte, err error) {
	members := make([]byte, 0, f.size)
	members, err = inflate(members, f.body)
	if err != nil {
		return nil, nil, err
	}
	return members[:f.pathBytes], members[f.pathBytes:], nil
}

// protoOrNothing returns nothing for a fragment that protobuf can't express, so that the others stay visible: another
// server's description may have what JSON carries and protobuf has no place for.
func (f *fragment) protoOrNothing(d *dialect) []byte {
	message, err := f.encodeProto(d)
	if err != nil {
		utilruntime.HandleError(fmt.Errorf("encode a part of OpenAPI as protobuf, which is left out: %w", err))
		return deflate(nil)
	}
	return message
}

func (f *fragment) encodeProto(d *dialect) (_ []byte, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v", reason)
		}
	}()
	paths, definitions, err := f.expand()
	if err != nil {
		return nil, err
	}
	data, err := d.protoOf(members{paths: paths, definitions: definitions})
	if err != nil {
		return nil, err
	}
	return deflate(data), nil
}

// deflate compresses schemas and operations, which are repetitive, to a tenth.
func deflate(data []byte) []byte {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(fmt.Sprintf("openapi: compress into memory: %v", err))
	}
	return bytes.Clone(b.Bytes())
}

func inflate(into, data []byte) ([]byte, error) {
	b := bytes.NewBuffer(into)
	if _, err := io.Copy(b, flate.NewReader(bytes.NewReader(data))); err != nil {
		return nil, fmt.Errorf("expand what was kept compressed: %w", err)
	}
	return b.Bytes(), nil
}
