package schema

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// shape makes random schemas and values that now and then fit each other.
type shape struct{ *rand.Rand }

func (r shape) oneOf(texts ...string) string { return texts[r.IntN(len(texts))] }
func (r shape) often() bool                  { return r.IntN(3) > 0 }
func (r shape) rarely() bool                 { return r.IntN(5) == 0 }

func (r shape) limits(s *spec.Schema) {
	some := func() *int64 { return new(int64(r.IntN(4))) }
	number := func() *float64 { return new([]float64{-1, 0.5, 1, 2, 3e9, 1e19}[r.IntN(6)]) }
	for _, set := range []func(){
		func() { s.MaxLength = some() }, func() { s.MinLength = some() },
		func() { s.Pattern = r.oneOf("^a+$", "b", "(", "^.{2}$") },
		func() { s.Format = r.oneOf("date", "int32", "int64", "float", "double", "ipv4", "byte", "unknown") },
		func() { s.Minimum, s.ExclusiveMinimum = number(), r.rarely() },
		func() { s.Maximum, s.ExclusiveMaximum = number(), r.rarely() },
		func() { s.MultipleOf = number() },
		func() { s.MinItems = some() }, func() { s.MaxItems = some() }, func() { s.UniqueItems = true },
		func() { s.MinProperties = some() }, func() { s.MaxProperties = some() },
		func() { s.Required = []string{r.oneOf("a", "b", "kind")} },
		func() { s.Enum = []any{"a", int64(1), 1.5, nil, true} }, func() { s.Enum = []any{"a", "aa"} },
		func() { s.Nullable = true },
	} {
		if r.IntN(25) == 0 {
			set()
		}
	}
}

func (r shape) schema(depth int) spec.Schema {
	var s spec.Schema
	if r.often() {
		s.Type = spec.StringOrArray{r.oneOf("string", "integer", "number", "boolean", "object", "array")}
	} else if r.rarely() {
		s.Type = spec.StringOrArray{"integer", "string"}
	}
	r.limits(&s)
	if depth == 0 {
		return s
	}
	for _, branches := range []*[]spec.Schema{&s.AllOf, &s.AnyOf, &s.OneOf} {
		for r.rarely() && len(*branches) < 3 {
			*branches = append(*branches, r.schema(depth-1), r.schema(depth-1))
		}
	}
	if r.rarely() {
		s.Not = new(r.schema(depth - 1))
	}
	if r.often() {
		s.Properties = map[string]spec.Schema{}
		for _, name := range []string{"a", "b", "kind"} {
			if r.often() {
				s.Properties[name] = r.schema(depth - 1)
			}
		}
	}
	if r.rarely() {
		s.AdditionalProperties = &spec.SchemaOrBool{Allows: r.often()}
		if s.AdditionalProperties.Allows {
			s.AdditionalProperties.Schema = new(r.schema(depth - 1))
		}
	}
	if r.often() {
		s.Items = &spec.SchemaOrArray{Schema: new(r.schema(depth - 1))}
	}
	return s
}

func (r shape) value(s *spec.Schema, depth int) any {
	kind := r.oneOf("string", "integer", "number", "boolean", "null", "object", "array")
	if len(s.Type) > 0 && r.IntN(8) > 0 {
		kind = s.Type[0]
	}
	switch kind {
	case "string":
		return r.oneOf("", "a", "aa", "ab", "1.2.3.4", "2024-01-01", "*")
	case "integer":
		return []int64{0, 1, 2, -1, 3_000_000_000}[r.IntN(5)]
	case "number":
		return []float64{0.5, 1, 2.5, -1, 1e19}[r.IntN(5)]
	case "boolean":
		return true
	case "array":
		items := []any{}
		for range r.IntN(3) {
			items = append(items, r.inner(itemsOf(s), depth))
		}
		return items
	case "object":
		fields := map[string]any{}
		for _, name := range []string{"a", "b", "c", "kind"} {
			if prop := s.Properties[name]; r.often() {
				fields[name] = r.inner(&prop, depth)
			}
		}
		return fields
	}
	return nil
}

func itemsOf(s *spec.Schema) *spec.Schema {
	if s.Items == nil {
		return &spec.Schema{}
	}
	return s.Items.Schema
}

func (r shape) inner(s *spec.Schema, depth int) any {
	if depth == 0 {
		return "a"
	}
	return r.value(s, depth-1)
}

func sortedLines(errs field.ErrorList) string {
	texts := strings.Split(lines(errs), "\n")
	slices.Sort(texts)
	return strings.Join(texts, "\n")
}

// TestWalkAsLibrary compares the errors of a walk with those of the library's validator, on any schema and value: those
// that a definition can't have too, for the library takes them.
func TestWalkAsLibrary(t *testing.T) {
	r := shape{rand.New(rand.NewPCG(3, 4))}
	broken := 0
	for range 8_000 {
		s := r.schema(3)
		value := r.value(&s, 3)
		library := validation.NewSchemaValidatorFromOpenAPI(&s)
		schema := &Schema{limits: defaultLimits}
		want := sortedLines(validation.ValidateCustomResource(field.NewPath("x"), value, library))
		got := sortedLines(schema.walk(context.Background(), field.NewPath("x"), newNodes().node(&s), value, nil))
		if got != want {
			t.Fatalf("schema %s\nvalue %s\ngot\n%s\nthe library\n%s", asJSON(t, s), asJSON(t, value), got, want)
		}
		if want != "" {
			broken++
		}
	}
	if broken < 1000 || broken > 7_500 {
		t.Errorf("%d values break their schemas: the comparison is of one kind alone", broken)
	}
}

