package controllertest

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/tools/clientcmd"
)

var (
	record = flag.String("record", "",
		"kubeconfig of a Kubernetes API server, with its kube-controller-manager, whose answers are written to testdata")
	recordEtcd = flag.String("record-etcd", "", "URL of the etcd of that server, for scenes that change what is stored")
)

const (
	answers = "upstream.json"
	// still is how long a state must stay as it was recorded. A state that only passes by is no agreement.
	still = 300 * time.Millisecond
	// between is how long it takes to look again. Scenes look at objects of any kind, so that there is nothing to
	// watch.
	between = 100 * time.Millisecond
)

// Scenes are played on a kube-apiserver with its kube-controller-manager, whose states are recorded, and then on kx,
// where the same states must come about:
//
//	go test ./server/controller -run TestNamespaceUpstream -record KUBECONFIG [-record-etcd URL] -parallel 8
//
// -run TestNamespaceUpstream/NAME records one scene again, and leaves the others as they are. Scenes of one test are in
// one file.
type Scenes struct {
	// Play is what is done, by name. Each has a namespace of its own.
	Play map[string]func(*Stage)
	// State is what is there in words: one line an object, or a fact. The lines are sorted. What servers call by
	// chance, as UIDs and times, must not be in them; the namespace's name is that of its scene there.
	State func(*Stage) []string
	// Quiet is how long nothing must have happened before what is there is taken for the end, while it is recorded.
	Quiet time.Duration
	// Differs has, by scene, how a line of upstream's begins where kx is to have another one, or none. Say beside it
	// why.
	Differs map[string]map[string]string
	// Answers (optional) is the file in testdata that has the recorded states, if it is not upstream.json. -record
	// writes that file, so each of several tests in a package needs one of its own.
	Answers string
	// Serial has the scenes played one after the other: they disturb each other.
	Serial bool
	// Begun (optional) says whether what is there can be the end already, while it is recorded: upstream takes its time
	// to begin.
	Begun func(lines []string) bool
}

// Stage is where a scene is played.
type Stage struct {
	Clients
	T         *testing.T
	Namespace string

	scenes *Scenes
	scene  string
	notes  []string
}

// Note adds a line to the state. Notes come first, in their order.
func (s *Stage) Note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// Await waits until the state has a line that ends with this text, and returns the lines. They have the names that the
// server knows.
func (s *Stage) Await(text string) (lines []string) {
	s.T.Helper()
	for deadline := time.Now().Add(Patience); ; {
		lines = s.scenes.State(s)
		if slices.ContainsFunc(lines, func(line string) bool { return strings.HasSuffix(line, text) }) {
			return lines
		}
		s.pause(deadline, lines, text)
	}
}

// Refusal is an error in words.
func Refusal(err error) string {
	if err == nil {
		return "done"
	}
	status, ok := err.(apierrors.APIStatus)
	if !ok {
		return err.Error()
	}
	is := status.Status()
	text := fmt.Sprintf("%d %s: %s", is.Code, is.Reason, is.Message)
	if is.Details != nil {
		for _, cause := range is.Details.Causes {
			text += fmt.Sprintf("; %s of %q: %s", cause.Type, cause.Field, cause.Message)
		}
	}
	return text
}

// pause ends the test if what is waited for does not come.
func (s *Stage) pause(deadline time.Time, lines []string, text string) {
	s.T.Helper()
	if time.Now().After(deadline) {
		s.T.Fatalf("it did not come to pass that there is\n%s\nbut there is\n%s", text, strings.Join(lines, "\n"))
	}
	wait(s.T.Context(), between)
}

func wait(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

// state is what was noted and what is there. The namespace has the scene's name.
func (s *Stage) state() []string {
	lines := s.scenes.State(s)
	slices.Sort(lines)
	lines = append(slices.Clone(s.notes), lines...)
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], s.Namespace, s.scene)
	}
	return lines
}

