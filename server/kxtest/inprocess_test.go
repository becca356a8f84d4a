package kxtest_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/kxtest"
)

// serveByCommand stands for kx's function Serve, which this module does not know: the command behind it is the same.
func serveByCommand(ctx context.Context, dir string, flags []string, out, log io.Writer) error {
	kx, err := kxtest.Binary()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, kx, append([]string{"serve", "--ephemeral"}, flags...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stdout, cmd.Stderr = out, log
	if err := cmd.Run(); !cmd.ProcessState.Success() {
		return err
	}
	return nil
}

// TestInProcess: what a function serves can do all but what only a process of its own can, and says so.
func TestInProcess(t *testing.T) {
	t.Parallel()
	opts := []kxtest.Option{kxtest.InProcess(serveByCommand), kxtest.CRDs("testdata/crd"), kxtest.Objects("testdata/objects")}
	s := kxtest.Start(t, opts...)
	maps := clientOf(t, s.User("alice", "system:masters")).CoreV1().ConfigMaps("default")
	before := s.Snapshot(t)
	_, err := maps.Create(within(t), configMap("settings"), metav1.CreateOptions{})
	must(t, err)
	s.MustSee(t, "verb:create resource:configmaps user:alice")
	s.Rewind(t, before)
	if _, err := maps.Get(within(t), "settings", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("it is there after the rewind: %v", err)
	}

	dead := errors.New("there is no disk")
	for name, test := range map[string]struct {
		do   func(t testing.TB)
		want string
	}{
		"restart": {func(t testing.TB) { s.Restart(t) }, "a server in the test's process can't be killed: Start without InProcess"},
		"fork":    {func(t testing.TB) { s.Fork(t) }, "a server in the test's process can't be forked: Start without InProcess"},
		"shared":  {func(t testing.TB) { kxtest.Start(t, kxtest.Shared(), opts[0]) }, "use Shared without other options"},
		"no start": {func(t testing.TB) {
			kxtest.Start(t, kxtest.InProcess(func(context.Context, string, []string, io.Writer, io.Writer) error { return dead }))
		}, "kx serve in this process ended: kx: there is no disk"},
	} {
		if said := failing(t, test.do); !strings.Contains(said, test.want) {
			t.Errorf("%s: %q lacks %q", name, said, test.want)
		}
	}
}