// TestUpdateWalkAsLibrary does the same for changes of objects: what is as it was is forgiven.
func TestUpdateWalkAsLibrary(t *testing.T) {
	r := shape{rand.New(rand.NewPCG(5, 6))}
	forgiven := 0
	for range 3_000 {
		prop := r.schema(2)
		prop.AllOf, prop.AnyOf, prop.OneOf, prop.Not = nil, nil, nil, nil
		s := spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}, Properties: map[string]spec.Schema{
			"a": prop, "b": r.schema(2), "kind": r.schema(1),
		}}}
		old, obj := map[string]any{}, map[string]any{}
		for name, prop := range s.Properties {
			old[name] = r.value(&prop, 2)
			if obj[name] = old[name]; r.rarely() {
				obj[name] = r.value(&prop, 2)
			}
		}
		related := correlateBySpec(&s, obj, old)
		library := validation.NewSchemaValidatorFromOpenAPI(&s)
		schema := &Schema{limits: defaultLimits}
		want := sortedLines(validation.ValidateCustomResourceUpdate(nil, obj, old, library, validation.WithRatcheting(related)))
		got := sortedLines(schema.walk(context.Background(), nil, newNodes().node(&s), obj, correlateBySpec(&s, obj, old)))
		if got != want {
			t.Fatalf("schema %s\nold %s\nobject %s\ngot\n%s\nthe library\n%s", asJSON(t, s), asJSON(t, old), asJSON(t, obj), got, want)
		}
		if got != sortedLines(schema.walk(context.Background(), nil, newNodes().node(&s), obj, nil)) {
			forgiven++
		}
	}
	if forgiven < 100 {
		t.Errorf("%d changes were forgiven something", forgiven)
	}
}

// TestManyErrors has a walk that finds more errors than anybody reads.
func TestManyErrors(t *testing.T) {
	s := compile(t, withSpec(`{type: array, items: {type: integer}}`))
	items := make([]any, 200_000)
	for i := range items {
		items[i] = ""
	}
	errs := s.Validate(context.Background(), thing(t, `{}`), ExtraErrors{})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	obj := thing(t, `{}`)
	obj["spec"] = map[string]any{"v": items}
	if errs := s.Validate(context.Background(), obj, ExtraErrors{}); len(errs) != maxErrors+1 || errs[maxErrors].Detail != "too many errors: only the first 100 are shown" {
		t.Errorf("%d errors, the last %v", len(errs), errs[len(errs)-1])
	}
}

// TestStepLimit has values whose validation takes more steps than it may: by branches, by enums, by patterns.
func TestStepLimit(t *testing.T) {
	branches := func(n int, branch func(i int) string) string {
		var all []string
		for i := range n {
			all = append(all, branch(i))
		}
		return "[" + strings.Join(all, ", ") + "]"
	}
	for name, v := range map[string]string{
		"branches": `{type: array, items: {type: string, anyOf: ` + branches(300, func(i int) string { return fmt.Sprintf(`{pattern: "^x%d$"}`, i) }) + `}}`,
		"enum":     `{type: array, items: {type: string, enum: ` + branches(300, func(i int) string { return fmt.Sprintf(`"x%d"`, i) }) + `}}`,
		"pattern":  `{type: array, items: {type: string, pattern: "^(a{90}){10}$"}}`,
	} {
		crd := definition(t, withSpec(v))
		s, err := Compile(crd, "v1", Limits{Steps: 1_000})
		if err != nil {
			t.Fatal(err)
		}
		obj := thing(t, `{}`)
		obj["spec"] = map[string]any{"v": slices.Repeat([]any{strings.Repeat("a", 100)}, 100)}
		errs := s.Validate(context.Background(), obj, ExtraErrors{})
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), "takes more than 1000 steps, the limit that --max-validation-steps sets") {
			t.Errorf("%s: %v", name, errs)
		}
	}
}

// TestFormatsTakeSteps has one long text, whose format costs as much as its length.
func TestFormatsTakeSteps(t *testing.T) {
	s, err := Compile(definition(t, withSpec(`{type: string, format: byte}`)), "v1", Limits{Steps: 1_000})
	if err != nil {
		t.Fatal(err)
	}
	obj := thing(t, `{}`)
	obj["spec"] = map[string]any{"v": strings.Repeat("a", 1_001*formatBytesAStep)}
	errs := s.Validate(context.Background(), obj, ExtraErrors{})
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "takes more than 1000 steps") {
		t.Error(errs)
	}
}

// TestWalkEnds has a client that leaves in the middle.
func TestWalkEnds(t *testing.T) {
	s := compile(t, withSpec(`{type: array, items: {type: string, pattern: "^a*$"}}`))
	obj := thing(t, `{}`)
	obj["spec"] = map[string]any{"v": slices.Repeat([]any{"a"}, 5000)}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	v, err := s.validators()
	if err != nil {
		t.Fatal(err)
	}
	w := &walk{ctx: ctx, left: defaultLimits.Steps}
	w.value(v.object, nil, obj, nil)
	if taken := defaultLimits.Steps - w.left; w.err == nil || taken > stepsBetweenLooks {
		t.Errorf("%d steps were taken after the end: %v", taken, w.err)
	}
	if errs := s.Validate(ctx, obj, ExtraErrors{}); len(errs) != 1 || !strings.Contains(errs[0].Error(), "context canceled") {
		t.Error(errs)
	}
}
