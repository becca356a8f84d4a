package main

import (
	"context"
	"flag"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

var holdRounds = flag.Int("hold.rounds", 5, "how often TestHoldAgainAndAgain sends a request held")

// TestHoldAgainAndAgain sends one request held, again and again, while others write and the screen follows what they do: each
// time the screen shows the held one, has its revision stolen, and lets it go on.
func TestHoldAgainAndAgain(t *testing.T) {
	server := serve(t, "--ephemeral", "--allow-breakpoints", "--allow-faults")
	client, ctx := server.client(t), t.Context()
	for _, name := range []string{"held", "other"} {
		if _, err := client.CoreV1().ConfigMaps("default").Create(ctx, configMap(name), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	p := playScreen(t, server.kubeconfig, "")
	defer p.leave()
	p.see("live")
	p.press("/", "verb:update name:held", "enter")
	if err := <-updating(t, client, "held", "1"); err != nil {
		t.Fatal(err)
	}
	p.see(" 1 of 1 ")
	for range 2 {
		go keepUpdating(ctx, server.client(t), "other")
	}
	paused := func(frame string) bool { return strings.Contains(frame, "PAUSED") }
	for round := range *holdRounds {
		p.press("R")
		if round == 0 { // the body that another client sent is not known
			p.see("Nothing was sent yet", "key: value")
			p.press("R")
		}
		p.until("the request is held", paused)
		p.press("F")      // whatever comes now, the held one is looked at
		p.press("n", "n") // what the request is about is known then
		p.see("steal the revision")
		p.press("x")
		p.see("another writer has committed")
		p.press("c")
		p.until("it has ended", func(frame string) bool {
			return !paused(frame) && !strings.Contains(frame, "|| held") && !strings.Contains(frame, " held    -")
		})
		if frame := p.model.View(); strings.Contains(frame, "no longer has") || strings.Contains(frame, "not held") {
			t.Fatalf("round %d:\n%s", round, frame)
		}
	}
}

// keepUpdating updates a config map until the test ends.
func keepUpdating(ctx context.Context, client kubernetes.Interface, name string) {
	for ctx.Err() == nil {
		_, _ = client.CoreV1().ConfigMaps("default").Update(ctx, configMap(name), metav1.UpdateOptions{})
	}
}
