package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/server/internal/fuzztest"
)

// internalByDesign has the answers 500 that a kube-apiserver gives too.
var internalByDesign = []struct {
	says *regexp.Regexp
	why  string
}{
	{regexp.MustCompile(`failed calling webhook`), "a webhook that can't be reached, and whose failurePolicy is Fail, fails the request so"},
	{regexp.MustCompile(`failed to create typed patch object|failed to convert new object`),
		"an apply that does not fit the schema is no error with a code there (testdata/wire/9-apply.txt)"},
	{regexp.MustCompile(`resourceVersion should not be set on objects to be created`),
		"an error of the storage without a code (testdata/wire/3-create.txt)"},
	{regexp.MustCompile(`strconv.ParseUint: parsing`), "a resourceVersion that is no number (testdata/wire/4-read.txt and 5-update.txt)"},
	{regexp.MustCompile(`no preferred addresses found`), "a proxy to a node without addresses (upstream's NoMatchError has no code)"},
	{regexp.MustCompile(`"message": ?"target\.name: Required value"`),
		"a binding without a target: upstream's BindingREST returns the aggregate of the field errors"},
	{regexp.MustCompile(`no unsafe deleter provided`),
		"a delete in spite of read errors, of a resource that has no such delete: upstream's words and code"},
	{regexp.MustCompile(`conversion webhook for .* failed`), "objects of other versions can't be read while their converter does not answer"},
}

// changed looks whether a write that succeeded changes what others may do, or which objects stay.
func (p *player) changed(req *fuzztest.Request) {
	switch {
	case strings.Contains(req.Target, "rbac"):
		p.grants = append(p.grants, p.rights(p.t))
	case req.Method == "DELETE" && strings.Contains(req.Target, "/namespaces"):
		p.unsettled = true
	}
}

// judge fails the test for what an answer must not be.
func (p *player) judge(req *fuzztest.Request, a *reply) {
	bad := func(format string, args ...any) {
		p.t.Helper()
		p.t.Errorf("%s %.300s by %q as %q: %d %.1500q: %s", req.Method, req.Target, req.By.Name, req.As.Name, a.StatusCode, a.body,
			fmt.Sprintf(format, args...))
	}
	if len(a.body) > largestAnswer {
		bad("the answer is too large")
	}
	p.codes[a.StatusCode]++
	p.judgeCode(req, a, bad)
	for _, s := range p.secrets {
		for _, form := range s.forms {
			if bytes.Contains(a.body, form) && !p.may(p.t, question{who: req.As, verbs: anyVerb, resources: []string{"secrets"},
				namespace: s.namespace, name: s.name}) {
				bad("it shows the secret %s/%s", s.namespace, s.name)
			}
		}
	}
	if a.StatusCode >= 300 || req.Method == "HEAD" {
		return
	}
	p.judgeUser(req, bad)
	objects := p.objects(req, a)
	for _, o := range objects {
		p.judgeObject(req, o, bad)
	}
	if len(objects) == 1 && !strings.Contains(req.Target, "resourceVersion") && !req.Long {
		p.judgeRevision(objects[0], bad)
	}
	if req.Method == "POST" && a.StatusCode == http.StatusCreated && len(objects) == 1 && !strings.Contains(req.Target, "dryRun") {
		p.readBack(objects[0], bad)
	}
}

var anyVerb = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}

func (p *player) judgeCode(req *fuzztest.Request, a *reply, bad func(string, ...any)) {
	code := a.StatusCode
	if code >= 500 && code != http.StatusServiceUnavailable && code != http.StatusGatewayTimeout {
		if !slices.ContainsFunc(internalByDesign, func(d struct {
			says *regexp.Regexp
			why  string
		}) bool {
			return d.says.Match(a.body)
		}) {
			bad("an error of the server")
		}
	}
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if code < 400 || a.cut || kind != "application/json" || req.Method == "HEAD" {
		return
	}
	var status metav1.Status
	if err := json.Unmarshal(a.body, &status); err != nil || status.Kind != "Status" || int(status.Code) != code {
		bad("an error without a Status of its code")
	}
}

