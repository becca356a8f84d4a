package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/server/options"
)

const (
	asJSON  = "application/json"
	asApply = "application/apply-patch+yaml"
	asMerge = "application/merge-patch+json"
	asPatch = "application/json-patch+json"
)

// each are n texts with commas between them.
func each(n int, text func(i int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(text(i))
	}
	return b.String()
}

func keyed(n int) string {
	return "{" + each(n, func(i int) string { return `"` + strconv.Itoa(i) + `":""` }) + "}"
}

// bomb is a request that is refused.
type bomb struct {
	name, method, path, contentType, body string
	code                                  int
	says                                  string
}

// goesOff sends a bomb, and fails the test unless the answer is short and says what limit was met. With -memory, all that was allocated
// meanwhile, kept or not, is at most allocated MiB.
func (r *running) goesOff(t *testing.T, b bomb, allocated uint64) {
	t.Helper()
	client := r.httpClient(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res, data := ask(t, client, b.method, r.URL+b.path, strings.NewReader(b.body), "Content-Type: "+b.contentType)
	runtime.ReadMemStats(&after)
	var status metav1.Status
	must(t, json.Unmarshal(data, &status))
	if res.StatusCode != b.code || !strings.Contains(status.Message, b.says) {
		t.Errorf("%s: %s %.300s … %s", b.name, res.Status, data, data[max(0, len(data)-300):])
	}
	if len(data) > 600<<10 {
		t.Errorf("%s: the answer has %d bytes", b.name, len(data))
	}
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; *measureMemory && took > allocated {
		t.Errorf("%s: %d MiB were allocated", b.name, took)
	}
}

// bombDefinition is a definition whose schemas turn small objects into large work.
func bombDefinition(group string) *apiextensionsv1.CustomResourceDefinition {
	crd := cronTab(group)
	props := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
	list := func(item apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item}}
	}
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	large := text
	large.Default = &apiextensionsv1.JSON{Raw: []byte(`"` + strings.Repeat("x", 100<<10) + `"`)}
	props["grows"] = list(apiextensionsv1.JSONSchemaProps{
		Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"text": large},
	})
	props["integers"] = list(apiextensionsv1.JSONSchemaProps{Type: "integer"})
	set := list(text)
	set.XListType = new("set")
	props["set"] = set
	keyed := list(apiextensionsv1.JSONSchemaProps{
		Type: "object", Required: []string{"k"}, Properties: map[string]apiextensionsv1.JSONSchemaProps{"k": text},
	})
	keyed.XListType, keyed.XListMapKeys = new("map"), []string{"k"}
	props["keyed"] = keyed
	branches := text
	for i := range 2000 {
		branches.AnyOf = append(branches.AnyOf, apiextensionsv1.JSONSchemaProps{Pattern: fmt.Sprintf("^x%d$", i)})
	}
	props["branch"], props["branches"] = branches, list(branches)
	return crd
}

