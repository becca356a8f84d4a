package whatif

import (
	"context"
	"fmt"
	"iter"
	"slices"

	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/kx-apiserver/kx/server/crd/customresource"
	"github.com/kx-apiserver/kx/store/admin"
)

// Budget limits the cost of the CEL rules for one object.
const Budget = celconfig.RuntimeCELCostBudget

// mostFailures is the number of failures in a row after which a conversion webhook is given up.
const mostFailures = 5

// Object holds the effects of a definition on a stored object.
type Object struct {
	Key       string `json:"key"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Stored is the version in which the object is stored.
	Stored string `json:"stored,omitempty"`
	// Versions holds the results in the stored version and in each other served version.
	Versions []customresource.Finding `json:"versions,omitempty"`
	// Errors explains why the object could not be read or converted.
	Errors []string `json:"errors,omitempty"`
}

// Lost reports whether the object would lose a field in any version.
func (o *Object) Lost() bool {
	return slices.ContainsFunc(o.Versions, func(c customresource.Finding) bool { return len(c.Lost) > 0 })
}

// Refused reports whether there is an error in any version, or about the object itself.
func (o *Object) Refused() bool {
	return len(o.Errors) > 0 || slices.ContainsFunc(o.Versions, func(c customresource.Finding) bool { return len(c.Errors) > 0 })
}

func (o *Object) defaulted() bool {
	return slices.ContainsFunc(o.Versions, func(c customresource.Finding) bool { return len(c.Defaults) > 0 })
}

// Summary counts objects.
type Summary struct {
	Objects int64 `json:"objects"`
	// Errors counts objects with errors, Lost those that would lose fields, and Defaulted those that would get
	// defaults.
	Errors    int64 `json:"errors"`
	Lost      int64 `json:"lost"`
	Defaulted int64 `json:"defaulted"`
	// Stored counts the objects by stored version.
	Stored map[string]int64 `json:"stored"`
	// Cost is the highest cost of the rules for one object in one version. CostKey is that object's key.
	Cost    int64  `json:"cost"`
	CostKey string `json:"costKey,omitempty"`
	// NotConverted counts the objects after the conversion webhook was given up. The reason follows.
	NotConverted int64  `json:"notConverted,omitempty"`
	Webhook      string `json:"webhook,omitempty"`
}

// Trial tries a definition on objects.
type Trial struct {
	Summary Summary

	definition *Definition
	checker    *customresource.Checker
	failures   int // of the webhook, in a row
}

// NewTrial begins a trial. It can fail for an invalid definition.
func NewTrial(d *Definition) (*Trial, error) {
	checker, err := newChecker(d.crd)
	if err != nil {
		return nil, fmt.Errorf("%s can't be tried on objects: %w", d.Name, err)
	}
	return &Trial{definition: d, checker: checker, Summary: Summary{Stored: map[string]int64{}}}, nil
}

// Objects streams the result of each object of the resource. progress, if not nil, is called with each.
func (t *Trial) Objects(ctx context.Context, s admin.Source, d *admin.Decoder, progress func(keys int)) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		resource := t.definition.Resource()
		below := admin.Path(d.Prefix, resource.Group+"/"+resource.Resource+"/")
		for kv, err := range admin.Subtree(ctx, s, below, admin.Range{}) {
			if err != nil {
				yield(Object{}, err)
				return
			}
			if progress != nil {
				progress(1)
			}
			l, ok := admin.Locate(d.Prefix, kv.Key)
			if !ok {
				continue
			}
			o := Object{Key: kv.Key, Namespace: l.Namespace, Name: l.Name}
			t.look(ctx, d, &kv, &o)
			t.count(&o)
			if !yield(o, ctx.Err()) || ctx.Err() != nil {
				return
			}
		}
	}
}

func (t *Trial) look(ctx context.Context, d *admin.Decoder, kv *admin.KV, o *Object) {
	v, err := d.Decode(kv.Key, kv.Value)
	if err != nil {
		o.Errors = append(o.Errors, err.Error())
		return
	}
	o.Stored = v.Kind.Version
	stored, err := t.checker.CheckStored(ctx, v.Object)
	if err != nil {
		o.Errors = append(o.Errors, err.Error())
		return
	}
	o.Versions = append(o.Versions, stored)
	others := slices.DeleteFunc(append(slices.Clone(t.checker.Served), t.checker.StorageVersion),
		func(v string) bool { return v == stored.Version })
	slices.Sort(others)
	for _, version := range slices.Compact(others) {
		if t.failures == mostFailures {
			t.Summary.NotConverted++
			return
		}
		in, err := t.checker.Convert(ctx, v.Object, version)
		if err != nil {
			o.Errors = append(o.Errors, fmt.Sprintf("to %s: %v", version, err))
			t.failed(err)
			continue
		}
		t.failures = 0
		o.Versions = append(o.Versions, in)
	}
}

func (t *Trial) failed(err error) {
	if !t.checker.Webhook() {
		return
	}
	if t.failures++; t.failures == mostFailures {
		t.Summary.Webhook = fmt.Sprintf("the conversion webhook failed %d times in a row and was not asked again: %v", mostFailures, err)
	}
}

func (t *Trial) count(o *Object) {
	s := &t.Summary
	s.Objects++
	if o.Stored != "" {
		s.Stored[o.Stored]++
	}
	for _, n := range []struct {
		count *int64
		is    bool
	}{{&s.Errors, o.Refused()}, {&s.Lost, o.Lost()}, {&s.Defaulted, o.defaulted()}} {
		if n.is {
			*n.count++
		}
	}
	for _, c := range o.Versions {
		if c.Cost > s.Cost {
			s.Cost, s.CostKey = c.Cost, o.Key
		}
	}
}
