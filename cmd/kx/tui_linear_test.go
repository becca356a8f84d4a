package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestTUILinear reads a request sentence by sentence and its code, and holds one and lets it go on, all by commands' names; no
// escape code is written.
func TestTUILinear(t *testing.T) {
	server := serve(t, "--ephemeral", "--allow-breakpoints")
	client := server.client(t)
	cmd := kx(t, "tui", "--linear", "--kubeconfig", server.kubeconfig)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 1024)
	go func() {
		defer close(said)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			said <- lines.Text()
		}
	}()
	var all strings.Builder
	hear := func(pattern string) string {
		t.Helper()
		want := regexp.MustCompile(pattern)
		for {
			select {
			case line, ok := <-said:
				if !ok {
					t.Fatalf("%s was not said:\n%s", pattern, &all)
				}
				all.WriteString(line + "\n")
				if want.MatchString(line) {
					return line
				}
			case <-time.After(patience):
				t.Fatalf("%s was not said:\n%s", pattern, &all)
			}
		}
	}
	typed := func(line string) {
		if _, err := fmt.Fprintln(in, line); err != nil {
			t.Fatal(err)
		}
	}
	hear("Type help for the commands")
	hear("Following https://")
	typed("help")
	hear("^quit: leave")
	typed("fly")
	hear("There is no command fly")
	typed("read")
	hear("there has been no request yet")

	maps := client.CoreV1().ConfigMaps("default")
	if _, err := maps.Create(context.Background(), configMap("heard"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	hear(`POST /api/v1/namespaces/default/configmaps +201 `)
	typed("read")
	hear(`^1/\d+ kx-admin asks for POST`)
	typed("walk")
	hear(`^\d+/\d+ etcd: etcd gets a transaction on /registry/configmaps/default/heard`)
	hear(`^came back: revision \d+$`)
	hear("^decided: etcd")
	hear(`^\d+/\d+ client: The answer is 201`)
	typed("")
	hear(`^2/\d+ 14 filters`)
	typed("back")
	hear("^1/")
	typed("go 4")
	hear("^4/")
	typed("code")
	hear(`^server/\S+, in server/\S+\.go, line \d+\.`)
	hear("^Upstream: ")
	hear(`^\d+ > .*trace\.`)
	typed("story")
	hear("The answer is 201")
	typed("steps")
	hear("KV.Txn")
	typed("ways")
	hear("its body is not recorded")
	typed("list verb:create (")
	hear("That did not work: ")
	typed("resume")
	hear("New requests are told of")

	typed("break step:etcd.txn name:heard verb:update")
	hear("Breakpoint b1 holds")
	done := updating(t, client, "heard", "1")
	hear("is held at etcd.txn")
	typed("into")
	hear(`^Step \d+: |is held at `) // which of both, depends on whether it came there within a second
	typed("continue")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	typed("resume")
	hear("New requests are told of")
	if _, err := maps.Get(context.Background(), "heard", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	hear("GET /api/v1/namespaces/default/configmaps/heard +200 ")
	typed("read")
	typed("")
	hear(`^2/\d+ 14 filters`)
	typed("fold")
	hear("nothing is unfolded")
	typed("unfold")
	hear(`^\d+/\d+ The request gets an audit ID`)
	typed("unfold")
	hear("nothing is folded")
	typed("fold")
	hear(`^2/\d+ 14 filters`)
	typed("unfold all")
	hear(`^The story has \d\d sentences now`)
	typed("fold all")
	hear(`^The story has \d sentences now`)
	typed("ways 1")
	hear(`^A 1/\d+ client: kx-admin asks for GET /api/v1/namespaces/default/configmaps/heard, `)
	hear(`^B 1/\d+ client: kx-admin asks for GET /api/v1/namespaces/default/configmaps/heard\?resourceVersion=0`)
	hear(`^They part in the box cacher\. A: .+ B: resourceVersion 0: whatever the cache has`)
	hear(`^B \d+/\d+ client: The answer is 200`)
	typed("ways")
	hear("^1 cacher: the newest state$")
	typed("ways 2")
	hear("the ways have the numbers 1 to 1")
	typed("resume")
	hear("New requests are told of")
	if err := client.CoreV1().ConfigMaps("default").Delete(context.Background(), "heard", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	hear("DELETE /api/v1/namespaces/default/configmaps/heard +200 ")
	typed("read")
	typed("ways 1")
	hear(`^B \d+/\d+ client: The answer is 404`)
	typed("quit")
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if strings.ContainsRune(all.String(), '\x1b') {
		t.Errorf("an escape code is in\n%q", &all)
	}
}

// TestTUILinearInterrupted: an interrupt ends the lines as quit does, and the server of the process leaves nothing.
func TestTUILinearInterrupted(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	cmd := kx(t, "tui", "--linear", "--ephemeral")
	cmd.Env = append(cmd.Env, "TMPDIR="+tmp)
	in, inErr := cmd.StdinPipe()
	out, err := cmd.StdoutPipe()
	if err = errors.Join(inErr, err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	lines := bufio.NewReader(out)
	for line := ""; !strings.HasPrefix(line, "Following "); {
		if line, err = lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, lines); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("kx ended with %v", err)
	}
	if left, _ := filepath.Glob(tmp + "/*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