// TestBombs sends small requests that would take much memory or time. None may: neither what they ask for nor the answer. It and the
// others that send large bodies run alone: side by side, under the race detector, they take gigabytes.
func TestBombs(t *testing.T) {
	r := start(t, func(o *options.Options) { o.Limits.MaxObjectFields, o.Limits.MaxValidationSteps = 20_000, 200_000 })
	ns := r.namespace(t, "bombs")
	crd := bombDefinition("bombs.example.com")
	r.define(t, crd)
	defer r.undefine(t, crd.Name)
	const kind = `"apiVersion":"bombs.example.com/v1","kind":"CronTab"`
	maps := "/api/v1/namespaces/" + ns + "/configmaps"
	tabs := "/apis/bombs.example.com/v1/namespaces/" + ns + "/crontabs"
	tab := func(more string) string { return `{` + kind + `,"metadata":{"name":"a"},` + more + `}` }
	configMap := func(more string) string {
		return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":` + more + `}`
	}
	items := func(n int, item string) string { return "[" + each(n, func(int) string { return item }) + "]" }
	for _, b := range []struct{ path, body string }{{maps, configMap(`{"a":"b"}`)}, {tabs, tab(`"integers":[1]`)}} {
		if res, data := ask(t, r.httpClient(t), "POST", r.URL+b.path, strings.NewReader(b.body)); res.StatusCode != 201 {
			t.Fatalf("%s: %.300s", res.Status, data)
		}
	}
	defaults := "limit that --max-default-bytes sets is 8388608"
	count := "limit that --max-object-fields sets is 20000"
	few := "only the first 100 are shown"
	grows := `"grows":` + items(15_000, "{}")
	for _, b := range []bomb{
		{"defaults", "POST", tabs, asJSON, tab(grows), 413, defaults},
		{"defaults of YAML", "POST", tabs, "application/yaml", tab(grows), 413, defaults},
		{"defaults, dry run", "POST", tabs + "?dryRun=All", asJSON, tab(grows), 413, defaults},
		{"defaults of an update", "PUT", tabs + "/a", asJSON, tab(grows), 413, defaults},
		{"defaults of a merge patch", "PATCH", tabs + "/a", asMerge, "{" + grows + "}", 413, defaults},
		{"defaults of a JSON patch", "PATCH", tabs + "/a", asPatch, `[{"op":"add","path":"/grows","value":` + items(15_000, "{}") + `}]`, 413, defaults},
		{"defaults of an apply", "PATCH", tabs + "/a?fieldManager=m", asApply, tab(`"grows":` + items(1000, "{}")), 413, defaults},
		{"defaults of what an apply makes", "PATCH", tabs + "/new?fieldManager=m", asApply, strings.Replace(tab(`"grows":`+items(1000, "{}")), `"a"`, `"new"`, 1), 413, defaults},
		{"branches", "POST", tabs, asJSON, tab(`"branches":` + items(18_000, `"x"`)), 422, "takes more than 200000 steps, the limit that --max-validation-steps sets"},
		{"wrong items", "POST", tabs, asJSON, tab(`"integers":` + items(18_000, `""`)), 422, few},
		{"wrong items of a patch", "PATCH", tabs + "/a", asMerge, `{"integers":` + items(18_000, `""`) + `}`, 422, few},
		{"a set of the same", "POST", tabs, asJSON, tab(`"set":[` + each(9_000, func(i int) string { return fmt.Sprintf(`"%d"`, i/2) }) + "]"), 422, few},
		{"a set", "POST", tabs, asJSON, tab(`"set":[` + each(30_000, func(i int) string { return fmt.Sprintf(`"%d"`, i) }) + "]"), 413, count},
		{"keys", "POST", maps, asJSON, configMap(keyed(40_000)), 413, count},
		{"keys of an update", "PUT", maps + "/a", asJSON, configMap(keyed(40_000)), 413, count},
		{"keys of a merge patch", "PATCH", maps + "/a", asMerge, `{"data":` + keyed(40_000) + `}`, 413, count},
		{"keys of a strategic patch", "PATCH", maps + "/a", "application/strategic-merge-patch+json", `{"data":` + keyed(40_000) + `}`, 413, count},
		{"keys of an apply", "PATCH", maps + "/a?fieldManager=m", asApply, configMap(keyed(20_000)), 413, count},
		{"labels", "POST", maps, asJSON, `{"metadata":{"name":"b","labels":` + keyed(20_000) + `}}`, 413, count},
		{"labels that are none", "POST", tabs, asJSON, `{` + kind + `,"metadata":{"name":"b","labels":{` + each(15_000, func(i int) string { return fmt.Sprintf(`"*%d":""`, i) }) + `}}}`, 422, few},
		{"annotations", "POST", maps, asJSON, `{"metadata":{"name":"b","annotations":{"a":"` + strings.Repeat("x", 300<<10) + `"}}}`, 422, "may not be more than 262144 bytes"},
		{"owned fields", "PUT", maps + "/a", asJSON, `{"metadata":{"name":"a","managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{` +
			each(30_000, func(i int) string { return fmt.Sprintf(`"f:%d":{}`, 60_000-i) }) + `}}}]}}`, 413, "the limit is 20000"},
		{"operations", "PATCH", maps + "/a", asPatch, "[" + each(10_001, func(int) string { return `{"op":"test","path":"/data/a","value":"b"}` }) + "]", 413, "maximum operations in a JSON patch is 10000"},
		{"operations on a list", "PATCH", maps + "/a", asPatch, `[{"op":"add","path":"/x","value":[` + each(25_000, func(int) string { return "1" }) + "]}," +
			each(9_999, func(int) string { return `{"op":"add","path":"/x/0","value":1}` }) + "]", 413, "too much work for one JSON patch"},
		{"operations that lie deep", "PATCH", maps + "/a", asPatch, `[{"op":"add","path":"/x","value":` + strings.Repeat(`{"a":`, 500) + `"` + strings.Repeat("x", 2_900_000) + `"` +
			strings.Repeat("}", 500) + `},{"op":"add","path":"/x` + strings.Repeat("/a", 499) + `/c","value":1}]`, 413, "levels deep are too much work"},
		{"a merge that lies deep", "PATCH", maps + "/a", "application/merge-patch+json", strings.Repeat(`{"a":`, 200) + `"` + strings.Repeat("x", 2_900_000) + `"` + strings.Repeat("}", 200), 413,
			"levels deep are too much work"},
		{"copies", "PATCH", maps + "/a", asPatch, `[{"op":"add","path":"/data/b","value":"` + strings.Repeat("x", 100) + `"},` +
			each(40, func(i int) string { return fmt.Sprintf(`{"op":"copy","from":"/data","path":"/data/c%d"}`, i) }) + "]", 422, ""},
		{"aliases", "POST", maps, "application/yaml", "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + strings.Join(strings.Split(each(9, func(i int) string {
			from, to := string(rune('a'+i)), string(rune('b'+i))
			return fmt.Sprintf("%s: &%s [%s]", to, to, strings.TrimSuffix(strings.Repeat("*"+from+";", 10), ";"))
		}), ","), "\n"), 400, ""},
		{"depth", "POST", tabs, asJSON, tab(`"integers":` + strings.Repeat("[", 15_000) + strings.Repeat("]", 15_000)), 400, "max depth"},
	} {
		r.goesOff(t, b, 700)
	}
}

