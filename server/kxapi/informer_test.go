package kxapi

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/trace"
)

// TestInformer has client-go's own machinery follow the journeys: what it holds in the end is what is kept.
func TestInformer(t *testing.T) {
	limits := trace.DefaultLimits
	limits.Journeys = 3
	r := trace.NewRecorder("p", limits)
	server := newServer(t, r)
	for i := range 5 {
		travel(r, "get", fmt.Sprint(i), 200)
	}
	client, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	resource := v1alpha1.SchemeGroupVersion.WithResource("journeys")
	informer := dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(resource).Informer()
	happened := make(chan struct{}, 1)
	tell := func() {
		select {
		case happened <- struct{}{}:
		default:
		}
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { tell() },
		UpdateFunc: func(any, any) { tell() },
		DeleteFunc: func(any) { tell() },
	})
	if err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { defer close(stopped); informer.Run(stop) }()
	defer func() { close(stop); <-stopped }()
	if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
		t.Fatal("the informer does not sync")
	}
	for range 4 {
		travel(r, "update", "x", 200)
	}
	running := travel(r, "update", "y", 0)

	want := []string{running.ID()}
	for i := range limits.Journeys {
		want = append(want, fmt.Sprintf("p-%d", 7+i))
	}
	slices.Sort(want)
	for {
		got := informer.GetStore().ListKeys()
		if slices.Sort(got); slices.Equal(got, want) {
			return
		}
		select {
		case <-happened:
		case <-t.Context().Done():
			t.Fatalf("the informer holds %v, want %v", got, want)
		}
	}
}