// judgeUser looks whether the sender may act as whom they want, and may read the path if it is none of a resource.
func (p *player) judgeUser(req *fuzztest.Request, bad func(string, ...any)) {
	if req.By.Name == "" {
		bad("nobody has these credentials")
		return
	}
	if req.As.Name != req.By.Name {
		q := question{who: req.By, verbs: []string{"impersonate"}, resources: []string{"users"}, name: req.As.Name}
		if parts := strings.Split(req.As.Name, ":"); len(parts) == 4 {
			q.resources, q.namespace, q.name = []string{"serviceaccounts"}, parts[2], parts[3]
		}
		if !p.may(p.t, q) {
			bad("the sender may not act as another")
		}
	}
	target, _, _ := strings.Cut(req.Target, "?")
	if strings.HasPrefix(target, "/") && !strings.Contains(target, "%") && path.Clean(target) == strings.TrimSuffix(target,
		"/") && !isOfResource(target) {
		if !isHealth(target) && !p.may(p.t, question{who: req.As, verbs: []string{strings.ToLower(req.Method)}, path: target}) {
			bad("no role has this path")
		}
	}
}

func isHealth(target string) bool {
	return slices.Contains([]string{"/healthz", "/livez", "/readyz"}, strings.TrimSuffix(target, "/"))
}

func isOfResource(target string) bool {
	parts := strings.Split(strings.Trim(target, "/"), "/")
	return parts[0] == "api" && len(parts) > 2 || parts[0] == "apis" && len(parts) > 3
}

// shown is an object of an answer, as far as JSON shows it.
type shown struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Metadata   shownMetadata    `json:"metadata"`
	Items      *json.RawMessage `json:"items"`
	Rows       []struct {
		Cells  []any  `json:"cells"`
		Object *shown `json:"object"`
	} `json:"rows"`
	Object json.RawMessage `json:"object"` // of an event of a watch
	Type   string          `json:"type"`
	// of is the resource, if the kind doesn't tell.
	of *fuzztest.Resource
}

type shownMetadata struct {
	Name              string            `json:"name"`
	Namespace         string            `json:"namespace"`
	UID               string            `json:"uid"`
	ResourceVersion   string            `json:"resourceVersion"`
	OwnerReferences   []json.RawMessage `json:"ownerReferences"`
	DeletionTimestamp *string           `json:"deletionTimestamp"`
}

// objects are those of an answer in JSON or YAML: one, the items of a list, the rows of a table, the events of a watch.
func (p *player) objects(req *fuzztest.Request, a *reply) (all []shown) {
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	data := a.body
	switch kind {
	case "application/yaml":
		converted, err := yaml.YAMLToJSON(data)
		if err != nil {
			return nil
		}
		data = converted
	case "application/json":
	default:
		return nil
	}
	of := resourceOf(req.Target)
	d := json.NewDecoder(bytes.NewReader(data))
	for {
		var s shown
		if err := d.Decode(&s); err != nil {
			if err != io.EOF && !req.Long {
				p.t.Errorf("%s %.300s: the answer is no JSON: %v: %.600q", req.Method, req.Target, err, data)
			}
			return all
		}
		if s.Type == "BOOKMARK" { // it has a revision and nothing else
			continue
		}
		if s.Type != "" && len(s.Object) > 0 && s.Kind == "" {
			var of shown
			if json.Unmarshal(s.Object, &of) == nil {
				s = of
			}
		}
		all = append(all, s.each(of)...)
	}
}

// each returns the objects in one of an answer.
func (s shown) each(of *fuzztest.Resource) (all []shown) {
	s.of = of
	switch {
	case s.Kind == "Table":
		ns := ""
		if of != nil {
			ns = namespaceOf(of)
		}
		for _, row := range s.Rows {
			o := shown{Kind: "PartialObjectMetadata", of: of, Metadata: shownMetadata{Namespace: ns}}
			if row.Object != nil && row.Object.Metadata.Name != "" {
				o.Metadata = row.Object.Metadata
			} else if len(row.Cells) > 0 {
				o.Metadata.Name = fmt.Sprint(row.Cells[0])
			}
			all = append(all, o)
		}
	case s.Items != nil:
		var items []shown
		_ = json.Unmarshal(*s.Items, &items) // of lists that are none of objects, nothing remains
		for _, item := range items {
			if item.Kind == "" {
				item.APIVersion, item.Kind = s.APIVersion, strings.TrimSuffix(s.Kind, "List")
			}
			item.of = of
			all = append(all, item)
		}
	default:
		all = append(all, s)
	}
	return all
}