// TestLargeObjectsAreServed writes what is just below the limits: it takes time that grows with what it is, not with its
// square, and what is stored above them goes on being served.
func TestLargeObjectsAreServed(t *testing.T) {
	dir := t.TempDir()
	loose, stop, err := launch(in(dir))
	must(t, err)
	const maps = "/api/v1/namespaces/default/configmaps"
	configMap := func(name string, n int) string {
		return `{"metadata":{"name":"` + name + `"},"data":` + keyed(n) + `}`
	}
	res, data := ask(t, loose.httpClient(t), "POST", loose.URL+maps, strings.NewReader(configMap("stored", 30_000)))
	if res.StatusCode != 201 {
		t.Errorf("30,000 keys: %s %.300s", res.Status, data)
	}
	must(t, stop())

	r := start(t, in(dir), func(o *options.Options) { o.Limits.MaxObjectFields = 20_000 })
	client := r.httpClient(t)
	for _, tt := range []struct {
		what, method, path, contentType, body string
		code                                  int
	}{
		{"read what is stored", "GET", "/stored", "", "", 200},
		{"change it", "PATCH", "/stored", asMerge, `{"data":{"1":"changed"}}`, 200},
		{"make it smaller", "PUT", "/stored", asJSON, configMap("stored", 28_000), 200},
		{"make it larger", "PATCH", "/stored", asMerge, `{"data":` + keyed(30_000) + `}`, 413},
		{"create one as large", "POST", "", asJSON, configMap("other", 28_000), 413},
		{"create a smaller one", "POST", "", asJSON, configMap("other", 18_000), 201},
		{"delete it", "DELETE", "/stored", asJSON, "", 200},
	} {
		res, data := ask(t, client, tt.method, r.URL+maps+tt.path, strings.NewReader(tt.body), "Content-Type: "+tt.contentType)
		if res.StatusCode != tt.code {
			t.Errorf("%s: %s %.300s", tt.what, res.Status, data)
		}
	}
}

