package server_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/server/internal/fuzztest"
)

const (
	// watchdog ends a request that hangs. It says nothing about speed.
	watchdog = 3 * time.Minute
	// listening is how long the client of a watch reads: watches do not end by themselves.
	listening = 100 * time.Millisecond
	// largestAnswer is more than any answer of this server should have.
	largestAnswer = 16 << 20
	// largestHeap is what may be left of a sequence, checked with -memory.
	largestHeap = 1 << 30
)

// FuzzAPI sends sequences of requests, which server/internal/fuzztest makes of the input, to one server and judges each answer. All
// objects are put back after each sequence, so that the next one finds what this one found.
func FuzzAPI(f *testing.F) {
	w := newWorld(f)
	fuzzing := flag.Lookup("test.fuzz").Value.String() != ""
	if flag.Lookup("rewrite").Value.String() == "true" {
		w.writeSeeds(f)
	}
	seeds, err := filepath.Glob(filepath.Join(seedDir, "*"))
	must(f, err)
	f.Cleanup(func() {
		if !fuzzing && w.sequences == len(seeds) {
			w.checkSeeds(f)
		}
	})
	f.Fuzz(func(t *testing.T, data []byte) { w.play(t, data) })
}

var (
	fuzzFor  = flag.Duration("fuzzfor", 0, "how long TestRandomRequests sends requests made of random inputs")
	fuzzSeed = flag.Uint64("fuzzseed", uint64(time.Now().UnixNano()), "what decides them")
)

// TestRandomRequests plays random inputs for as long as -fuzzfor says: FuzzAPI without the instrumented build, which takes longer than
// all other tests. An input that fails is printed as a file of the corpus.
func TestRandomRequests(t *testing.T) {
	if *fuzzFor == 0 {
		t.Skip("-fuzzfor says how long")
	}
	w := newWorld(t)
	t.Logf("-fuzzseed %d", *fuzzSeed)
	random := rand.New(rand.NewPCG(*fuzzSeed, 0))
	failed := 0
	begun := time.Now()
	for time.Since(begun) < *fuzzFor && failed < maxFailures {
		data := make([]byte, 4+random.IntN(120))
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		if !t.Run(strconv.Itoa(w.sequences), func(t *testing.T) { w.play(t, data) }) {
			failed++
			t.Logf("for a file in %s:\ngo test fuzz v1\n[]byte(%q)", seedDir, data)
		}
	}
	t.Logf("%d sequences of %d requests in %v, %d productions of %d, answers by code: %v",
		w.sequences, w.requests, time.Since(begun).Round(time.Second), len(w.taken), len(fuzztest.Productions()), w.codes)
}

// maxFailures ends TestRandomRequests: one fault may fail each sequence.
const maxFailures = 10

// play sends the sequence of an input.
func (w *world) play(t *testing.T, data []byte) {
	p := &player{world: w, t: t, generator: fuzztest.New(data, w.surface), revisions: map[string]uint64{}}
	defer p.end()
	for {
		req, more := p.generator.Next()
		if !more {
			return
		}
		p.send(req)
	}
}

// player plays one sequence.
type player struct {
	*world
	t         *testing.T
	generator *fuzztest.Generator
	sent      []string
	revisions map[string]uint64 // by UID: the latest that an answer had
}

func (p *player) end() {
	for name := range p.generator.Taken() {
		p.taken[name] = true
	}
	p.sequences++
	if text := p.panics.drain(); text != "" {
		p.t.Errorf("the server panicked: %s", text)
	}
	if *measureMemory {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if m.HeapAlloc > largestHeap {
			p.t.Errorf("the heap has %d MiB", m.HeapAlloc>>20)
		}
	}
	if p.t.Failed() {
		p.t.Logf("the sequence:\n%s", strings.Join(p.sent, "\n"))
	}
	p.reset(p.t)
}

// reply is what came back, decompressed.
type reply struct {
	*http.Response
	body []byte
	cut  bool // the client left before the end
}

