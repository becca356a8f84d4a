package controller_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"

	"github.com/kx-apiserver/kx/server/internal/builtintest"
)

const (
	no  = apiextensionsv1.ConditionFalse
	yes = apiextensionsv1.ConditionTrue
)

// conditions are what a definition's conditions say, in their order.
func conditions(d *apiextensionsv1.CustomResourceDefinition) (said []string) {
	for _, c := range d.Status.Conditions {
		said = append(said, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return said
}

func TestEstablish(t *testing.T) {
	noLeaks(t)
	p := start(t, builtintest.NewEtcd(t), noObjects{})
	p.create(crd("a.example.com", "crontabs", "crontab", "CronTab", "ct", "cts"))
	d := p.until("crontabs.a.example.com", isEstablished)
	want := []string{
		"NamesAccepted=True NoConflicts: no conflicts found",
		"Established=True InitialNamesAccepted: the initial names have been accepted",
	}
	if !slices.Equal(conditions(d), want) {
		t.Errorf("conditions are %q", conditions(d))
	}
	n := d.Status.AcceptedNames
	if n.Plural != "crontabs" || n.Singular != "crontab" || n.Kind != "CronTab" || n.ListKind != "CronTabList" || !slices.Equal(n.ShortNames, []string{"ct", "cts"}) {
		t.Errorf("accepted are %+v", n)
	}
}

// TestConflicts has one definition that holds names and, one after the other, some that want one of them.
func TestConflicts(t *testing.T) {
	noLeaks(t)
	p := start(t, builtintest.NewEtcd(t), noObjects{})
	p.create(crd("g.example.com", "crontabs", "crontab", "CronTab", "ct"))
	p.until("crontabs.g.example.com", isEstablished)
	four := crd("g.example.com", "fours", "four", "CronTab")
	four.Spec.Names.ListKind = "FourList"
	for _, tt := range []struct {
		wants           *apiextensionsv1.CustomResourceDefinition
		reason, message string
	}{
		{crd("g.example.com", "ct", "one", "One"), "PluralConflict", `"ct" is already in use`},
		{crd("g.example.com", "twos", "crontabs", "Two"), "SingularConflict", `"crontabs" is already in use`},
		{crd("g.example.com", "threes", "three", "Three", "t", "crontab", "ct"), "ShortNamesConflict", `["crontab" is already in use, "ct" is already in use]`},
		{four, "KindConflict", `"CronTab" is already in use`},
		{crd("g.example.com", "fives", "five", "CronTabList"), "KindConflict", `"CronTabList" is already in use`},
		// Of several conflicts, the last one is told of.
		{crd("g.example.com", "crontab", "ct", "CronTab"), "ListKindConflict", `"CronTabList" is already in use`},
	} {
		p.create(tt.wants)
		d := p.until(tt.wants.Name, says(apiextensionsv1.NamesAccepted, no, tt.reason, tt.message))
		if !says(apiextensionsv1.Established, no, "NotAccepted", "not all names are accepted")(d) {
			t.Errorf("%s: conditions are %q", tt.wants.Name, conditions(d))
		}
	}
	// Another group has names of its own.
	p.create(crd("h.example.com", "crontabs", "crontab", "CronTab", "ct"))
	p.until("crontabs.h.example.com", isEstablished)
}

// TestFreedNames frees a name in each way that there is.
func TestFreedNames(t *testing.T) {
	noLeaks(t)
	p := start(t, builtintest.NewEtcd(t), noObjects{})
	p.create(crd("g.example.com", "ones", "one", "One", "x"))
	p.until("ones.g.example.com", isEstablished)
	p.create(crd("g.example.com", "twos", "two", "Two", "x"))
	waits := says(apiextensionsv1.NamesAccepted, no, "ShortNamesConflict", `"x" is already in use`)
	p.until("twos.g.example.com", waits)

	// It takes another name instead.
	p.edit(p.crds, "ones.g.example.com", func(d *apiextensions.CustomResourceDefinition) { d.Spec.Names.ShortNames = []string{"y"} })
	p.until("twos.g.example.com", isEstablished)

	// One that is established and wants a name that it can't have stays established.
	p.edit(p.crds, "ones.g.example.com", func(d *apiextensions.CustomResourceDefinition) { d.Spec.Names.ShortNames = []string{"x"} })
	d := p.until("ones.g.example.com", waits)
	if !isEstablished(d) || !slices.Equal(d.Status.AcceptedNames.ShortNames, []string{"y"}) {
		t.Errorf("%q with the short names %q", conditions(d), d.Status.AcceptedNames.ShortNames)
	}

	// The holder goes.
	p.remove("twos.g.example.com")
	p.edit(p.crds, "twos.g.example.com", func(d *apiextensions.CustomResourceDefinition) { d.Finalizers = nil })
	p.until("twos.g.example.com", isGone)
	p.until("ones.g.example.com", says(apiextensionsv1.NamesAccepted, yes, "NoConflicts", "no conflicts found"))
}

// TestTwoServers has two servers, and definitions that come to both at once and want the same names. At no time are two
// that share a name established, and in the end one of them is.
func TestTwoServers(t *testing.T) {
	noLeaks(t)
	etcd := builtintest.NewEtcd(t)
	one, two := start(t, etcd, noObjects{}), start(t, etcd, noObjects{})
	ctx := builtintest.Context(t, "")
	w, err := one.crds.Watch(ctx, &metainternalversion.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	var watching sync.WaitGroup
	watching.Go(func() {
		established := map[string]string{} // by group
		for event := range w.ResultChan() {
			in, ok := event.Object.(*apiextensions.CustomResourceDefinition)
			if !ok || !apiextensions.IsCRDConditionTrue(in, apiextensions.Established) {
				continue
			}
			if other := established[in.Spec.Group]; other != "" && other != in.Name {
				t.Errorf("%s and %s are both established", other, in.Name)
			}
			established[in.Spec.Group] = in.Name
		}
	})
	const rounds = 60
	for i := range rounds {
		group := fmt.Sprintf("g%d.example.com", i)
		a, b := crd(group, "as", "a", "Same"), crd(group, "bs", "b", "Same")
		var creating sync.WaitGroup
		creating.Go(func() { one.create(a) })
		creating.Go(func() { two.create(b) })
		creating.Wait()
	}
	for i := range rounds {
		group := fmt.Sprintf("g%d.example.com", i)
		settled := func(d *apiextensionsv1.CustomResourceDefinition) bool {
			return isEstablished(d) || says(apiextensionsv1.NamesAccepted, no, "ListKindConflict", `"SameList" is already in use`)(d)
		}
		// Neither state is the last one before the other has come to rest too.
		for {
			a, b := one.until("as."+group, settled), two.until("bs."+group, settled)
			if isEstablished(a) != isEstablished(b) {
				for _, d := range []*apiextensionsv1.CustomResourceDefinition{a, b} {
					if !isEstablished(d) && !says(apiextensionsv1.Established, no, "NotAccepted", "not all names are accepted")(d) {
						t.Errorf("%s: %q", d.Name, conditions(d))
					}
				}
				break
			}
			if isEstablished(a) {
				t.Fatalf("%s and %s are both established", a.Name, b.Name)
			}
		}
	}
	w.Stop()
	watching.Wait()
}

// TestTwoClaims begins with what two servers leave behind that accept the same name at once: each of the two that
// hold it may be the one that yields.
func TestTwoClaims(t *testing.T) {
	noLeaks(t)
	etcd := builtintest.NewEtcd(t)
	p := start(t, etcd, noObjects{})
	p.stop()
	q := &process{t: t}
	*q = *p
	q.crds, q.status = storages(t, etcd)
	claim := func(name string, established apiextensions.ConditionStatus) {
		q.edit(q.status, name, func(d *apiextensions.CustomResourceDefinition) {
			d.Status.AcceptedNames = d.Spec.Names
			apiextensions.SetCRDCondition(d, apiextensions.CustomResourceDefinitionCondition{
				Type: apiextensions.NamesAccepted, Status: apiextensions.ConditionTrue, Reason: "NoConflicts", Message: "no conflicts found"})
			apiextensions.SetCRDCondition(d, apiextensions.CustomResourceDefinitionCondition{
				Type: apiextensions.Established, Status: established, Reason: "Installing", Message: "the initial names have been accepted"})
		})
	}
	for i, established := range [][2]apiextensions.ConditionStatus{
		{apiextensions.ConditionFalse, apiextensions.ConditionFalse},
		{apiextensions.ConditionTrue, apiextensions.ConditionFalse},
		{apiextensions.ConditionFalse, apiextensions.ConditionTrue},
	} {
		group := fmt.Sprintf("g%d.example.com", i)
		q.create(crd(group, "as", "a", "Same", "x"))
		q.create(crd(group, "bs", "b", "Same", "x"))
		claim("as."+group, established[0])
		claim("bs."+group, established[1])
	}
	r := start(t, etcd, noObjects{})
	for i, winner := range []string{"", "as.", "bs."} {
		group := fmt.Sprintf("g%d.example.com", i)
		lost := says(apiextensionsv1.NamesAccepted, no, "ListKindConflict", `"SameList" is already in use`)
		over := func(d *apiextensionsv1.CustomResourceDefinition) bool { return isEstablished(d) || lost(d) }
		a, b := r.until("as."+group, over), r.until("bs."+group, over)
		if isEstablished(a) == isEstablished(b) || winner != "" && isEstablished(a) != (winner == "as.") {
			t.Errorf("%s: %q and %q", group, conditions(a), conditions(b))
		}
		loser := a
		if isEstablished(a) {
			loser = b
		}
		if n := loser.Status.AcceptedNames; n.Kind != "" || len(n.ShortNames) != 0 || n.Plural == "" {
			t.Errorf("%s still holds %+v", loser.Name, n)
		}
	}
}

func TestInvalidCABundle(t *testing.T) {
	noLeaks(t)
	etcd := builtintest.NewEtcd(t)
	p := start(t, etcd, noObjects{})
	d := crd("g.example.com", "ones", "one", "One")
	url := "https://localhost/convert"
	d.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: &url}, ConversionReviewVersions: []string{"v1"},
		},
	}
	// Validation lets nobody create one, but there may be one from before.
	p.stop()
	p.crds, p.status = storages(t, etcd)
	strategy := p.crds.CreateStrategy
	p.crds.CreateStrategy = unvalidated{strategy}
	d.Spec.Conversion.Webhook.ClientConfig.CABundle = []byte("none")
	p.create(d)
	p.crds.CreateStrategy = strategy

	r := start(t, etcd, noObjects{})
	r.until(d.Name, says(apiextensionsv1.Established, no, "InvalidCABundle", "The conversion webhook CABundle is invalid"))
	r.edit(r.crds, d.Name, func(d *apiextensions.CustomResourceDefinition) { d.Spec.Conversion.WebhookClientConfig.CABundle = nil })
	now := r.until(d.Name, isEstablished)
	if !apihelpers.IsCRDConditionTrue(now, apiextensionsv1.NamesAccepted) {
		t.Errorf("conditions are %q", conditions(now))
	}
}
