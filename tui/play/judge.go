package play

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/util/jsonpath"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lesson"
)

// Result is the result of one condition.
type Result struct {
	Condition lesson.Condition
	OK        bool
	// Saw is what was found instead, or what fulfils the condition.
	Saw string
	// Found counts the requests that fulfil a condition about requests. If it is 0, Among counts all requests.
	Found, Among int
	// If Found is 0, Left counts the requests that fulfil the terms Before, of which none fulfils Term. Term is empty
	// without any request.
	Left   int
	Before string
	Term   string
	// Journeys holds the matching requests, or those to look at if too few match.
	Journeys []v1alpha1.Journey
}

// Expect judges until all conditions hold, or the time is over. A failed condition is no error.
func (p *Play) Expect(ctx context.Context, e lesson.Expect) (Outcome, error) {
	ctx, cancel := p.lessonContext(ctx)
	defer cancel()
	deadline := time.Now().Add(e.Within)
	for {
		results, err := p.Judge(ctx, e)
		if err != nil {
			return Outcome{}, err
		}
		o := Outcome{Results: results}
		if o.OK() || time.Now().After(deadline) {
			return o, nil
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return o, context.Cause(ctx)
		}
	}
}

// quietLimit limits the wait for the requests of a run to end, apart from watches.
const quietLimit = 5 * time.Second

