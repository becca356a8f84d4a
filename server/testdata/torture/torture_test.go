//go:build linux

package torture

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/klog/v2"

	"github.com/kx-apiserver/kx/server/testdata/torture/history"
	"github.com/kx-apiserver/kx/server/testdata/torture/system"
)

var (
	seedFlag   = flag.Uint64("torture.seed", 1, "seed of the first round; each further one has the next")
	forFlag    = flag.Duration("torture.for", 0, "begin new rounds for so long; 0 for the short form")
	roundsFlag = flag.Int("torture.rounds", 0, "how many rounds at most; 0 for as many as there is time for")
	lengthFlag = flag.Duration("torture.length", 0, "how long a round is: 5s in the short form, 60s in the long one")
	raceFlag   = flag.Bool("torture.race", false, "build kx with the race detector")
	dirFlag    = flag.String("torture.dir", "", "directory for data and logs; that of a failed round is kept")
)

// program is the kx that is tortured.
var program string

func TestMain(m *testing.M) {
	system.Main()
	flag.Parse()
	// client-go says of each watch that it ended.
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp(*dirFlag, "kx-torture-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if program, err = system.Build(filepath.Join("..", "..", ".."), dir, *raceFlag); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// TestTorture tortures round after round.
func TestTorture(t *testing.T) {
	rounds, length := 2, 5*time.Second
	if *forFlag > 0 {
		rounds, length = 1<<30, 60*time.Second
	}
	if *roundsFlag > 0 {
		rounds = *roundsFlag
	}
	if *lengthFlag > 0 {
		length = *lengthFlag
	}
	figures := Figures{}
	end := time.Now().Add(*forFlag)
	for n := range rounds {
		if *forFlag > 0 && time.Now().After(end) {
			break
		}
		seed := *seedFlag + uint64(n)
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { tortureOnce(t, seed, length, figures) })
	}
	t.Logf("figures:\n%s", figures)
}

// tortureOnce is one round.
func tortureOnce(t *testing.T, seed uint64, length time.Duration, figures Figures) {
	random := rand.New(rand.NewPCG(seed, 0))
	dir, err := os.MkdirTemp(*dirFlag, fmt.Sprintf("kx-torture-%d-", seed))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("data and logs of the round are in %s; the same again: go test . -run TestTorture -v -timeout 0 -torture.seed=%d -torture.rounds=1 -torture.length=%s",
				dir, seed, length)
		} else {
			_ = os.RemoveAll(dir)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), length+10*time.Minute)
	defer cancel()
	log, err := os.Create(filepath.Join(dir, "nemeses.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	// Four rounds in a row have each kind of world.
	plan := plan{kxs: 1, encrypted: seed%4 > 1}
	if seed%2 == 1 {
		plan.kxs, plan.members = 1+random.IntN(3), 3
	}
	w, err := newWorld(ctx, program, dir, plan, func(format string, args ...any) {
		fmt.Fprintf(log, time.Now().UTC().Format(time.RFC3339Nano)+" "+format+"\n", args...)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.end()
	crowd, err := w.gather(ctx, random)
	if err != nil {
		t.Fatal(err)
	}
	defer crowd.stopWorkers()
	defer crowd.stopWatchers()
	if err := w.torment(ctx, random, length); err != nil {
		t.Fatal(err)
	}
	if err := w.settle(ctx, crowd); err != nil {
		t.Fatal(err)
	}
	final, err := w.finish(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.frugal(); err != nil {
		t.Error(err)
	}
	if err := checkLogs(dir); err != nil {
		t.Error(err)
	}
	if err := w.round.check(w.witness.log, final); err != nil {
		t.Error(err)
	}
	if !t.Failed() {
		mutate(t, &w.round.history, random)
	}
	figures.add(w.figures())
}

// mutate shows that the checkers would have found what they are for in this very history.
func mutate(t *testing.T, h *history.History, random *rand.Rand) {
	for _, m := range history.Mutations {
		if err := h.Finds(m, random); err != nil && !errors.Is(err, history.ErrNothing) {
			t.Error(err)
		}
	}
}
