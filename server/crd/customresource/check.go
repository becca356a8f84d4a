package customresource

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/server/crd/conversion"
	"github.com/kx-apiserver/kx/server/crd/schema"
)

// Checker tries a definition on stored objects. It serves and stores nothing, so the definition need not be installed.
type Checker struct {
	// StorageVersion is the version in which objects would be written. Served lists the versions for clients.
	StorageVersion string
	Served         []string

	definition *apiextensionsv1.CustomResourceDefinition
	converter  *conversion.Converter
	schemas    map[string]*schema.Schema
}

// Finding is the effect of a definition on an object in one version.
type Finding struct {
	Version string `json:"version"`
	// Lost lists the fields that the version's schema does not know: clients would not see them, and the next
	// write would drop them.
	Lost []string `json:"lost,omitempty"`
	// Defaults lists the fields that would get a default.
	Defaults []string `json:"defaults,omitempty"`
	// Errors lists the reasons for which a create would be refused.
	Errors []string `json:"errors,omitempty"`
	// Cost is the CEL cost of the schema's rules.
	Cost int64 `json:"cost,omitempty"`
}

// NewChecker creates the Checker of a valid definition.
func NewChecker(crd *apiextensionsv1.CustomResourceDefinition, factory *conversion.Factory) (*Checker, error) {
	crd = crd.DeepCopy()
	if crd.Status.AcceptedNames.Kind == "" {
		crd.Status.AcceptedNames = crd.Spec.Names
	}
	c := &Checker{definition: crd, schemas: make(map[string]*schema.Schema, len(crd.Spec.Versions))}
	var err error
	if c.StorageVersion, err = apihelpers.GetCRDStorageVersion(crd); err != nil {
		return nil, err
	}
	if c.converter, err = factory.NewConverter(crd); err != nil {
		return nil, err
	}
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		if v.Served {
			c.Served = append(c.Served, v.Name)
		}
		if c.schemas[v.Name], err = schema.Compile(crd, v.Name, schema.Limits{}); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Webhook reports whether a webhook converts the objects.
func (c *Checker) Webhook() bool { return c.converter.ChangesContent() }

// CheckStored reads a stored object: it prunes and defaults the object in place by the schema of its version, and
// checks it by that schema.
func (c *Checker) CheckStored(ctx context.Context, content map[string]any) (Finding, error) {
	u := &unstructured.Unstructured{Object: content}
	kind := u.GroupVersionKind()
	if kind.Group != c.definition.Spec.Group || c.schemas[kind.Version] == nil {
		return Finding{}, fmt.Errorf("it is stored as %s, a version that the definition does not have", kind.GroupVersion())
	}
	return c.check(ctx, kind.Version, content)
}

// Convert converts an object that CheckStored has read to another version, and checks it there.
func (c *Checker) Convert(ctx context.Context, content map[string]any, version string) (Finding, error) {
	gv := apischema.GroupVersion{Group: c.definition.Spec.Group, Version: version}
	in := &unstructured.Unstructured{Object: content}
	out, err := c.converter.Convert(ctx, in, gv)
	if err != nil {
		return Finding{Version: version}, err
	}
	return c.check(ctx, version, out.(*unstructured.Unstructured).DeepCopy().Object)
}

func (c *Checker) check(ctx context.Context, version string, content map[string]any) (Finding, error) {
	s, out := c.schemas[version], Finding{Version: version}
	lost, err := s.Prune(ctx, content, schema.PruneOptions{UnknownFieldPaths: true, Stored: true})
	if err != nil {
		return out, err
	}
	slices.Sort(lost)
	out.Lost = lost
	before := (&unstructured.Unstructured{Object: content}).DeepCopy().Object
	if err := s.DefaultStored(ctx, content); err != nil {
		return out, err
	}
	out.Defaults = addedPaths(before, content)
	u := &unstructured.Unstructured{Object: content}
	scale := c.scaleOf(version)
	errs := s.Validate(ctx, content, schema.ExtraErrors{
		Metadata: validateObjectMeta(ctx, u, c.definition.Spec.Scope == apiextensionsv1.NamespaceScoped),
		Scale:    append(validateScaleSpec(u, scale), validateScaleStatus(u, scale)...),
		Cost:     &out.Cost,
	})
	for _, err := range errs {
		out.Errors = append(out.Errors, err.Error())
	}
	return out, nil
}

func (c *Checker) scaleOf(version string) *apiextensionsv1.CustomResourceSubresourceScale {
	for i := range c.definition.Spec.Versions {
		if v := &c.definition.Spec.Versions[i]; v.Name == version && v.Subresources != nil {
			return v.Subresources.Scale
		}
	}
	return nil
}

// addedPaths returns the sorted paths that after has and before lacks. A new object or list counts as one path.
func addedPaths(before, after any) []string {
	var paths []string
	var walk func(path string, before, after any)
	walk = func(path string, before, after any) {
		switch after := after.(type) {
		case map[string]any:
			was, _ := before.(map[string]any)
			for name, value := range after {
				at := name
				if path != "" {
					at = path + "." + name
				}
				if old, ok := was[name]; ok {
					walk(at, old, value)
				} else {
					paths = append(paths, at)
				}
			}
		case []any:
			was, _ := before.([]any)
			for i, value := range after {
				if i < len(was) {
					walk(fmt.Sprintf("%s[%d]", path, i), was[i], value)
				}
			}
		}
	}
	walk("", before, after)
	slices.Sort(paths)
	return paths
}
