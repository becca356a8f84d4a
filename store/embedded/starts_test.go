package embedded_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/store/embedded"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

var (
	startsCount = flag.Int("starts", 30, "how many `times` TestStarts starts an etcd on the same directory")
	startsSeed  = flag.Uint64("starts.seed", 1, "what decides how many entries TestStarts writes, and which ends are kills")
)

// childDir is the environment variable that makes the test binary a process with an etcd in it, on that directory.
const childDir = "KX_TEST_EMBEDDED_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := serveChild(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	embedtest.Main(m)
}

// serveChild starts an etcd, says how many keys it has, writes as many entries as each line of stdin asks for, and
// stops in good order at the end of stdin.
func serveChild(dir string) error {
	server, err := embedded.Start(context.Background(), embedded.Config{Dir: dir, Ephemeral: true})
	if err != nil {
		return err
	}
	c := server.Client()
	got, err := c.Get(context.Background(), "/registry/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		return err
	}
	fmt.Println("has", got.Count)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		n, err := strconv.Atoi(lines.Text())
		if err != nil {
			return err
		}
		for range n {
			got.Count++
			if _, err := c.Put(context.Background(), fmt.Sprint("/registry/configmaps/default/", got.Count), strings.Repeat("x", 200)); err != nil {
				return err
			}
		}
		fmt.Println("wrote", n)
	}
	server.Close()
	return nil
}

// TestStarts starts an etcd again and again on one directory whose log grows, after kills and after orderly stops. Every
// start must serve, and have everything that was acknowledged.
func TestStarts(t *testing.T) {
	random := rand.New(rand.NewPCG(*startsSeed, 0))
	dir, written := t.TempDir(), 0
	for i := range *startsCount {
		n, kill := random.IntN(80), random.IntN(2) == 0
		if i%10 == 5 {
			n += 150 // more than etcd keeps in memory of its log by the end of the start
		}
		if err := startOnce(t.Context(), dir, written, n, kill); err != nil {
			t.Errorf("start %d, over %d entries: %v", i+1, written, err)
		} else {
			written += n
		}
	}
}

// startOnce starts a process that must have as many keys as were written, lets it write n more, and ends it.
func startOnce(ctx context.Context, dir string, written, n int, kill bool) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir)
	in, err := child.StdinPipe()
	if err != nil {
		return err
	}
	pipe, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	out := bufio.NewReader(pipe)
	err = expectLine(out, fmt.Sprint("has ", written))
	if err == nil {
		fmt.Fprintln(in, n)
		err = expectLine(out, fmt.Sprint("wrote ", n))
	}
	if kill {
		_ = child.Process.Kill()
	}
	_ = in.Close()
	rest, _ := io.ReadAll(out)
	if waitErr := child.Wait(); err == nil && !kill {
		err = waitErr
	}
	if err != nil {
		return fmt.Errorf("%w %s", err, rest)
	}
	return nil
}

func expectLine(out *bufio.Reader, want string) error {
	got, err := out.ReadString('\n')
	if got = strings.TrimSuffix(got, "\n"); got != want {
		return fmt.Errorf("the process says %q (%v), want %q", got, err, want)
	}
	return nil
}