// TestOwnersAreBounded writes lists and maps whose entries have an owner each: long ones, which take time that grows with their
// square, and such as are long but not too long.
func TestOwnersAreBounded(t *testing.T) {
	r := start(t)
	ns := r.namespace(t, "owners")
	crd := bombDefinition("owners.example.com")
	r.define(t, crd)
	const group = "owners.example.com"
	maps, tabs := "/api/v1/namespaces/"+ns+"/configmaps", "/apis/"+group+"/v1/namespaces/"+ns+"/crontabs"
	tab := func(field string, n int, item func(i int) string) string {
		return `{"apiVersion":"` + group + `/v1","kind":"CronTab","metadata":{"name":"a"},"` + field + `":[` + each(n, item) + "]}"
	}
	text := func(i int) string { return fmt.Sprintf(`"%d"`, 900_000-i) }
	entry := func(i int) string { return `{"k":` + text(i) + "}" }
	config := func(n int) string {
		return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":` + keyed(n) + `}`
	}
	const apply = "/a?fieldManager=m"
	items := "whose items have owners of their own has 11000 items, the limit is 10000"
	for _, b := range []bomb{
		{"a set", "POST", tabs, asJSON, tab("set", 11_000, text), 413, items},
		{"a list with keys", "POST", tabs, asJSON, tab("keyed", 11_000, entry), 413, items},
		{"an applied set", "PATCH", tabs + apply, asApply, tab("set", 11_000, text), 413, items},
		{"an applied list with keys", "PATCH", tabs + apply, asApply, tab("keyed", 11_000, entry), 413, items},
		{"an applied map", "PATCH", maps + apply, asApply, config(21_000), 413, "a map of the applied configuration has 21000 fields, the limit for server-side apply is 20000"},
	} {
		r.goesOff(t, b, 200)
	}
	for _, w := range []struct{ what, method, path, contentType, body string }{
		{"apply a list with keys", "PATCH", tabs + apply, asApply, tab("keyed", 6_000, entry)},
		{"apply it again", "PATCH", tabs + apply, asApply, tab("keyed", 6_000, entry)},
		{"create a list without owners", "POST", tabs, asJSON, strings.Replace(tab("integers", 30_000, strconv.Itoa), `"a"`, `"b"`, 1)},
		{"create a long map", "POST", maps, asJSON, config(21_000)},
	} {
		res, data := ask(t, r.httpClient(t), w.method, r.URL+w.path, strings.NewReader(w.body), "Content-Type: "+w.contentType)
		if res.StatusCode/100 != 2 {
			t.Errorf("%s: %s %.300s", w.what, res.Status, data)
		}
	}
	r.goesOff(t, bomb{"apply to a long map", "PATCH", maps + apply, asApply, config(1), 413, "a map of the stored object has 21000 fields"}, 200)
}

// TestBodiesAreCountedFirst sends a million of empty objects: decoded they take hundreds of MiB.
func TestBodiesAreCountedFirst(t *testing.T) {
	r := start(t)
	ns := r.namespace(t, "counted")
	maps, pods := "/api/v1/namespaces/"+ns+"/configmaps", "/api/v1/namespaces/"+ns+"/pods"
	million := "[" + each(1_000_000, func(int) string { return "{}" }) + "]"
	pod := `{"metadata":{"name":"a"},"spec":{"containers":` + million + `}}`
	count := "limit that --max-object-fields sets is 100000"
	const none = "/none"
	for _, b := range []bomb{
		{"create", "POST", pods, asJSON, pod, 413, count},
		{"update", "PUT", pods + none, asJSON, pod, 413, count},
		{"merge patch", "PATCH", pods + none, asMerge, pod, 413, count},
		{"strategic merge patch", "PATCH", pods + none, "application/strategic-merge-patch+json", pod, 413, count},
		{"JSON patch", "PATCH", maps + none, asPatch, `[{"op":"add","path":"/data","value":` + million + `}]`, 413, count},
		{"apply", "PATCH", pods + none + "?fieldManager=m", asApply, pod, 413, count},
		{"managed fields", "POST", maps, asJSON, `{"metadata":{"name":"a","managedFields":` + million + `}}`, 413, count},
		{"protobuf", "POST", pods, kruntime.ContentTypeProtobuf, podOfContainers(t, 1_000_000), 413, count},
	} {
		r.goesOff(t, b, 60)
	}
	alias := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: &a " + strings.Repeat("x", 1<<20) + "\n" +
		strings.ReplaceAll(each(300, func(i int) string { return "  k" + strconv.Itoa(i) + ": *a" }), ",", "\n") + "\n"
	for _, b := range []bomb{
		{"YAML", "POST", pods, kruntime.ContentTypeYAML, "kind: Pod\nspec: {containers: " + million + "}\n", 413, count},
		{"aliases", "POST", maps, kruntime.ContentTypeYAML, alias, 413, "bytes when its aliases are replaced"},
		{"aliases of an apply", "PATCH", maps + "/a?fieldManager=m", asApply, alias, 413, "bytes when its aliases are replaced"},
	} {
		r.goesOff(t, b, 600)
	}
}

