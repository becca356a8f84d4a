package main

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestTUIRecords joins a server that was started without flags: one key has it record what another client does, and allow breakpoints,
// and the same key ends that.
func TestTUIRecords(t *testing.T) {
	t.Parallel()
	server := serve(t, "--ephemeral")
	client, ctx := server.client(t), t.Context()
	p := playScreen(t, server.kubeconfig, "")
	defer p.leave()
	create := func(name string) {
		t.Helper()
		if _, err := client.CoreV1().ConfigMaps("default").Create(ctx, configMap(name), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	p.see("live", "objects off", "breakpoints off")
	create("before")
	p.press("/", "verb:create resource:configmaps", "enter")
	p.see(" 1 of 1 ")
	p.press("d")
	p.see("objects were not recorded", "~ does so, too")
	p.press("B")
	p.see("breakpoints are off on this server")
	p.press("esc", "b")
	p.see("breakpoints are off on this server")
	p.press("~")
	p.see("the objects of all requests are recorded until", "objects until")
	p.until("the header does not say that breakpoints are off", func(frame string) bool { return !strings.Contains(frame, "breakpoints off") })
	create("meanwhile")
	p.see(" 1 of 2 ")
	p.press("F")
	p.see(" 2 of 2 ")
	p.press("d")
	p.until("what the steps changed is there", func(frame string) bool { return !strings.Contains(frame, "objects were not recorded") })
	p.press("~")
	p.see("objects are no longer recorded", "objects off", "breakpoints off")
}