// play plays a scene in a new namespace.
func (s *Scenes) play(t *testing.T, clients Clients, name string) *Stage {
	t.Helper()
	scene := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return '-'
	}, name)
	stage := &Stage{Clients: clients, T: t, Namespace: scene + "-" + rand.String(5), scenes: s, scene: scene}
	_, err := clients.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: stage.Namespace}},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if *record != "" {
		// Without its service account no pod is let in.
		for deadline := time.Now().Add(Patience); ; {
			_, err := clients.CoreV1().ServiceAccounts(stage.Namespace).Get(t.Context(), "default", metav1.GetOptions{})
			if err == nil {
				break
			}
			stage.pause(deadline, nil, "a service account")
		}
	}
	s.Play[name](stage)
	return stage
}

// Compare plays the scenes on kx and waits for the recorded states, unless they are to be recorded.
func (s *Scenes) Compare(t *testing.T, start func(t *testing.T) Clients) {
	recorded := map[string][]string{}
	data, err := os.ReadFile(s.file())
	if err == nil {
		err = json.Unmarshal(data, &recorded)
	}
	if err != nil && *record == "" {
		t.Fatal(err)
	}
	if *record != "" {
		s.record(t, recorded)
		return
	}
	if len(recorded) != len(s.Play) {
		t.Errorf("there are answers to %d scenes of %d: -record", len(recorded), len(s.Play))
	}
	clients := start(t)
	for name := range s.Play {
		t.Run(name, func(t *testing.T) {
			if !s.Serial {
				t.Parallel()
			}
			want := s.wanted(t, name, recorded[name])
			s.play(t, clients, name).until(want)
		})
	}
}

func (s *Scenes) file() string { return filepath.Join("testdata", cmp.Or(s.Answers, answers)) }

// wanted is what kx must have where upstream has these lines.
func (s *Scenes) wanted(t *testing.T, name string, lines []string) []string {
	t.Helper()
	lines = slices.Clone(lines)
	for theirs, ours := range s.Differs[name] {
		i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, theirs) })
		switch {
		case i < 0:
			t.Errorf("upstream does not have the line from which kx is said to differ: %s", theirs)
		case ours == "":
			lines = slices.Delete(lines, i, i+1)
		default:
			lines[i] = ours
		}
	}
	return lines
}

// until waits until the state is the wanted one, and stays so.
func (s *Stage) until(want []string) {
	s.T.Helper()
	var since time.Time
	for deadline := time.Now().Add(Patience); ; {
		got := s.state()
		switch {
		case !slices.Equal(got, want):
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) >= still:
			return
		}
		s.pause(deadline, got, strings.Join(want, "\n"))
	}
}

// record writes what becomes of the scenes on the server of -record.
func (s *Scenes) record(t *testing.T, recorded map[string][]string) {
	config, err := clientcmd.BuildConfigFromFlags("", *record)
	if err != nil {
		t.Fatal(err)
	}
	clients, err := clientsOf(config)
	if err != nil {
		t.Fatal(err)
	}
	if *recordEtcd != "" {
		if clients.Etcd, err = clientv3.New(clientv3.Config{Endpoints: []string{*recordEtcd}}); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	t.Cleanup(func() {
		for name := range recorded {
			if s.Play[name] == nil {
				delete(recorded, name)
			}
		}
		data, err := json.MarshalIndent(recorded, "", "  ")
		if err == nil {
			err = os.WriteFile(s.file(), append(data, '\n'), 0o644)
		}
		if err != nil {
			t.Error(err)
		}
	})
	for name := range s.Play {
		t.Run(name, func(t *testing.T) {
			if !s.Serial {
				t.Parallel()
			}
			stage := s.play(t, clients, name)
			state := stage.state()
			for since := time.Now(); time.Since(since) < s.Quiet; wait(t.Context(), between) {
				now := stage.state()
				if !slices.Equal(now, state) || s.Begun != nil && !s.Begun(now) {
					state, since = now, time.Now()
				}
			}
			mu.Lock()
			defer mu.Unlock()
			recorded[name] = state
		})
	}
}