// podOfContainers is a pod in protobuf whose containers are empty: two bytes each.
func podOfContainers(t *testing.T, n int) string {
	t.Helper()
	spec := bytes.Repeat([]byte{2<<3 | 2, 0}, n)
	pod := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), spec)
	body, err := (&kruntime.Unknown{TypeMeta: kruntime.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Raw: pod}).Marshal()
	must(t, err)
	return "k8s\x00" + string(body)
}

// TestConflictsAreBounded applies to fields that somebody else owns, more of them than anybody reads.
func TestConflictsAreBounded(t *testing.T) {
	t.Parallel()
	r := shared(t)
	ns := r.namespace(t, "conflicts")
	path := "/api/v1/namespaces/" + ns + "/configmaps/a?fieldManager="
	config := func(n int, value string) string {
		return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{` +
			each(n, func(i int) string { return fmt.Sprintf(`"%d":"%s"`, i, value) }) + `}}`
	}
	if res, data := ask(t, r.httpClient(t), "PATCH", r.URL+path+"ann", strings.NewReader(config(10_000, "a")), "Content-Type: "+asApply); res.StatusCode != 201 {
		t.Fatalf("%s: %.300s", res.Status, data)
	}
	for _, n := range []int{100, 10_000} {
		res, data := ask(t, r.httpClient(t), "PATCH", r.URL+path+"bob", strings.NewReader(config(n, "b")), "Content-Type: "+asApply)
		var status metav1.Status
		must(t, json.Unmarshal(data, &status))
		if res.StatusCode != 409 || !strings.HasPrefix(status.Message, fmt.Sprintf("Apply failed with %d conflicts", n)) || len(status.Details.Causes) > 101 {
			t.Errorf("%d conflicts: %s, %d causes: %.300s", n, res.Status, len(status.Details.Causes), status.Message)
		}
	}
}

// TestDefinitionsAreLimited defines what would take long to define.
func TestDefinitionsAreLimited(t *testing.T) {
	t.Parallel()
	r := shared(t)
	for _, tt := range []struct {
		name, says string
		edit       func(text *apiextensionsv1.JSONSchemaProps)
	}{
		{"patterns", "6000 different patterns: the limit is 5000", func(text *apiextensionsv1.JSONSchemaProps) {
			for i := range 6000 {
				text.AnyOf = append(text.AnyOf, apiextensionsv1.JSONSchemaProps{Pattern: fmt.Sprint(i)})
			}
		}},
		{"rules", "validation rules: the limit is 2000", func(text *apiextensionsv1.JSONSchemaProps) {
			for range 3000 {
				text.XValidations = append(text.XValidations, apiextensionsv1.ValidationRule{Rule: "true"})
			}
		}},
		{"defaults", "3001 values in one default: the limit is 1000", func(text *apiextensionsv1.JSONSchemaProps) {
			text.Type, text.Items = "array", &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Type: "integer"}}
			text.Default = &apiextensionsv1.JSON{Raw: []byte("[" + each(3000, func(int) string { return `"x"` }) + "]")}
		}},
	} {
		crd := cronTab("limited.example.com")
		crd.Kind, crd.APIVersion = "CustomResourceDefinition", "apiextensions.k8s.io/v1"
		text := apiextensionsv1.JSONSchemaProps{Type: "string"}
		tt.edit(&text)
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["text"] = text
		body, err := json.Marshal(crd)
		must(t, err)
		r.goesOff(t, bomb{tt.name, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", asJSON, string(body), 422, tt.says}, 700)
	}
}