// resourcePath has version, group, version of the group, namespace, and resource.
var resourcePath = regexp.MustCompile(`^/(?:api/([^/]+)|apis/([^/]+)/([^/]+))/(?:watch/)?(?:namespaces/([^/]+)/)?([^/]+)`)

// resourceOf is the resource that a path names, if it is a usual path. Its Kind has the namespace.
func resourceOf(target string) *fuzztest.Resource {
	target, _, _ = strings.Cut(target, "?")
	plain, err := url.PathUnescape(target)
	if err != nil {
		return nil
	}
	m := resourcePath.FindStringSubmatch(path.Clean(plain))
	if m == nil {
		return nil
	}
	return &fuzztest.Resource{Group: m[2], Version: m[1] + m[3], Kind: m[4], Name: m[5]}
}

func namespaceOf(of *fuzztest.Resource) string { return of.Kind }

// notObjects are kinds that are served to those who may read their paths.
var notObjects = []string{"Status", "APIVersions", "APIGroupList", "APIGroup", "APIResourceList", "APIGroupDiscoveryList",
	"APIGroupDiscovery", "Table", ""}

// judgeObject looks whether the user may read an object.
func (p *player) judgeObject(req *fuzztest.Request, s shown, bad func(string, ...any)) {
	if slices.Contains(req.As.Groups, "system:masters") || slices.Contains(notObjects, s.Kind) || strings.HasSuffix(s.Kind, "List") {
		return
	}
	resources := p.kinds[s.APIVersion+" "+s.Kind]
	if s.Kind == "PartialObjectMetadata" && s.of != nil {
		resources = []fuzztest.Resource{*s.of}
	}
	verbs := map[string][]string{
		"GET": {"get", "list", "watch"}, "POST": {"create"}, "PUT": {"update", "create"}, "PATCH": {"patch", "create"}, "DELETE": {"delete",
			"deletecollection"},
	}[req.Method]
	for _, r := range resources {
		plural, _, _ := strings.Cut(r.Name, "/")
		names := []string{r.Name}
		for _, sub := range p.surface.Resources {
			if sub.Group == r.Group && strings.HasPrefix(sub.Name, plural+"/") {
				names = append(names, sub.Name)
			}
		}
		ns := s.Metadata.Namespace
		if r.Group == "" && plural == "namespaces" {
			ns = s.Metadata.Name
		}
		if p.may(p.t, question{who: req.As, verbs: verbs, group: r.Group, resources: names, namespace: ns, name: s.Metadata.Name}) {
			return
		}
	}
	bad("the user may not read %s %s %s/%s", s.APIVersion, s.Kind, s.Metadata.Namespace, s.Metadata.Name)
}

// judgeRevision looks whether an object's revision went back.
func (p *player) judgeRevision(s shown, bad func(string, ...any)) {
	revision, err := strconv.ParseUint(s.Metadata.ResourceVersion, 10, 64)
	if err != nil || s.Metadata.UID == "" || s.Kind == "Journey" {
		return
	}
	if before := p.revisions[s.Metadata.UID]; revision < before {
		bad("the object was at revision %d", before)
	}
	p.revisions[s.Metadata.UID] = revision
}

// readBack reads what was created. It may be gone if something deletes it: the collector of garbage, or the end of a namespace.
func (p *player) readBack(s shown, bad func(string, ...any)) {
	m := s.Metadata
	all := p.kinds[s.APIVersion+" "+s.Kind]
	if m.UID == "" || m.Name == "" || len(m.OwnerReferences) > 0 || m.DeletionTimestamp != nil || p.unsettled || len(all) == 0 {
		return
	}
	r := all[0]
	if strings.Contains(r.Name, "/") {
		return
	}
	location := "/apis/" + r.Group + "/" + r.Version
	if r.Group == "" {
		location = "/api/" + r.Version
	}
	if m.Namespace != "" {
		location += "/namespaces/" + m.Namespace
	}
	location += "/" + r.Name + "/" + url.PathEscape(m.Name)
	res, data := ask(p.t, p.clients[clientKind{admin: true}], "GET", p.URL+location, nil)
	gone := res.StatusCode == http.StatusNotFound && bytes.Contains(data, []byte("the server could not find the requested resource"))
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusServiceUnavailable && !gone {
		bad("GET %s: %d %.300s", location, res.StatusCode, data)
	}
}
