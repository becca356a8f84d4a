package schema

import (
	"fmt"
	"sort"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// rules holds the x-kubernetes-validations of a schema as a tree of places. Places without a rule at or beneath
// them are left out.
type rules struct {
	root *place
	// places are the places with rules of their own, in the order of evaluation.
	places []*place
	count  int
}

// place is a place in the schema.
type place struct {
	path string
	// at is the place of the schema in its definition. It is only known if rules are observed.
	at     string
	schema *structuralschema.Structural
	// isResource means that values have apiVersion, kind and metadata, whether or not the schema lists them.
	isResource bool
	rules      []apiextensionsv1.ValidationRule
	// first is the number of the first rule here, counted over the whole schema.
	first   int
	compile func() *programs

	allOf      []*place
	additional *place
	properties []property // by name
	items      *place
}

type property struct {
	name string
	*place
}

// programs holds the compiled rules of a place.
type programs struct {
	results []schemacel.CompilationResult
	err     error
	// schema describes the values to the rules.
	schema  *structuralschema.Structural
	usesOld bool
}

// newRules collects the rules of a schema. It returns nil if there are none. As upstream, it ignores a schema
// that has rules only within allOf. at is the place of the schema in its definition, empty if the rules are not
// observed.
func newRules(s *structuralschema.Structural, at string) *rules {
	if !hasRules(s) {
		return nil
	}
	var r rules
	r.root = r.add(place{at: at, schema: s, isResource: true}, s, model.SchemaDeclType(s, true))
	return &r
}

func hasRules(s *structuralschema.Structural) bool {
	if s == nil {
		return false
	}
	if len(s.XValidations) > 0 || hasRules(s.Items) || s.AdditionalProperties != nil && hasRules(s.AdditionalProperties.Structural) {
		return true
	}
	for _, prop := range s.Properties {
		if hasRules(&prop) {
			return true
		}
	}
	return false
}

// add adds the place p and those beneath it. It returns nil if they have no rule. p.schema describes the
// values. says is the schema with the rules: p.schema, or a part of an allOf. decl is the values' type in
// rules, nil if rules can't see them.
func (r *rules) add(p place, says *structuralschema.Structural, decl *cel.DeclType) *place {
	n := &p
	if n.rules = says.XValidations; len(n.rules) > 0 {
		n.first = r.count
		r.count += len(n.rules)
		r.places = append(r.places, n)
		n.compile = sync.OnceValue(func() *programs { return n.newPrograms(decl) })
	}
	if v := says.ValueValidation; v != nil {
		for i := range v.AllOf {
			part := place{path: n.path, at: n.child("allOf[%d]", i), schema: n.schema, isResource: n.isResource}
			if part := r.add(part, fromNested(&v.AllOf[i]), decl); part != nil {
				n.allOf = append(n.allOf, part)
			}
		}
	}
	var elem *cel.DeclType
	if decl != nil {
		elem = decl.ElemType
	}
	if says, s := additional(says), additional(n.schema); says != nil && s != nil {
		n.additional = r.add(place{
			path: n.path + "[*]", at: n.child("additionalProperties"), schema: s, isResource: s.XEmbeddedResource,
		}, says, elem)
	}
	r.addProperties(n, says, decl)
	if says.Items != nil && n.schema.Items != nil {
		s := n.schema.Items
		n.items = r.add(place{path: n.path + "[*]", at: n.child("items"), schema: s, isResource: s.XEmbeddedResource}, says.Items, elem)
	}
	if len(n.rules) == 0 && len(n.allOf) == 0 && n.additional == nil && len(n.properties) == 0 && n.items == nil {
		return nil
	}
	return n
}

// child returns the place in the definition of a schema within that of n.
func (n *place) child(format string, args ...any) string {
	if n.at == "" {
		return ""
	}
	return n.at + "." + fmt.Sprintf(format, args...)
}

func additional(s *structuralschema.Structural) *structuralschema.Structural {
	if s.AdditionalProperties == nil {
		return nil
	}
	return s.AdditionalProperties.Structural
}

func (r *rules) addProperties(n *place, says *structuralschema.Structural, decl *cel.DeclType) {
	names := make([]string, 0, len(says.Properties))
	for name := range says.Properties {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		s, known := n.schema.Properties[name]
		if !known {
			continue // a part of an allOf can only add to fields that there are
		}
		var fieldDecl *cel.DeclType
		if escaped, ok := cel.Escape(name); !ok {
			// Outer rules can't name such a field, so its type is not in decl. Rules on the field itself see its value.
			fieldDecl = model.SchemaDeclType(&s, s.XEmbeddedResource)
		} else if decl != nil && decl.Fields[escaped] != nil {
			fieldDecl = decl.Fields[escaped].Type
		}
		if fieldDecl == nil {
			continue // rules can't see values of this type
		}
		sub := says.Properties[name]
		p := place{path: child(n.path, name), at: n.child("properties[%s]", name), schema: &s, isResource: s.XEmbeddedResource}
		if p := r.add(p, &sub, fieldDecl); p != nil {
			n.properties = append(n.properties, property{name, p})
		}
	}
}

// fromNested turns a part of an allOf into a schema with its rules.
func fromNested(nested *structuralschema.NestedValueValidation) *structuralschema.Structural {
	s := &structuralschema.Structural{
		ValueValidation:      &nested.ValueValidation,
		ValidationExtensions: nested.ValidationExtensions,
	}
	if nested.Items != nil {
		s.Items = fromNested(nested.Items)
	}
	if nested.AdditionalProperties != nil {
		s.AdditionalProperties = &structuralschema.StructuralOrBool{Structural: fromNested(nested.AdditionalProperties)}
	}
	if len(nested.Properties) > 0 {
		s.Properties = make(map[string]structuralschema.Structural, len(nested.Properties))
		for name, prop := range nested.Properties {
			s.Properties[name] = *fromNested(&prop)
		}
	}
	return s
}

func (n *place) newPrograms(decl *cel.DeclType) *programs {
	s := *n.schema
	s.XValidations = n.rules
	env := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	p := &programs{schema: n.schema}
	p.results, p.err = schemacel.Compile(&s, decl, celconfig.PerCallLimit, env, schemacel.StoredExpressionsEnvLoader())
	if n.isResource {
		p.schema = model.WithTypeAndObjectMeta(n.schema)
	}
	for _, result := range p.results {
		p.usesOld = p.usesOld || result.UsesOldSelf
	}
	return p
}
