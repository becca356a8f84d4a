package tui

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/internal/tuitest"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
	"github.com/kx-apiserver/kx/tui/theme"
)

// illustration is a picture in the documents, by what leads to it.
type illustration struct {
	file, title string
	w, h        int
	recorded    string
	put         []string
	keys        []string
	moves       []string // keys after each of which there is one frame more
	// shows is what it is to show, whatever else there is.
	shows []string
}

// TestPictures holds the pictures in the documents to what the screen shows of recorded requests. With -rewrite it draws them.
func TestPictures(t *testing.T) {
	pictures := []string{"2", "3", "4", "5", "6"}
	sources := recordedSources(t, "testdata/walk-sources.json")
	var watched v1alpha1.Cache
	data, err := os.ReadFile("testdata/watched-cache.json")
	if err := errors.Join(err, json.Unmarshal(data, &watched)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []illustration{
		{"get", "A GET that the watch cache answered: its steps, why, and where the code is", 140, 36, "pictures", pictures, nil, nil,
			[]string{"Cacher.Get", "cached bytes", "store/cacher/get.go:"}},
		{"conflict", "A conflict: what was sent, what etcd has, who moved it, and what both changed", 140, 36, "pictures", pictures, []string{"k"}, nil,
			[]string{"409 Conflict", "you sent", "moved by", "both"}},
		{"diff", "What a patch changed, and which step changed each field", 140, 36, "pictures", pictures, []string{"k", "k", "d"}, nil,
			[]string{"[Diff]", "handler.apply-patch", "etcd.txn"}},
		{"story", "A conflict told in sentences", 104, 36, "pictures", pictures, []string{"k", "S", "G"}, nil, nil},
		{"walk", "A GET walks from the client through the layers to etcd, and back", 100, 28, "walk", []string{"11"}, []string{"_"},
			slices.Repeat([]string{"n"}, 7), nil},
		{"code", "The code that decided in a GET", 120, 30, "walk", []string{"11"}, []string{"v"}, nil,
			[]string{"[Source]", "store/cacher/get.go:114", "CacheDelegator.Get", ">=>114"}},
		{"etcd", "The transaction that etcd got of a patch", 120, 30, "pictures", pictures[:3], []string{"Z"}, nil,
			[]string{"[etcd]", "IF         mod(/registry/configmaps/default/", "THEN       put", "revision 58"}},
		{"watchers", "Who got the event of a patch, who did not, and why", 140, 40, "watched", []string{"17"}, []string{"W"}, nil,
			[]string{"[Watchers]", "who got the event", "was not sent it", "app=other"}},
		{"forbidden", "Why a request was forbidden, and what to do", 120, 30, "admission", []string{"5"}, nil, nil,
			[]string{"403 Forbidden", "find out whether they may", "kx auth why create"}},
		{"policy", "Which policy refused a request, and its expression", 120, 30, "admission", []string{"4"}, nil, nil,
			[]string{"422", "the policy short-names", "size(object.metadata.name) < 10"}},
		{"hold", "An update that a breakpoint holds before the transaction", 120, 30, "../pane/testdata/journeys", []string{"15"}, nil, nil,
			[]string{"PAUSED", "held by breakpoint", "it holds no lock", "what if:"}},
	} {
		t.Run(test.file, func(t *testing.T) {
			d := newDriver(t)
			d.recorded = tuitest.Recorded(t, "testdata/"+test.recorded+".json")
			for _, j := range d.recorded {
				for i := range j.Status.Held { // so that all clocks have two digits
					j.Status.Held[i].Since = metav1.NewMicroTime(time.Now().Add(-time.Second))
				}
			}
			d.server.Sources, d.server.Caches = sources, []v1alpha1.Cache{watched}
			d.m.theme = theme.NewTheme(theme.Dark, termenv.TrueColor)
			d.send(tea.WindowSizeMsg{Width: test.w, Height: test.h})
			d.put(test.put...)
			d.press(test.keys...)
			frames := [][]string{frozen(d.m.View())}
			for _, key := range test.moves {
				d.press(key)
				frames = append(frames, frozen(d.m.View()))
			}
			shown := ansi.Strip(strings.Join(frames[len(frames)-1], "\n"))
			for _, want := range test.shows {
				if !strings.Contains(shown, want) {
					t.Errorf("%q is not in\n%s", want, shown)
				}
			}
			file := filepath.Join(docs, "pictures", test.file+".svg")
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			screentest.Golden(t, file, string(tuitest.Picture(test.title, frames, "#e4e4e4", "#1e1e1e")))
		})
	}
}

// running matches the times of a held request: since when, and for how long.
var running = regexp.MustCompile(`(since )\d\d:\d\d:\d\d|(held 1 )\d\d:\d\d`)

// frozen is a frame in which no clock runs.
func frozen(view string) []string {
	return strings.Split(running.ReplaceAllStringFunc(view, func(text string) string {
		if strings.HasPrefix(text, "since") {
			return "since 03:04:05"
		}
		return "held 1 00:07"
	}), "\n")
}

// recordedSources reads the files that a server had when a journey was recorded: the lines that the journey names are in them.
func recordedSources(t *testing.T, file string) []v1alpha1.Source {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list v1alpha1.SourceList
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return list.Items
}
