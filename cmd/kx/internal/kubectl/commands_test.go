package kubectl

import "testing"

func TestRenamed(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "",
		"kubectl get pods":                  "kx get pods",
		"  # a\n  kubectl get | kubectl x":  "  # a\n  kx get | kx x",
		"the kubectl command":               "the kx command",
		"kubectl.kubernetes.io/restart":     "kubectl.kubernetes.io/restart",
		"kubectl-debug and mykubectl get":   "kubectl-debug and mykubectl get",
		"kubectl -n x, kubectl [command]":   "kubectl -n x, kubectl [command]",
		"my_kubectl get; kubectl ":          "my_kubectl get; kubectl ",
		"of kubectl kubectl get (kubectl x": "of kx kx get (kx x",
	} {
		if got := renameProgram(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