// send sends one request, and judges what comes back.
func (p *player) send(req *fuzztest.Request) {
	begun := time.Now()
	a, err := p.exchange(req)
	line := fmt.Sprintf("%s %.300q as %q by %q %.300q", req.Method, req.Target, req.As.Name, req.By.Name, req.Header)
	if len(req.Body) > 0 {
		line += fmt.Sprintf("\n\t%.1500q", req.Body)
	}
	if err != nil {
		p.sent = append(p.sent, line+"\n\t"+err.Error())
		if time.Since(begun) >= watchdog {
			p.t.Errorf("no answer in %v: %s", watchdog, line)
		} else if !req.Long && !isRefusedByProtocol(err) {
			p.t.Errorf("no answer: %v: %s", err, line)
		}
		return
	}
	p.requests++
	p.sent = append(p.sent, fmt.Sprintf("%s\n\t%d %s %.600q", line, a.StatusCode, a.Header.Get("Content-Type"), a.body))
	p.generator.Learn(a.Header, a.body)
	if req.Method != "GET" && a.StatusCode < 300 {
		p.changed(req)
	}
	p.judge(req, a)
}

// protocol errors are of requests that HTTP itself has no room for.
var protocolErrors = []string{"PROTOCOL_ERROR", "invalid method", "invalid header", "malformed HTTP", "http2: invalid request",
	"invalid Trailer", "REFUSED_STREAM"}

func isRefusedByProtocol(err error) bool {
	for _, text := range protocolErrors {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

// exchange sends a request and reads its answer; that of a long one as far as it comes while the client listens.
func (p *player) exchange(req *fuzztest.Request) (*reply, error) {
	limit := watchdog
	if req.Long {
		limit = listening
	}
	ctx, cancel := context.WithTimeout(p.t.Context(), limit)
	defer cancel()
	var body io.Reader
	if req.Body != nil {
		body = bytes.NewReader(req.Body)
	}
	r, err := http.NewRequestWithContext(ctx, "GET", p.URL, body)
	must(p.t, err)
	r.Method, r.Header = req.Method, req.Header.Clone()
	r.URL = targetURL(r.URL.Host, req.Target)
	res, err := p.clients[clientKind{req.Admin, req.HTTP1}].Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusSwitchingProtocols {
		return &reply{Response: res}, nil
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, largestAnswer+1))
	if err != nil && !(req.Long && errors.Is(err, context.DeadlineExceeded)) {
		return nil, fmt.Errorf("%s, and then %w", res.Status, err)
	}
	return &reply{res, inflate(data), err != nil}, nil
}

// targetURL is sent as the target is, whatever is wrong with it.
func targetURL(host, target string) *url.URL {
	u := &url.URL{Scheme: "https", Host: host, Opaque: target}
	if path, query, _ := strings.Cut(target, "?"); strings.HasPrefix(path, "//") { // opaque, this would be another host
		if plain, err := url.PathUnescape(path); err == nil {
			u = &url.URL{Scheme: "https", Host: host, Path: plain, RawPath: path, RawQuery: query}
		}
	}
	return u
}

// inflate decompresses what a client asked for compressed, as far as it came.
func inflate(data []byte) []byte {
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return data
	}
	plain, _ := io.ReadAll(io.LimitReader(r, 4*largestAnswer)) // a watch that was left ends in the middle
	return plain
}

// seedDir has the inputs that are always played.
var seedDir = filepath.Join("testdata", "fuzz", "FuzzAPI")

// writeSeeds writes the inputs that together take every production of the grammar. It leaves those alone that have names of their own.
func (w *world) writeSeeds(t testing.TB) {
	old, err := filepath.Glob(filepath.Join(seedDir, "grammar-*"))
	must(t, err)
	for _, file := range old {
		must(t, os.Remove(file))
	}
	must(t, os.MkdirAll(seedDir, 0o755))
	for i, seed := range fuzztest.Seeds(w.surface) {
		text := fmt.Sprintf("go test fuzz v1\n[]byte(%q)\n", seed)
		must(t, os.WriteFile(filepath.Join(seedDir, fmt.Sprintf("grammar-%02d", i)), []byte(text), 0o644))
	}
}

// checkSeeds names the productions of the grammar that no seed takes.
func (w *world) checkSeeds(t testing.TB) {
	for _, name := range fuzztest.Productions() {
		if !w.taken[name] {
			t.Errorf("no seed takes %q: go test ./server -run FuzzAPI -rewrite", name)
		}
	}
}
