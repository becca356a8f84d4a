package kxtest_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kx-apiserver/kx/server/kxtest"
)

// takesAnyConflict takes each answer 409 for the one that says that the object exists.
func takesAnyConflict(ctx context.Context, maps typedcorev1.ConfigMapInterface, widget string) error {
	_, err := maps.Create(ctx, mapOf(widget), metav1.CreateOptions{})
	if status, ok := err.(apierrors.APIStatus); ok && status.Status().Code == 409 {
		return nil
	}
	return err
}

// createsTwice lets the server make up a name, and so does not notice that its first try was stored.
func createsTwice() ensurer {
	return once(func(ctx context.Context, maps typedcorev1.ConfigMapInterface, widget string) error {
		m := mapOf(widget)
		m.Name, m.GenerateName = "", widget+"-"
		_, err := maps.Create(ctx, m, metav1.CreateOptions{})
		return err
	})
}

// hopes takes a connection that breaks for an answer that is lost, and does not look again.
func hopes() ensurer {
	return once(func(ctx context.Context, maps typedcorev1.ConfigMapInterface, widget string) error {
		_, err := maps.Create(ctx, mapOf(widget), metav1.CreateOptions{})
		if apierrors.ReasonForError(err) == metav1.StatusReasonUnknown || apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
}

// once has a controller remember what it has done.
func once(ensure ensurer) ensurer {
	done := map[string]bool{}
	return func(ctx context.Context, maps typedcorev1.ConfigMapInterface, widget string) error {
		if done[widget] {
			return nil
		}
		err := ensure(ctx, maps, widget)
		done[widget] = err == nil
		return err
	}
}

// always is a controller that needs no memory.
func always(ensure ensurer) func() ensurer { return func() ensurer { return ensure } }

// unhurried lets an exploration end that takes longer than the minute that it has otherwise.
var unhurried = kxtest.Limit(200, time.Hour)

// explored is the recipe with another controller, which is new in each run.
func explored(t *testing.T, controller func() ensurer, opts ...kxtest.Option) {
	kxtest.Explore(t, func(t *testing.T, s *kxtest.Server) {
		manage(t, s.User("manager", "system:masters"), controller())
		mustBeReady(t, s)
	}, append([]kxtest.Option{unhurried, kxtest.CRDs("testdata/crd"), kxtest.Objects("testdata/objects")}, opts...)...)
}

// exploreVariable picks one of the explorations.
const exploreVariable = "KXTEST_SCENE_EXPLORES"

var explorations = map[string]func(t *testing.T){
	"takesAnyConflict": func(t *testing.T) { explored(t, always(takesAnyConflict)) },
	"createsTwice":     func(t *testing.T) { explored(t, createsTwice) },
	"hopes":            func(t *testing.T) { explored(t, hopes) },
	"limit": func(t *testing.T) {
		explored(t, always(ensureMap), kxtest.Limit(1, time.Hour), kxtest.WithoutRestarts())
	},
	"administrator": func(t *testing.T) {
		kxtest.Explore(t, func(t *testing.T, s *kxtest.Server) {
			config := s.Config()
			config.UserAgent = "widget-manager"
			manage(t, config, ensureMap)
			mustBeReady(t, s)
		}, unhurried, kxtest.CRDs("testdata/crd"), kxtest.Objects("testdata/objects"), kxtest.Agent("widget-manager"))
	},
	"a fault of its own": func(t *testing.T) {
		kxtest.Explore(t, func(t *testing.T, s *kxtest.Server) {
			s.Fault(t, kxtest.Conflict().On("create", "configmaps").Times(1))
			manage(t, s.User("manager", "system:masters"), ensureMap)
			mustBeReady(t, s)
		}, unhurried, kxtest.CRDs("testdata/crd"), kxtest.Objects("testdata/objects"))
	},
	"no writes": func(t *testing.T) {
		kxtest.Explore(t, func(t *testing.T, s *kxtest.Server) {
			_, err := clientOf(t, s.Config()).CoreV1().ConfigMaps("default").Create(within(t), configMap("settings"), metav1.CreateOptions{})
			must(t, err)
		})
	},
	"bad": func(t *testing.T) { kxtest.Explore(t, nil, kxtest.CRDs("testdata/bad/definition.yaml")) },
	"parallel": func(t *testing.T) {
		kxtest.Explore(t, func(t *testing.T, s *kxtest.Server) { t.Parallel() })
	},
	"fails anyway": func(t *testing.T) {
		kxtest.Explore(t, func(t *testing.T, s *kxtest.Server) { t.Error("as it must be") })
	},
	"restarts": func(t *testing.T) {
		kxtest.Explore(t, func(t *testing.T, s *kxtest.Server) { s.Restart(t) })
	},
	"skips":     func(t *testing.T) { kxtest.Explore(t, func(t *testing.T, s *kxtest.Server) { t.Skip("not here") }) },
	"shared":    func(t *testing.T) { kxtest.Explore(t, nil, kxtest.Shared()) },
	"no limit":  func(t *testing.T) { kxtest.Explore(t, nil, kxtest.Limit(0, time.Hour)) },
	"no agent":  func(t *testing.T) { kxtest.Explore(t, nil, kxtest.Agent("")) },
	"no server": func(t *testing.T) { kxtest.Start(t, kxtest.Agent("manager"), kxtest.WithoutRestarts()) },
}

func TestSceneExplores(t *testing.T) {
	onlyAsScene(t)
	explorations[os.Getenv(exploreVariable)](t)
}

// exploring runs an exploration, and returns its log. ok says whether it passed.
func exploring(t *testing.T, name, variable string) (log string, ok bool) {
	t.Helper()
	cmd := scene(t, "TestSceneExplores", exploreVariable+"="+name, "KXTEST_EXPLORE="+variable, "KXTEST_ARTIFACTS="+t.TempDir())
	cmd.Args = append(cmd.Args, "-test.v")
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// TestExploreFinds: a mistake that one kind of trouble reveals is found, named with the write, and found again by the
// command of the log. What a failed test leaves is there.
func TestExploreFinds(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"takesAnyConflict": {"conflict:create:configmaps:1", "409 by manager with ", "was answered 409"},
		"createsTwice":     {"lost:create:configmaps:1", "504 by manager with ", "was stored, and answered 504"},
		"hopes":            {"restart:create:configmaps:1", "POST /api/v1/namespaces/default/configmaps", "by manager with ", "was killed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log, ok := exploring(t, name, "")
			alone := "KXTEST_EXPLORE=" + want[0] + " go test -run '^TestSceneExplores$'"
			for _, part := range append(want, alone, "--- FAIL: TestSceneExplores/"+want[0], "--- PASS: TestSceneExplores/undisturbed",
				"create 1 of configmaps", "KXTEST_EXPLORE=seed:", "for a browser or kx tui -r: ") {
				if ok || !strings.Contains(log, part) {
					t.Errorf("it lacks %q: %s", part, log)
				}
			}
			log, ok = exploring(t, name, want[0])
			if ok || !strings.Contains(log, alone) || strings.Contains(log, "undisturbed") || strings.Count(log, "=== RUN") != 2 {
				t.Errorf("alone: %s", log)
			}
		})
	}
}

// TestExploreSays: what can't be explored fails at once, in one sentence. What passes says in how many runs.
func TestExploreSays(t *testing.T) {
	t.Parallel()
	const form = "expected seed:NUMBER, or KIND:VERB:RESOURCE:NUMBER as in conflict:update:widgets.example.com/status:2; " +
		"the kinds are conflict,lost,restart"
	for name, test := range map[string]struct {
		scene, variable string
		passes          bool
		want            string
	}{
		"a limit":                 {"limit", "", true, "passes after each of 1 troubles; 0 more did not come about, and 3 were left out (seed:"},
		"a seed":                  {"limit", "seed:7", true, "and 3 were left out (seed:7)"},
		"the administrator":       {"administrator", "", true, "passes after each of 6 troubles; 0 more did not come about, and 0 were left out"},
		"its own restart":         {"administrator", "restart:update:widgets.example.com/status:1", true, "--- PASS: TestSceneExplores/restart:"},
		"faults of its own":       {"a fault of its own", "", true, "passes after each of 4 troubles; 0 more"},
		"a write that is not":     {"hopes", "conflict:update:widgets.example.com/status:9", true, "conflict:update:widgets.example.com/status:9 did not come about"},
		"a resource that is not":  {"hopes", "conflict:update:widget:1", false, `the server has no resource "widget"`},
		"an unknown kind":         {"hopes", "storm:update:configmaps:1", false, "KXTEST_EXPLORE=storm:update:configmaps:1: " + form},
		"an unknown verb":         {"hopes", "conflict:get:configmaps:1", false, form},
		"no number":               {"hopes", "conflict:update:configmaps:0", false, form},
		"too little":              {"hopes", "conflict:update", false, form},
		"a seed that is none":     {"hopes", "seed:x", false, form},
		"a server that can't be":  {"bad", "", false, "testdata/bad/definition.yaml"},
		"no writes":               {"no writes", "", false, "the clients are user:kx-admin agent:kxtest.test; Agent picks one"},
		"in parallel":             {"parallel", "", false, "calls t.Parallel: call it in the test around Explore"},
		"a test that fails":       {"fails anyway", "", false, "the test fails already when nothing goes wrong"},
		"a test that restarts":    {"restarts", "", false, "can't number the writes of a test that restarts its server"},
		"a test that skips":       {"skips", "", true, "--- SKIP: TestSceneExplores "},
		"a shared server":         {"shared", "", false, "leave Shared and Space out"},
		"a limit of nothing":      {"no limit", "", false, "Limit(0, 1h0m0s) leaves out all runs"},
		"an agent without a name": {"no agent", "", false, "Agent needs a part"},
		"an option elsewhere":     {"no server", "", false, "Agent, WithoutRestarts is for kxtest.Explore"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log, ok := exploring(t, test.scene, test.variable)
			want := strings.ReplaceAll(test.want, "kxtest.test", filepath.Base(os.Args[0]))
			if ok != test.passes || !strings.Contains(log, want) || test.scene != "parallel" && strings.Contains(log, "t.Parallel") {
				t.Errorf("it lacks %q: %s", want, log)
			}
		})
	}
}

// mapOf is the config map of a widget.
func mapOf(widget string) *corev1.ConfigMap {
	m := configMap("of-" + widget)
	m.Labels = map[string]string{"widget": widget}
	return m
}
