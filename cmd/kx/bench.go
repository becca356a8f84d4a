package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kx-apiserver/kx/cmd/kx/internal/bench"
	"github.com/kx-apiserver/kx/server/options"
)

// benchOptions are the flags of kx bench.
type benchOptions struct {
	kubeconfig                 string
	objects, size, concurrency []int
	shape, only                []string
	watchers, rate             int
	duration                   time.Duration
	pids                       []int
	output                     string
}

func newBenchCommand() *cobra.Command {
	o := &benchOptions{}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Put load on an API server and measure each operation",
		Long: `Put load on an API server, kx or another, and measure each operation: how many a second, how long they take, and, with
--pid, how much of the server's CPU each takes. That last figure is stable on a noisy machine; the others are not.

It works on custom resources of its own, in a namespace of its own, and deletes them at the end, also when interrupted.
Flags that take a list make one pass for each combination.

The operations, in their order:
  ` + strings.Join(bench.Operations(), ", ") + `
create, delete and deletecollection go by the number of objects, all others by --duration. Of the lists, and of what is as
large, there is one at a time for each 8 requests of --concurrency. For watches the time is that from sending a write to
an event's arrival, and CPU is that of an event delivered, the write's share in it; watch writes as fast as it can,
watch-rate as often as --rate says. The same writes with nobody watching are merge-patch and patch-rate.`,
		Example: `  kx bench                                              # of the server of ~/.kx/kubeconfig
  kx bench --kubeconfig admin.conf --pid $(pidof kx) -o before.json
  kx bench --objects 5000,50000 --shape flat,nested --only get,list,watch
  kx bench compare before.json after.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runBench(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&o.kubeconfig, "kubeconfig", options.New().DataDir+"/kubeconfig",
		"the server's kubeconfig; its user has a certificate or a token, and may create CustomResourceDefinitions")
	fs.IntSliceVar(&o.objects, "objects", []int{5000}, "how many objects there are")
	fs.IntSliceVar(&o.size, "size", []int{1500}, "bytes of an object, as sent")
	fs.StringSliceVar(&o.shape, "shape", []string{bench.Flat}, "flat: a few long fields; nested: 20 small entries of a list")
	fs.IntSliceVar(&o.concurrency, "concurrency", []int{16}, "requests at a time")
	fs.IntVar(&o.watchers, "watchers", 50, "watchers that follow all objects")
	fs.IntVar(&o.rate, "rate", 100, "writes a second for watch-rate and patch-rate")
	fs.DurationVar(&o.duration, "duration", 5*time.Second, "how long each operation is measured")
	fs.StringSliceVar(&o.only, "only", nil, "operations to measure; objects are created in any case")
	fs.IntSliceVar(&o.pids, "pid", nil, "processes of the server, if they run on this machine: their CPU and memory are measured")
	fs.StringVarP(&o.output, "output", "o", "", "file to write the result to, as JSON")
	cmd.AddCommand(newBenchCompareCommand())
	return cmd
}

func newBenchCompareCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "compare FIRST SECOND",
		Short: "Compare two results that kx bench -o has written",
		Args:  cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			first, err := bench.Read(args[0])
			if err != nil {
				return err
			}
			second, err := bench.Read(args[1])
			if err != nil {
				return err
			}
			return bench.Compare(cmd.OutOrStdout(), first, second)
		},
	}
}

func runBench(ctx context.Context, o *benchOptions, out, errOut io.Writer) error {
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return fmt.Errorf("bench: read the kubeconfig: %w (is the server running? kx serve says where its kubeconfig is)", err)
	}
	ctx, stop := interruptible(ctx, slog.Default(), func() {})
	defer stop()
	result, err := bench.Run(ctx,
		bench.Options{Config: config, Passes: o.passes(), Only: o.only, PIDs: o.pids, Out: out, Progress: progressOn(errOut)})
	if err != nil {
		err = fmt.Errorf("bench: %w", err)
	}
	if result != nil && o.output != "" {
		err = errors.Join(err, result.Write(o.output))
	}
	return err
}

// passes returns all combinations of the flags that take a list.
func (o *benchOptions) passes() (passes []bench.Settings) {
	for _, objects := range o.objects {
		for _, size := range o.size {
			for _, shape := range o.shape {
				for _, concurrency := range o.concurrency {
					passes = append(passes, bench.Settings{Objects: objects, Size: size, Shape: shape, Concurrency: concurrency,
						Watchers: o.watchers, Rate: o.rate, Duration: o.duration})
				}
			}
		}
	}
	return passes
}

// progressOn replaces the last line on a terminal. Elsewhere it shows nothing.
func progressOn(w io.Writer) func(string) {
	file, ok := w.(*os.File)
	if !ok {
		return nil
	}
	if info, err := file.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	const clearLine = "\r\x1b[K"
	return func(line string) { fmt.Fprint(file, clearLine+line) }
}
