package main

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// TestTokenOfAnAccount makes a token as a user does, and lists with it what the account may list.
func TestTokenOfAnAccount(t *testing.T) {
	t.Parallel()
	p := serve(t, "--ephemeral")
	run := func(args ...string) string {
		t.Helper()
		cmd := kx(t, append(args, "--kubeconfig", p.kubeconfig)...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("kx %s: %v: %s", strings.Join(args, " "), err, stderr.String())
		}
		return strings.TrimSpace(string(out))
	}
	run("create", "serviceaccount", "robot")
	run("create", "role", "lister", "--verb=list", "--resource=configmaps")
	run("create", "rolebinding", "robot-lists", "--role=lister", "--serviceaccount=default:robot")
	admin, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(admin)
	config.BearerToken = run("create", "token", "robot", "--duration=1h")
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the account may list config maps", func() bool { // a role counts a moment after it was made
		_, err := client.CoreV1().ConfigMaps("default").List(context.Background(), metav1.ListOptions{})
		if err != nil && !apierrors.IsForbidden(err) {
			t.Fatal(err)
		}
		return err == nil
	})
	if _, err := client.CoreV1().Secrets("default").List(context.Background(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("secrets: %v, want 403", err)
	}
	if strings.Contains(p.stderr.String(), config.BearerToken) {
		t.Error("the token is in the log")
	}
}