// quiet waits until the requests of a span have ended.
func (p *Play) quiet(ctx context.Context, s *span) error {
	deadline := time.Now().Add(quietLimit)
	for {
		list, err := p.journeys(ctx, s.filter("phase:running !verb:watch"))
		if err != nil || len(list) == 0 || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Judge checks the conditions once.
func (p *Play) Judge(ctx context.Context, e lesson.Expect) ([]Result, error) {
	s, err := p.spanOf(e.Of)
	if err != nil {
		return nil, err
	}
	if err := p.quiet(ctx, s); err != nil {
		return nil, err
	}
	looker := &objects{http: p.direct, config: p.address.Config}
	results := make([]Result, len(e.Conditions))
	for i, c := range e.Conditions {
		results[i].Condition = c
		switch c.Kind {
		case lesson.Requests:
			err = p.count(ctx, s, &results[i])
		case lesson.Object, lesson.Gone:
			err = looker.judge(ctx, &results[i])
		default:
			judgeOutput(s, &results[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return results, nil
}

// seenMost limits the requests that a result names.
const seenMost = 8

// count judges a condition about requests.
func (p *Play) count(ctx context.Context, s *span, r *Result) error {
	list, err := p.journeys(ctx, s.filter(r.Condition.Filter))
	if err != nil {
		return err
	}
	n := len(list)
	r.OK = n == r.Condition.Count || r.Condition.AtLeast && n > r.Condition.Count
	r.Found, r.Saw = n, requests(n)
	if n == 0 && !r.OK {
		// A learner who wonders why none matches wants to see all requests.
		if list, err = p.journeys(ctx, s.filter("")); err != nil {
			return err
		}
		r.Among = len(list)
		if err := p.narrow(ctx, s, r); err != nil {
			return err
		}
		r.Saw = r.None(fmt.Sprintf)
	}
	r.Journeys = list[max(0, len(list)-seenMost):]
	return nil
}

// narrow finds the first term of a condition's filter that no remaining request fulfils.
func (p *Play) narrow(ctx context.Context, s *span, r *Result) error {
	wanted, err := filter.Parse(r.Condition.Filter, nil)
	if err != nil {
		return err
	}
	r.Left = r.Among
	for _, term := range wanted.Terms() {
		list, err := p.journeys(ctx, s.filter(strings.TrimSpace(r.Before+" "+term)))
		if err != nil {
			return err
		}
		if len(list) == 0 {
			r.Term = term
			return nil
		}
		r.Left, r.Before = len(list), strings.TrimSpace(r.Before+" "+term)
	}
	return nil
}

// None explains, by phrase, that no request fulfils a condition, and names the term to blame.
func (r *Result) None(phrase func(text string, args ...any) string) string {
	switch {
	case r.Among == 0:
		return phrase("no request since the run began")
	case r.Term == "":
		return phrase("requests since the run began: %d, none like this", r.Among)
	case r.Before == "":
		return phrase("requests since the run began: %d, none with %s", r.Among, r.Term)
	}
	return phrase("requests since the run began: %d; %d with %s, none of these with %s", r.Among, r.Left, r.Before, r.Term)
}

func requests(n int) string {
	switch n {
	case 0:
		return "no request"
	case 1:
		return "1 request"
	}
	return fmt.Sprintf("%d requests", n)
}

// judgeOutput judges a condition about output.
func judgeOutput(s *span, r *Result) {
	if s.command == nil {
		r.Saw = "nothing ran"
		return
	}
	output := s.command.outcome().Output
	there := strings.Contains(output, r.Condition.Phrase)
	r.OK = there == (r.Condition.Kind == lesson.Prints)
	switch {
	case there:
		r.Saw = "it was printed"
	case strings.TrimSpace(output) == "":
		r.Saw = "nothing was printed"
	default:
		r.Saw = "it printed " + strings.TrimSpace(output)
	}
}

// objects reads objects for conditions. It discovers the server's resources once.
type objects struct {
	http   *http.Client
	config *rest.Config

	mapper meta.RESTMapper
	client dynamic.Interface
}

func (o *objects) connect() error {
	if o.mapper != nil {
		return nil
	}
	client, err := discovery.NewDiscoveryClientForConfigAndClient(o.config, o.http)
	if err != nil {
		return err
	}
	groups, err := restmapper.GetAPIGroupResources(client)
	if err != nil {
		return fmt.Errorf("ask the lesson's server for its resources: %w", err)
	}
	if o.client, err = dynamic.NewForConfigAndClient(o.config, o.http); err != nil {
		return err
	}
	o.mapper = restmapper.NewShortcutExpander(restmapper.NewDiscoveryRESTMapper(groups), client, nil)
	return nil
}

// judge judges a condition about an object.
func (o *objects) judge(ctx context.Context, r *Result) error {
	if err := o.connect(); err != nil {
		return err
	}
	object, err := o.get(ctx, r.Condition)
	gone := r.Condition.Kind == lesson.Gone
	switch {
	case meta.IsNoMatchError(err): // by a slip of the pen, or with its definition
		r.Saw = "the server has no such resource"
		return nil
	case apierrors.IsNotFound(err):
		r.OK, r.Saw = gone, "there is none"
		return nil
	case err != nil:
		return fmt.Errorf("look at %s: %w", r.Condition.Object, err)
	case gone:
		r.Saw = "it is there"
		return nil
	}
	var saw []string
	r.OK = true
	for i, path := range r.Condition.Paths {
		value, err := field(object, path)
		if err != nil {
			value = err.Error()
		}
		r.OK = r.OK && err == nil && value == r.Condition.Values[i]
		saw = append(saw, path+" is "+value)
	}
	r.Saw = strings.Join(saw, ", ")
	return nil
}

func (o *objects) get(ctx context.Context, c lesson.Condition) (*unstructured.Unstructured, error) {
	kind, name, _ := strings.Cut(c.Object, "/")
	partial := schema.ParseGroupResource(kind).WithVersion("")
	resource, err := o.mapper.ResourceFor(partial)
	if err != nil {
		return nil, err
	}
	gvk, err := o.mapper.KindFor(resource)
	if err != nil {
		return nil, err
	}
	mapping, err := o.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return o.client.Resource(resource).Get(ctx, name, metav1.GetOptions{})
	}
	namespace := c.Namespace
	if namespace == "" {
		namespace = "default"
	}
	return o.client.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
}

// field returns a field of an object in the format of kubectl's jsonpath.
func field(object *unstructured.Unstructured, path string) (string, error) {
	j := jsonpath.New("field").AllowMissingKeys(true)
	if err := j.Parse(path); err != nil {
		return "", fmt.Errorf("not a path: %w", err)
	}
	var out strings.Builder
	if err := j.Execute(&out, object.Object); err != nil {
		return "", err
	}
	if out.Len() == 0 {
		return "", errors.New("not there")
	}
	return out.String(), nil
}
