package openapi

import (
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/kx-apiserver/kx/server/openapi/operation"
	"github.com/kx-apiserver/kx/server/version"
)

// Service serves /openapi/v2, /openapi/v3 and the paths below the latter.
type Service struct {
	info spec.Info
	salt func() string

	// mu guards documents and whole. Nothing is built while it is held. A document is immutable: a change replaces it.
	mu sync.RWMutex
	// documents holds the documents of v3 by path, such as apis/apps/v1.
	documents map[string]*document
	// whole is the document of v2. It is nil from a change until the next request for it.
	whole *document
}

// NewService describes a server that has nothing but discovery. release is the version that documents show, such as
// 1.37.
func NewService(release string) *Service {
	s := &Service{
		info: spec.Info{InfoProps: spec.InfoProps{Title: title, Version: release}},
		salt: sync.OnceValue(func() string {
			return fmt.Sprintf("%s %s %x", version.Info().GitVersion, documentsHash, sha256.Sum256(embedded))
		}),
		documents: map[string]*document{},
	}
	s.installDiscovery("/apis", schema.GroupVersion{}, "getAPIVersions", "get available API versions", definitionAPIGroupList)
	s.installDiscovery("/version", schema.GroupVersion{}, "getCodeVersion", "get the version information for this server",
		definitionVersion)
	return s
}

// InstallIssuer describes the OIDC documents that verify tokens of service accounts, for a server that has them.
func (s *Service) InstallIssuer() {
	for _, d := range []struct{ root, tag, mediaType, id, description string }{
		{"/.well-known/openid-configuration", "WellKnown", runtime.ContentTypeJSON, "getServiceAccountIssuerOpenIDConfiguration",
			"get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'"},
		{"/openid/v1/jwks", "openid", "application/jwk-set+json", "getServiceAccountIssuerOpenIDKeyset",
			"get service account issuer OpenID JSON Web Key Set (contains public token verification keys)"},
	} {
		s.install(d.root, schema.GroupVersion{}, schema.GroupVersion{}, d.id, nil, func() []*operation.Operation {
			return []*operation.Operation{{Verb: http.MethodGet, Pattern: d.root + "/", ID: d.id, Words: d.description,
				Tags:  []string{d.tag},
				Gives: []string{d.mediaType}, Answer: definitionString, Codes: []int{http.StatusOK}}}
		})
	}
}

// documentsHash is the hash of the documents of everything that is built in. A document's own hash depends on it and on
// the document's sources. So no document needs to be built to find out whether a client has it. A test of package
// server compares it with the documents, and writes it with -rewrite.
//
//go:embed documents.sha256
var documentsHash string

// InstallGroupVersion describes resources that exist from the start. Every kind needs a built-in definition (see
// internal/gen), or its Go types.
func (s *Service) InstallGroupVersion(gv schema.GroupVersion, resources []Resource) {
	if gv.Group == "" {
		s.installDiscovery("/api", schema.GroupVersion{}, "getAPIVersions", "get available API versions", definitionAPIVersions)
	} else {
		group := schema.GroupVersion{Group: gv.Group}
		s.installDiscovery("/apis/"+gv.Group, group, "getAPIGroup", "get information of a group", definitionAPIGroup)
	}
	resources = slices.Clone(resources)
	s.install(rootPath(gv), gv, gv, resources, newReflector(gv, resources),
		func() []*operation.Operation { return resourceOperations(gv, resources) })
}

func (s *Service) installDiscovery(root string, gv schema.GroupVersion, id, description string, answer operation.Model) {
	s.install(root, gv, schema.GroupVersion{}, answer, nil, func() []*operation.Operation {
		return []*operation.Operation{discoveryOperation(gv, root, id, description, answer)}
	})
}

