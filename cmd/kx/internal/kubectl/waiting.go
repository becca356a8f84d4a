package kubectl

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
)

const (
	// waitSilent is the time after which a command reports that it waits for an answer. Nearly all answers come
	// sooner.
	waitSilent = 2 * time.Second
	// waitEvery is the interval between updates of this report.
	waitEvery = time.Second
	// readyMost limits the wait for a server's readiness report. A server without its etcd first waits for etcd.
	readyMost = 10 * time.Second
	// givesUpAfter is the number of consecutive reports of a missing etcd after which the command gives up.
	givesUpAfter = 2
)

// waitNotice reports on a terminal that a command waits, and for what. Without a terminal it is silent and never gives
// up, like kubectl: a script may still get its answer later.
type waitNotice struct {
	line sync.Mutex // held by the request that reports its wait
}

// roundTrip sends a request, and reports a late answer meanwhile.
func (w *wiring) roundTrip(req *http.Request, next http.RoundTripper) (*http.Response, error) {
	if !render.IsTerminal(w.streams.ErrOut) {
		return next.RoundTrip(req)
	}
	answered, told := make(chan struct{}), make(chan bool, 1)
	go func() {
		defer close(told) // the command may end before an answer
		told <- w.tellWait(req, next, answered)
	}()
	res, err := next.RoundTrip(req)
	close(answered)
	if withoutEtcd := <-told; withoutEtcd && res != nil && res.StatusCode == http.StatusGatewayTimeout {
		w.say("the server's etcd does not answer it: " + seeToEtcd + ", and look whether this was done before you repeat it")
	}
	return res, err
}

const seeToEtcd = "see to that etcd (kx etcd status --endpoints URL shows its members)"

// tellWait shows the waiting time and the server's readiness until a request is answered. It gives up a read if the
// server keeps reporting that etcd is missing. It never gives up a write, which may still succeed, or a request with
// the user's own timeout. The result is true if the server's last report was that etcd is missing.
func (w *wiring) tellWait(req *http.Request, next http.RoundTripper, answered <-chan struct{}) (withoutEtcd bool) {
	begun := time.Now()
	select {
	case <-answered:
		return false
	case <-time.After(waitSilent):
	}
	if !w.waiting.line.TryLock() {
		return false // another request reports already
	}
	defer w.waiting.line.Unlock()
	defer render.Overwrite(w.streams.ErrOut, "")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	states := readiness(ctx, req, next)
	impatient := req.Method == http.MethodGet && (*w.flags.Timeout == "" || *w.flags.Timeout == "0")
	state, without := "", 0
	for {
		render.Overwrite(w.streams.ErrOut,
			fmt.Sprintf("kx: no answer for %.0fs%s (%s %s)", time.Since(begun).Seconds(), state, req.Method, req.URL.Path))
		select {
		case <-answered:
			return without > 0
		case ready := <-states:
			state = ready.text
			if without++; !ready.withoutEtcd {
				without = 0
			}
		case <-time.After(waitEvery):
		}
		if impatient && without == givesUpAfter {
			render.Overwrite(w.streams.ErrOut, "")
			w.fatal(fmt.Sprintf("kx: gave up after %.0fs: the server runs, but its etcd does not answer it: %s, "+
				"or say with --request-timeout how long to wait", time.Since(begun).Seconds(), seeToEtcd), 1)
		}
	}
}

// ready is a server's report about itself.
type ready struct {
	text        string
	withoutEtcd bool
}

// readiness polls the readiness of the request's server until ctx ends.
func readiness(ctx context.Context, req *http.Request, next http.RoundTripper) <-chan ready {
	states := make(chan ready)
	go func() {
		for {
			select {
			case states <- askReady(ctx, req, next):
			case <-ctx.Done():
				return
			}
			select {
			case <-time.After(waitEvery):
			case <-ctx.Done():
				return
			}
		}
	}()
	return states
}

// readyAnswerMost limits the bytes of such a report.
const readyAnswerMost = 64 << 10

func askReady(ctx context.Context, req *http.Request, next http.RoundTripper) ready {
	ctx, cancel := context.WithTimeout(ctx, readyMost)
	defer cancel()
	ask := req.Clone(ctx)
	prefix, _, _ := strings.Cut(req.URL.Path, "/api")
	ask.Method, ask.Body, ask.ContentLength = http.MethodGet, nil, 0
	// The excluded check would wait for etcd once more.
	ask.URL.Path, ask.URL.RawPath, ask.URL.RawQuery = prefix+"/readyz", "", "verbose&exclude=etcd-readiness"
	res, err := next.RoundTrip(ask)
	if err != nil {
		return ready{text: ": the server answers nothing else either"}
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, readyAnswerMost))
	switch {
	case err != nil || res.StatusCode == http.StatusForbidden || res.StatusCode == http.StatusUnauthorized:
		return ready{}
	case res.StatusCode == http.StatusOK:
		return ready{text: ": the server says that it is ready"}
	case bytes.Contains(text, []byte("[-]etcd failed")):
		return ready{text: ": its etcd does not answer the server", withoutEtcd: true}
	}
	return ready{text: ": the server says that it is not ready"}
}
