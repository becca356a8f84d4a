package server_test

import (
	"bytes"
	"fmt"
	"net/http"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// many is how many definitions BenchmarkManyDefinitions installs at once.
const many = 500

// numbered is one of many definitions, all of which are like CronTab.
func numbered(i int) *apiextensionsv1.CustomResourceDefinition {
	crd := cronTab(fmt.Sprintf("g%d.example.com", i%7))
	kind := fmt.Sprintf("Tab%d", i)
	plural := fmt.Sprintf("tabs%d", i)
	crd.Name = plural + "." + crd.Spec.Group
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{
		Plural: plural, Singular: fmt.Sprintf("tab%d", i), Kind: kind, ShortNames: []string{fmt.Sprintf("t%d", i)},
	}
	return crd
}

// heap is how much memory is in use.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// BenchmarkManyDefinitions installs many definitions at once, reads what the server tells of them, lists the objects of each
// and creates one of each, and says how long that took and how much memory a definition costs after it. The clients and
// etcd are in the same process: their memory is part of it.
func BenchmarkManyDefinitions(b *testing.B) {
	for range b.N {
		manyDefinitions(b)
	}
}

func manyDefinitions(b *testing.B) {
	r := start(b)
	client := r.httpClient(b)
	before, began := heap(), time.Now()
	lap := func(what string) {
		b.ReportMetric(time.Since(began).Seconds(), what+"-s")
		b.ReportMetric((heap()-before)/many/1024, what+"-KiB/definition")
		began = time.Now()
	}
	all := func(f func(i int) error) {
		b.Helper()
		var group errgroup.Group
		group.SetLimit(32)
		for i := range many {
			group.Go(func() error { return f(i) })
		}
		must(b, group.Wait())
	}
	all(func(i int) error {
		_, err := r.definitions(b).Create(within(b), numbered(i), metav1.CreateOptions{})
		return err
	})
	until(b, "all are established", func() bool {
		list, err := r.definitions(b).List(within(b), metav1.ListOptions{})
		must(b, err)
		for i := range list.Items {
			if !isTrue(&list.Items[i], apiextensionsv1.Established) {
				return false
			}
		}
		return len(list.Items) == many
	})
	lap("established")
	for _, path := range []string{"/apis", "/openapi/v3", "/openapi/v2"} {
		if res, body := ask(b, client, http.MethodGet, r.URL+path, nil, "Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList, application/json"); res.StatusCode != http.StatusOK {
			b.Fatalf("%s: %d %s", path, res.StatusCode, body)
		}
	}
	lap("published")
	path := func(i int) string {
		crd := numbered(i)
		return r.URL + "/apis/" + crd.Spec.Group + "/v1/namespaces/default/" + crd.Spec.Names.Plural
	}
	all(func(i int) error {
		if res, body := ask(b, client, http.MethodGet, path(i), nil); res.StatusCode != http.StatusOK {
			return fmt.Errorf("%d %s", res.StatusCode, body)
		}
		return nil
	})
	lap("listed")
	all(func(i int) error {
		crd := numbered(i)
		object := tab(schema.GroupVersion{Group: crd.Spec.Group, Version: "v1"}, "default", "one")
		object.SetKind(crd.Spec.Names.Kind)
		res, body := ask(b, client, http.MethodPost, path(i), bytes.NewReader(marshal(b, object)), "Content-Type: application/json")
		if res.StatusCode != http.StatusCreated {
			return fmt.Errorf("%d %s", res.StatusCode, body)
		}
		return nil
	})
	lap("written")
}