// install describes the operations below a root path for as long as the server runs. of is the described group version,
// if it is one, and from the source of its operations, which is hashed. own (optional) describes the kinds that have no
// built-in definition.
func (s *Service) install(root string, gv, of schema.GroupVersion, from any, own *reflector, operations func() []*operation.Operation) {
	section := func(reference string) Section {
		return Section{Info: s.info, GV: gv, Root: root, Operations: operations(), Definitions: own.definitions(reference), Secured: true}
	}
	if own != nil {
		from = []any{from, own.definitions(v3Reference)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	path := strings.TrimPrefix(root, "/")
	s.put(&document{path: path, gvs: gvsOf(of), installed: true, parts: []*part{newPart(Part{
		Hash: hashOf(root, from),
		V3:   func() (*spec3.OpenAPI, error) { return section(v3Reference).V3() },
		V2:   func() (*spec.Swagger, error) { return section(v2Reference).V2() },
	}, path, s.info)}})
}

func hashOf(root string, from any) string {
	data, err := json.Marshal(from)
	if err != nil {
		panic(fmt.Sprintf("openapi: encode what %s is made from: %v", root, err)) // strings, lists and flags
	}
	return fmt.Sprintf("%x", sha256.Sum256(append(data, root...)))
}

// UpdatePart adds or replaces a part of a group version. The description of built-in resources stays as it is.
func (s *Service) UpdatePart(gv schema.GroupVersion, p Part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := strings.TrimPrefix(rootPath(gv), "/")
	var parts []*part
	if old := s.documents[path]; old != nil {
		if old.installed {
			return
		}
		parts = slices.Clone(old.parts)
	}
	i, there := find(parts, p.Name)
	switch {
	case there && p.Hash != "" && parts[i].hash == p.Hash:
		parts[i].renew(p, path, s.info)
		return
	case there:
		parts[i] = newPart(p, path, s.info)
	default:
		parts = slices.Insert(parts, i, newPart(p, path, s.info))
	}
	s.put(&document{path: path, gvs: gvsOf(gv), parts: parts})
}

// RemovePart removes a part of a group version, and the group version with its last part.
func (s *Service) RemovePart(gv schema.GroupVersion, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := strings.TrimPrefix(rootPath(gv), "/")
	old := s.documents[path]
	if old == nil || old.installed {
		return
	}
	i, there := find(old.parts, name)
	switch {
	case !there:
	case len(old.parts) == 1:
		s.drop(path)
	default:
		s.put(&document{path: path, gvs: old.gvs, parts: slices.Delete(slices.Clone(old.parts), i, i+1)})
	}
}

func find(parts []*part, name string) (int, bool) {
	return slices.BinarySearchFunc(parts, name, func(p *part, name string) int { return strings.Compare(p.name, name) })
}

func gvsOf(gv schema.GroupVersion) []schema.GroupVersion {
	if gv.Empty() {
		return nil
	}
	return []schema.GroupVersion{gv}
}

// The callers of put and drop hold mu.
func (s *Service) put(t *document) {
	t.salt = s.salt
	s.documents[t.path], s.whole = t.seal(), nil
}

func (s *Service) drop(path string) {
	delete(s.documents, path)
	s.whole = nil
}

// document returns nil if there is no such document.
func (s *Service) document(path string) *document {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.documents[path]
}

// all returns the documents of v3, sorted by path.
func (s *Service) all() []*document {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.sorted()
}

// sorted needs mu.
func (s *Service) sorted() []*document {
	return slices.SortedFunc(maps.Values(s.documents), func(a, b *document) int { return strings.Compare(a.path, b.path) })
}

// documentV2 returns the document of v2.
func (s *Service) documentV2() *document {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.whole == nil {
		info, err := json.Marshal(s.info)
		if err != nil {
			panic(fmt.Sprintf("openapi: encode a title and a version: %v", err))
		}
		whole := &document{path: "/openapi/v2", info: info, salt: s.salt}
		for _, t := range s.sorted() {
			whole.parts = append(whole.parts, t.parts...)
		}
		s.whole = whole.seal()
	}
	return s.whole
}
