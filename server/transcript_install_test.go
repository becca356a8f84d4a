package server_test

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

const journeysPath = "/apis/kx.dev/v1alpha1/journeys"

// installed gets the install of a resource, such as deployments.v1.apps, as any client does.
func (p *performer) installed(name string) (*v1alpha1.Journey, error) {
	resource, rest, _ := strings.Cut(name, ".")
	version, group, _ := strings.Cut(rest, ".")
	wanted := "verb:install resource:" + resource + " version:" + version
	if group != "" {
		wanted += " group:" + group
	}
	var list v1alpha1.JourneyList
	p.server.read(p.t, journeysPath+"?filter="+url.QueryEscape(wanted), &list)
	for i := range list.Items {
		if list.Items[i].Spec.Group == group {
			j := &v1alpha1.Journey{}
			p.server.read(p.t, journeysPath+"/"+list.Items[i].Name, j)
			return j, nil
		}
	}
	return nil, fmt.Errorf("there is no install of %s", name)
}

// install draws it as journeys of requests are drawn.
func (p *performer) install(name string) (string, error) {
	j, err := p.installed(name)
	if err != nil {
		return "", err
	}
	return p.shown(j, ""), nil
}

// shown draws a journey that was got as any client gets it. more is what its first line ends with.
func (p *performer) shown(j *v1alpha1.Journey, more string) string {
	t := tree{drawing: p.drawing, children: map[int][]int{}}
	for i := range j.Status.Steps {
		s := recordOf(&j.Status.Steps[i])
		t.children[s.Parent] = append(t.children[s.Parent], i)
		t.steps = append(t.steps, s)
	}
	fmt.Fprintf(&t, "%s %s, %s, %s%s\n", j.Spec.Method, j.Spec.URI, j.Spec.User, j.Spec.UserAgent, more)
	for _, i := range t.children[-1] {
		t.draw(i, 0)
	}
	return t.String()
}

// controller waits until a controller has done something with an object, and draws it.
func (p *performer) controller(verb, name string) (string, error) {
	filter := url.QueryEscape("agent:kx/ verb:" + verb + " name:" + name)
	var list v1alpha1.JourneyList
	until(p.t, "a controller does "+verb+" "+name, func() bool {
		list = v1alpha1.JourneyList{}
		p.server.read(p.t, journeysPath+"?filter="+filter, &list)
		return len(list.Items) > 0 && list.Items[0].Status.Phase == v1alpha1.JourneyComplete
	})
	j := &v1alpha1.Journey{}
	p.server.read(p.t, journeysPath+"/"+list.Items[0].Name, j)
	if j.Status.Cause == nil {
		return "", fmt.Errorf("nobody knows why there is %s", j.Name)
	}
	because := &v1alpha1.Journey{}
	p.server.read(p.t, journeysPath+"/"+j.Status.Cause.Journey, because)
	return p.shown(j, fmt.Sprintf(", because of %s %s at %s: %d", because.Spec.Method, because.Spec.URI,
		p.revision(j.Status.Cause.Revision), j.Status.Code)), nil
}

// recordOf is a step as the server had it.
func recordOf(s *v1alpha1.Step) trace.StepRecord {
	id, _ := steps.Lookup(s.ID)
	r := trace.StepRecord{ID: id, Parent: int(s.Parent), Subject: s.Subject, Why: s.Why, Error: s.Error}
	for _, a := range s.Attributes {
		n, err := strconv.ParseInt(a.Value, 10, 64)
		r.Attrs = append(r.Attrs, trace.Attr{Name: a.Name, Text: a.Value, Int: n, IsInt: err == nil})
	}
	return r
}
