package main

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestStructureOnScreen finds a resource in the server's map, goes from there to the code that answers for it, to the requests
// that went through it, and reads why a route is not there.
func TestStructureOnScreen(t *testing.T) {
	server := serve(t, "--ephemeral")
	maps := server.client(t).CoreV1().ConfigMaps("default")
	if _, err := maps.Create(context.Background(), configMap("seen"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p := playScreen(t, server.kubeconfig, "")
	defer p.leave()
	p.see("live")
	p.press("5")
	p.see("filters (14)", "1 aggregator", "2 kube", "find out who asks")

	p.press("/", "configmaps")
	p.see("1 found", "/registry/configmaps/", "server/builtin.REST", "server/builtin/core.ConfigMap", "store/registry.Store.List")
	p.press("enter", "v")
	p.see("server/builtin/store.go", "type REST struct")
	p.press("esc")
	p.see("/registry/configmaps/")
	p.press("J")
	p.see("resource:configmaps", "default/seen", "201")

	p.press("5", "/", "ctrl+u", "caches.v1alpha1")
	p.see("1 found", "no watch: the storage is not a rest.Watcher")
	p.press("enter", "H")
	p.see("can't show its watch cache: the resource has no cache")
	p.press("V")
	p.see("nothing of it is in etcd")
}
