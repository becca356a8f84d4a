package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/kx-apiserver/kx/cmd/kx/internal/kubectl"
	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/core/request"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/send/exchange"
	"github.com/kx-apiserver/kx/tui/shell"
)

// sendOptions are the flags of kx send.
type sendOptions struct {
	files  []string
	held   bool
	format render.Format

	factory cmdutil.Factory
	streams kubectl.Streams
	warn    rest.WarningHandler
}

func newSendCommand(f cmdutil.Factory, streams kubectl.Streams, warn rest.WarningHandler) *cobra.Command {
	o := &sendOptions{factory: f, streams: streams, warn: warn}
	cmd := &cobra.Command{
		Use:   "send -f FILE",
		Short: "Send the requests of a file, as they are written there",
		Long: `Send the requests of a file, one after the other, and write the body of each answer as the server sent it. What is in
the file goes over the wire, and nothing else: nothing is read before, nothing is sent again.

A file has a YAML document for each request: a verb and a resource, or a method and a path. docs/send.md says what else;
the screen of kx tui reads and writes the same files.

The exit code is 1 if an answer is an error (400 or more).`,
		Example: `  kx send -f update.yaml
  kx send -f update.yaml --trace              # and see which way each went
  kx send -f update.yaml --held               # held at its first step, for kx tui or journeys/step
  echo '{verb: list, resource: po, namespace: default, query: {limit: 1}}' | kx send -f -`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	fs := cmd.Flags()
	fs.StringArrayVarP(&o.files, "filename", "f", nil, "a file of requests; - for standard input")
	fs.BoolVar(&o.held, "held", false, "have each request held at its first step, on a server with --allow-breakpoints")
	formatVar(cmd, fs, &o.format, "json: a line for each answer, with status, headers, journey, time and body", render.Text, render.JSON)
	_ = cmd.MarkFlagRequired("filename")
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json")
	return cmd
}

func (o *sendOptions) run(ctx context.Context) error {
	requests, err := o.read()
	if err != nil {
		return err
	}
	config, err := o.factory.ToRESTConfig()
	if err != nil {
		return err
	}
	client, err := api.New(config)
	if err != nil {
		return err
	}
	var resources *request.Resources
	failed := 0
	for i := range requests {
		r := &requests[i]
		if r.NeedsDiscovery() && resources == nil {
			if resources, err = exchange.Resources(ctx, client); err != nil {
				return err
			}
		}
		code, err := o.send(ctx, client, r, resources, len(requests) > 1)
		if err != nil {
			return fmt.Errorf("request %d, %s: %w", i+1, r.Title(), err)
		}
		if code >= http.StatusBadRequest {
			failed++
			fmt.Fprintf(o.streams.ErrOut, "kx: request %d, %s: %d %s\n", i+1, r.Title(), code, http.StatusText(code))
		}
	}
	if failed > 0 {
		return cmdutil.ErrExit
	}
	return nil
}

// read reads all files.
func (o *sendOptions) read() ([]request.Request, error) {
	var all []request.Request
	for _, name := range o.files {
		data, err := o.contents(name)
		if err != nil {
			return nil, err
		}
		requests, err := request.Parse(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, requests...)
	}
	return all, nil
}

func (o *sendOptions) contents(name string) ([]byte, error) {
	in := o.streams.In
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("open the requests: %w", err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, request.FileBytesMost+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}

// send sends one request and writes the answer.
func (o *sendOptions) send(ctx context.Context, c *api.Client, r *request.Request, rs *request.Resources,
	several bool) (code int, err error) {
	h, err := r.Build(rs)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	res, done, err := exchange.Do(ctx, c, h, exchange.Options{Held: o.held, OnHeld: o.isHeld, Plain: true})
	if err != nil {
		return 0, err
	}
	defer done()
	defer res.Body.Close()
	warnings, _ := utilnet.ParseWarningHeaders(res.Header["Warning"])
	for _, w := range warnings {
		o.warn.HandleWarningHeader(w.Code, w.Agent, w.Text)
	}
	if o.format == render.JSON {
		return res.StatusCode, o.writeJSON(r, h, res, began)
	}
	last := &lastByte{out: o.streams.Out}
	if _, err = io.Copy(last, res.Body); err != nil {
		return 0, fmt.Errorf("read the answer: %w", err)
	}
	if several && last.any && last.byte != '\n' {
		_, err = fmt.Fprintln(o.streams.Out)
	}
	return res.StatusCode, err
}

// isHeld prints the step at which a request is held, and how to continue it.
func (o *sendOptions) isHeld(journey, step string) {
	command := shell.Line("echo", `{"spec":{"action":"continue"}}`) + " | " +
		shell.Line("kx", "create", "--raw", api.KX+"/journeys/"+journey+"/step", "-f", "-")
	fmt.Fprintf(o.streams.ErrOut, "kx: held at %s, journey %s: go on with kx tui, or with\n  %s\n", step, journey, command)
}

// lastByte passes output on, and remembers its last byte.
type lastByte struct {
	out  io.Writer
	any  bool
	byte byte
}

func (l *lastByte) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.any, l.byte = true, p[len(p)-1]
	}
	return l.out.Write(p)
}

// answerLine is an answer as JSON.
type answerLine struct {
	Method     string      `json:"method"`
	URI        string      `json:"uri"`
	Code       int         `json:"code"`
	Journey    string      `json:"journey,omitempty"`
	TookMicros int64       `json:"tookMicros"`
	Header     http.Header `json:"header"`
	// The body if it is JSON, else Text.
	Body json.RawMessage `json:"body,omitempty"`
	Text string          `json:"text,omitempty"`
}

// answerBytesMost limits an answer for -o json, which holds the whole answer in memory.
const answerBytesMost = 256 << 20

func (o *sendOptions) writeJSON(r *request.Request, h request.HTTP, res *http.Response, began time.Time) error {
	if r.Verb == request.Watch && res.StatusCode == http.StatusOK {
		return errors.New("-o json: a watch has no end to wait for: leave -o out, its events are JSON anyway")
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, answerBytesMost+1))
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if len(data) > answerBytesMost {
		return fmt.Errorf("-o json: the answer has more than %d bytes: leave -o out", answerBytesMost)
	}
	a := answerLine{
		Method: h.Method, URI: h.URI(), Code: res.StatusCode, Journey: res.Header.Get(exchange.JourneyHeader),
		TookMicros: time.Since(began).Microseconds(), Header: res.Header,
	}
	if json.Valid(data) {
		a.Body = data
	} else {
		a.Text = string(data)
	}
	return json.NewEncoder(o.streams.Out).Encode(a)
}
